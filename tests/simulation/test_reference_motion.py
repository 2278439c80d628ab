"""Free motion of the documents' mechanisms against trajectories made with other programs."""

import numpy as np
import pytest

import kinetree as kt
from support.reference import mechanism, read, relative_error


def records():
    floating = [f"floating_{name}" for name in ("planar_biped", "spatial_biped", "quadruped", "hexapod")]
    for name in ("gripper", "kuka_kr5", "biped_fixed", "puma_slender", *floating):
        file = read(f"{name}.json")
        for part in file.get("variants", [file]):
            for key in ("free_fall", "free_flight"):
                found = part.get(key, [])
                for k, record in enumerate(found if isinstance(found, list) else [found]):
                    yield pytest.param(part["model"], record, id=f"{name} {part.get('name', '')} {key} {k}")


def run(model, record, **options):
    times = np.array(record["t"])
    return kt.simulate(
        mechanism(model),
        record["q0"],
        record["qd0"],
        duration=float(times[-1]),
        times=times,
        torque=record["tau_const"],
        **options,
    )


@pytest.mark.parametrize(("model", "record"), list(records()))
def test_motion_of_the_reference(model, record):
    """The gripper started from zeros is chaotic: its stated accuracy says so."""
    result = run(model, record, rtol=1e-12)
    accuracy = max(1e-9, 10 * record["accuracy"]["diff_tol_1e_11"])
    assert accuracy < 1e-4
    assert relative_error(result.q.values, record["q"]) < accuracy
    assert relative_error(result.qd.values, record["qd"]) < 10 * accuracy
    assert relative_error(result.kinetic_energy.values, record["kinetic"]) < 100 * accuracy
    assert relative_error(result.potential_energy.values, record["potential"]) < 100 * accuracy


@pytest.mark.parametrize(("model", "record"), list(records()))
def test_energy_drift_of_free_motion(model, record):
    """Less than 1e-8 of the energy exchanged at a relative tolerance of 1e-10."""
    assert run(model, record, rtol=1e-10).audit["energy_balance"].value < 1e-8


@pytest.mark.parametrize("method", ["dop853", "dopri5", "radau"])
def test_methods_agree(method):
    file = read("gripper.json")
    record = file["free_fall"][0] if isinstance(file["free_fall"], list) else file["free_fall"]
    found = run(file["model"], record, rtol=1e-9, method=method)
    exact = run(file["model"], record, rtol=1e-13)
    assert relative_error(found.q.values, exact.q.values) < 1e-5


@pytest.mark.parametrize(("method", "order"), [("rk4", 4), ("semi_implicit_euler", 1)])
def test_order_of_fixed_steps(method, order):
    arm, start = kt.zoo.gripper(), [-1.0, 0.2, 0.1, 0.3]
    exact = kt.simulate(arm, start, duration=0.2, times=2, rtol=1e-13).q.values[-1]
    errors = []
    for step in (2e-3, 1e-3):
        options = {"times": 2, "method": method, "step": step, "energy_tolerance": 1.0}
        errors.append(np.abs(kt.simulate(arm, start, duration=0.2, **options).q.values[-1] - exact).max())
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.2)

"""The stability study: what it simulates, what it measures, and that the measurements are true."""

import json
from io import StringIO

import numpy as np
import pytest
from rich.console import Console
from scipy.integrate import solve_ivp, trapezoid

import kinetree as kt
from kinetree.documents import forced_simulation
from kinetree.documents.forced_simulation import ALGORITHMS, COMPILED, LOST, ForcedMotion, forced_run
from kinetree.documents.rounding import SingleNumber, cholesky_solved, rounding_errors, singles
from kinetree.documents.stability import DOCUMENT, TOLERANCES, error_growth, run_stability
from kinetree.errors import InputError, SingularityError
from kinetree.report.output import picture_bytes
from support.pages import docs_script

make_stability = docs_script("make_stability")
PUMA = kt.zoo.puma()
T = 10.0
HALF = T / 2


@pytest.fixture(scope="module")
def told():
    return []


@pytest.fixture(scope="module")
def result(told):
    """The whole study but for the interpreted algorithm, which is compared with the others below."""
    return run_stability(progress=told.append, algorithms=COMPILED, tolerances=TOLERANCES[:3], states=2)


# ---- motion and torques --------------------------------------------------------------------------------
def test_the_motion_is_equation_38():
    """[Mohan2007], eq. 38, typed in as printed."""
    t = np.linspace(0.0, T, 7)
    q = np.pi / T * t - 0.5 * np.sin(2 * np.pi / T * t)
    motion = ForcedMotion(PUMA, T)
    assert np.allclose(motion.at(t).q, q[:, None], atol=1e-14)
    assert np.allclose([motion.angle(x) for x in t], q, atol=1e-14)


def test_exact_torques_are_those_of_inverse_dynamics_along_the_motion():
    motion, t = ForcedMotion(PUMA, T), np.linspace(0.0, T, 11)
    exact = motion.exact_torque()
    assert np.allclose([exact(x) for x in t], motion.torque(t), atol=1e-12)


def test_stored_torques_hit_the_table_and_miss_between_by_the_square_of_its_step():
    motion = ForcedMotion(PUMA, T)
    exact, misses = motion.exact_torque(), []
    for points in (200, 400):
        stored, step = motion.stored_torque(points), T / points
        assert np.allclose(stored(7 * step), exact(7 * step), atol=1e-11)
        assert np.allclose(stored(T), exact(T), atol=1e-11)
        middles = (np.arange(points) + 0.5) * step
        misses.append(max(np.abs(stored(t) - exact(t)).max() for t in middles))
    assert misses[0] / misses[1] == pytest.approx(4.0, rel=0.02)


# ---- algorithms ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_algorithm_solves_the_equations_of_motion(name, rng):
    q, qd, qdd = rng.uniform(-1, 1, (3, 6))
    tau = kt.inverse_dynamics(PUMA, q, qd, qdd)
    assert np.allclose(ALGORITHMS[name](PUMA)(q, qd, tau), qdd, atol=1e-10)


def test_the_interpreted_recursion_simulates_the_same_motion():
    short = ForcedMotion(PUMA, 1.0)
    runs = {name: forced_run(short, name, 1e-5, spacing=0.05) for name in ALGORITHMS}
    denoc, others = runs["denoc"], [runs[name] for name in COMPILED]
    assert denoc.time[-1] == 1.0
    assert 1e-6 < denoc.largest_error[-1] < LOST
    for other in others:
        assert np.abs(denoc.q - other.q).max() < 1e-8
        assert denoc.n_evaluations == other.n_evaluations


def test_both_algorithms_are_equally_far_off_while_the_integrator_makes_the_errors(result):
    """Their errors agree to a thousandth up to half-time: they are the integrator's, not theirs."""
    a, b = result.runs
    half = a.time <= HALF
    assert np.abs(a.error - b.error[: len(a.time)])[half].max() < 1e-3 * a.largest_error[half].max()
    assert 1e-9 < a.largest_error[half].max() < 1e-7
    assert (a.n_steps, a.n_evaluations) == (b.n_steps, b.n_evaluations)
    assert np.allclose(a.ripple(HALF), b.ripple(HALF), rtol=1e-2)


def test_joints_3_5_and_6_leave_first_as_in_the_document(result):
    """[Mohan2007], section 4.2: joints 1, 2 and 4 follow visibly well, 3, 5 and 6 for half the time."""
    for run in (*result.runs, *result.references):
        horizon = run.horizon(result.limit)
        assert horizon[[2, 4, 5]].max() < horizon[[0, 1, 3]].min()
        assert HALF < horizon.min() < horizon.max() < 0.65 * T
    assert min(DOCUMENT["recursive"]) < result.runs[0].horizon(result.limit).min()


def test_tighter_tolerances_and_finer_tables_follow_longer(result):
    assert result.tolerance_horizon.shape == (len(COMPILED), 3)
    assert (np.diff(result.tolerance_horizon, axis=1) > 0).all()
    assert np.abs(np.diff(result.tolerance_horizon, axis=0)).max() < 0.1
    assert (np.diff(result.table_horizon) > 0).all() and (np.diff(result.table_steps) < 0).all()
    assert result.table_horizon[-1] < result.runs[0].horizon(result.limit).min()


def test_without_gravity_the_motion_is_followed_to_its_end(result):
    run = result.weightless
    assert run.time[-1] == T
    assert run.largest_error[-1] < 0.1 * result.limit
    weightless = error_growth(ForcedMotion(kt.zoo.puma((0, 0, 0)), T), 0.02)
    assert weightless.amplification.max() < 1e4 < 1e40 < result.growth.amplification.max()


# ---- growth --------------------------------------------------------------------------------------------
def test_growth_starts_when_link_3_rises_above_its_joint(result):
    growth = result.growth
    assert growth.onset == pytest.approx(HALF, abs=0.05)
    for t, sign in ((0.45 * T, -1), (0.55 * T, 1)):
        pose = kt.forward_kinematics(PUMA, ForcedMotion(PUMA, T).at([t]).q[0])
        center = pose.rotation[2] @ PUMA.links[2].body.inertia.center
        assert np.sign(center[2]) == sign


def test_growth_rate_is_that_of_an_inverted_pendulum():
    """A rod of length a stands up with sqrt(3 g / (2 a)) per second; eq. 38 holds it upright for a moment."""
    row = {"a": 0.3, "mass": 2.0, "center": (-0.15, 0, 0), "inertia": (0, 0.015, 0.015)}
    rod = kt.from_dh([row], "classic", gravity=(0, -9.81, 0))
    growth = error_growth(ForcedMotion(rod, T))
    assert growth.rate.max() == pytest.approx(np.sqrt(1.5 * 9.81 / 0.3), rel=1e-4)
    assert growth.time[growth.rate.argmax()] == pytest.approx(HALF, abs=0.01)


def test_amplification_is_what_perturbed_simulations_show():
    """Six simulations with one angle off by 1e-7 each, against the linearized equations."""
    motion, end, delta = ForcedMotion(PUMA, T), 5.25, 1e-7
    torque = motion.exact_torque()

    def rates(t, x):
        return np.concatenate([x[6:], kt.forward_dynamics(PUMA, x[:6], x[6:], torque(t))])

    starts = np.vstack([np.zeros(12), delta * np.eye(12)[:6]])
    ends = [solve_ivp(rates, (0, end), x, "DOP853", rtol=1e-10, atol=1e-12).y[:6, -1] for x in starts]
    measured = np.linalg.norm((np.array(ends[1:]) - ends[0]).T / delta, 2)
    growth = error_growth(motion)
    assert growth.amplification[np.searchsorted(growth.time, end)] == pytest.approx(measured, rel=1e-3)
    assert measured > 10


def test_errors_grow_as_the_linearized_equations_say(result):
    """From 5.5 s to 5.75 s by a factor of hundreds, whichever algorithm made them."""
    rows = [np.searchsorted(result.time, t - 1e-9) for t in (5.5, 5.75)]
    predicted = np.divide(*result.growth.amplification[rows[::-1]])
    assert predicted > 300
    for run in (*result.runs, *result.references):
        assert np.divide(*run.largest_error[rows[::-1]]) == pytest.approx(predicted, rel=0.1)


def test_no_double_can_follow_to_the_end(result):
    growth = result.growth
    assert 40 < growth.digits(result.limit) < 50
    assert growth.horizon(1e-8) < growth.horizon(1e-16) < 0.65 * T
    assert growth.horizon(1e-60) == T


# ---- balances ------------------------------------------------------------------------------------------
def test_work_is_energy_even_where_the_motion_is_lost(result):
    """The simulated motion obeys the equations of motion after it has left the prescribed one."""
    for run in (*result.runs, *result.references):
        assert LOST - 0.3 < run.largest_error[-1] <= LOST
        followed = run.time <= run.horizon(result.limit).min()
        assert np.abs(run.energy_defect[followed]).max() < 1e-7
        assert np.abs(run.energy_defect).max() < 1e-4
    work = trapezoid(result.power, result.time)
    potential = kt.potential_energy(PUMA, result.prescribed.q[[0, -1]])
    assert work == pytest.approx(potential[1] - potential[0], abs=1e-3)
    assert np.abs(result.power).max() > 10


def test_power_is_that_of_the_prescribed_motion_while_it_is_followed(result):
    for run in result.runs:
        k = np.searchsorted(run.time, HALF)
        assert np.abs(run.power - result.power[: len(run.time)])[:k].max() < 1e-5
        assert np.abs(run.power - result.power[: len(run.time)]).max() > 1.0


# ---- rounding ------------------------------------------------------------------------------------------
def test_single_numbers_round_as_float32(rng):
    x, y = rng.standard_normal((2, 50)).astype(np.float32)
    a, b = singles(x), singles(y)
    for mine, theirs in (
        (a + b, x + y), (a - b, x - y), (a * b, x * y), (a / b, x / y), (-a, -x), (np.sqrt(a * a), np.abs(x)),
        (2.0 - a, np.float32(2) - x), (2.0 / a, np.float32(2) / x), (a * 3.0, x * np.float32(3)),
    ):  # fmt: skip
        assert np.array_equal(mine.astype(np.float64).astype(np.float32), theirs)
    assert float(SingleNumber(1.0) + 2.0**-25) == 1.0
    assert [float(SingleNumber(x).sign()) for x in (-2.0, 0.0, 3.0)] == [-1.0, 0.0, 1.0]


def test_cholesky_over_any_number_solves(rng):
    A, b = rng.standard_normal((6, 6)), rng.standard_normal(6)
    M = A @ A.T + np.eye(6)
    expected = np.linalg.solve(M, b)
    assert np.allclose(cholesky_solved(M, b), expected, rtol=1e-12)
    single = cholesky_solved(np.array([singles(row) for row in M]), singles(b))
    assert 0 < np.abs(single.astype(np.float64) - expected).max() < 1e-3


def test_the_recursion_rounds_less_than_the_inertia_matrix_in_a_fall():
    """[Mohan2007]'s claim, true of free motion; with the torques of eq. 38, gravity's cancellation hides
    it."""
    rounding = rounding_errors(ForcedMotion(PUMA, T), 15)
    recursive, explicit = "recursive, link frames", "Cholesky, link frames"
    assert rounding.median(recursive, "falling") < 0.2 * rounding.median(explicit, "falling")
    ratio = rounding.median(recursive, "driven") / rounding.median(explicit, "driven")
    assert 0.3 < ratio < 3.0
    assert (rounding.falling > 0).all() and np.isfinite(rounding.driven).all()


# ---- the study as a whole ------------------------------------------------------------------------------
def test_results_are_finite_and_of_one_shape(result):
    for run in (*result.runs, *result.references, result.weightless):
        k = len(run.time)
        for name in ("q", "qd", "qdd", "error", "acceleration_error"):
            assert getattr(run, name).shape == (k, 6) and np.isfinite(getattr(run, name)).all()
        assert run.power.shape == run.energy_defect.shape == run.largest_error.shape == (k,)
        assert np.array_equal(run.time, result.time[:k])
        assert run.seconds > 0 and run.n_evaluations >= 6 * run.n_steps
    assert np.isfinite(result.growth.amplification).all() and result.growth.amplification[0] == 1.0
    assert np.array_equal(result.time, result.growth.time)


def test_the_summary_says_what_the_runs_say(result):
    summary = json.loads(json.dumps(result.summary()))
    assert [run["algorithm"] for run in summary["runs"]] == list(COMPILED)
    for entry, run in zip(summary["runs"], result.runs, strict=True):
        assert entry["horizon"] == run.horizon(result.limit).tolist()
        assert entry["evaluations"] == run.n_evaluations
        assert entry["error_in_first_half"] == np.abs(run.error[run.time <= HALF]).max()
    for name in COMPILED:
        by_tolerance = summary["horizon_by_tolerance"][name]
        run = next(run for run in summary["runs"] if run["algorithm"] == name)
        assert by_tolerance["1e-08"] == min(run["horizon"])
    assert summary["weightless"]["horizon"] == [T] * 6


def test_progress_goes_from_nothing_to_all(result, told):
    assert told[0] == 0.0 and told[-1] == 1.0
    assert (np.diff(told) >= 0).all()


def test_the_figure_shows_every_part(result):
    figure = make_stability.stability_figure(result)
    titles = " / ".join(ax.get_title(loc="left") for ax in figure.axes)
    for word in ("error", "grow", "Acceleration of joint3", "follows", "Power", "Rounding"):
        assert word in titles
    rows = [label.get_text() for label in figure.axes[3].get_yticklabels()]
    assert rows[:2] == ["printed: recursive", "printed: nonrecursive"]
    assert picture_bytes(figure).startswith(b"\x89PNG")


def test_the_report_names_algorithms_and_growth(result):
    output = StringIO()
    Console(width=200, file=output).print(make_stability.stability_report(result))
    text = output.getvalue()
    assert "articulated bodies" in text and "Cholesky" in text and "RK45, 1e-8" in text
    assert "46 decimal digits" in text


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"duration": 0.0}, "duration must be > 0, got 0"),
        ({"rtol": 1e-15}, "rtol must be from 1e-13 to 0.01, got 1e-15"),
        ({"algorithms": ("cholesky", "choleski")}, "Did you mean 'cholesky'"),
        ({"algorithms": ()}, "needs an algorithm"),
        ({"states": 0}, "0 states"),
        ({"limit": 2.0}, "limit below 1 rad"),
        ({"mechanism": kt.zoo.four_bar()}, "closed loops (crank_pin)"),
    ],
)
def test_refusals(arguments, reason):
    with pytest.raises(InputError) as refused:
        run_stability(**arguments)
    assert reason in str(refused.value)


def test_motions_through_singular_poses_are_refused_at_once():
    """A free base that turns to pi passes gimbal lock."""
    with pytest.raises(SingularityError, match="singular"):
        run_stability(mechanism=kt.zoo.planar_biped())


def test_a_run_that_leads_nowhere_is_given_up(monkeypatch):
    monkeypatch.setattr(forced_simulation, "MOST_EVALUATIONS", 50)
    with pytest.raises(SingularityError, match=r"gave up at t = .* 50 evaluations"):
        forced_run(ForcedMotion(PUMA, T), "cholesky")

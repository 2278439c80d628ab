"""The questions of kinetree itself on mechanisms with closed loops."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.dynamics.loops.assembly import completed
from support.reference import closed, loads, read, relative_error

FILES = ("slider_crank", "prismatic_cut", "spatial_fourbar", "jansen_leg", "other_cuts", "stewart", "delta")
CASES = {f"{file}-{v['name']}": v for file in FILES for v in read(f"{file}.json")["variants"]}
every_mechanism = pytest.mark.parametrize("variant", CASES.values(), ids=CASES)


def at_first(variant):
    mechanism, state = closed(variant), variant["states"][0]
    return mechanism, *(np.array(x) for x in (state["q"], state["qd"], state["inverse"]["qdd"]))


def four_bar_motion(samples=5):
    mechanism = kt.zoo.four_bar()
    crank = np.linspace(0.2, 1.2, samples)[:, None]
    rates = np.full_like(crank, 3.0)
    return mechanism, kt.loops.dependent_motion(
        mechanism, ["crank_pivot"], crank, rates, -rates, q0=[0.2, 1.0, 4.3]
    )


# ---- forces ----------------------------------------------------------------------------------------------
@every_mechanism
def test_reactions_balance_every_body(variant, rng):
    """Newton and Euler for each body alone: parent, children, cut joints, load, weight and inertia."""
    mechanism, q, qd, qdd = at_first(variant)
    body = mechanism.body_names[-1]
    load = kt.Wrench(body, rng.standard_normal(3), rng.standard_normal(3), point=(0.1, -0.2, 0.05))
    found = kt.loops.reactions(mechanism, q, qd, qdd, load, frame="world")
    poses = kt.forward_kinematics(mechanism, q)
    R, p = poses.rotation, poses.position
    w = kt.body_velocities(mechanism, q, qd)[:, 3:]
    acceleration = kt.analysis.body_accelerations(mechanism, q, qd, qdd)
    a, wd = acceleration[:, :3], acceleration[:, 3:]
    size = np.nanmax(np.abs(found.wrench)) + 1.0
    for k, link in enumerate(mechanism.links):
        total = np.array(found.wrench[k])  # about the body's origin
        for j, other in enumerate(mechanism.links):
            if other.parent == link.body.name:
                F, N = found.wrench[j, :3], found.wrench[j, 3:]
                total -= np.concatenate([F, N + np.cross(p[j] - p[k], F)])
        for loop, wrench in zip(mechanism.loops, found.forces.wrench, strict=True):
            a_place = loop.placement_a.position
            if loop.body_a != "world":
                i = mechanism.body_index(loop.body_a)
                a_place = R[i] @ a_place + p[i]
            for name, sign in ((loop.body_a, 1.0), (loop.body_b, -1.0)):
                if name == link.body.name:
                    F, N = sign * wrench[:3], sign * wrench[3:]
                    total += np.concatenate([F, N + np.cross(a_place - p[k], F)])
        if link.body.name == body:
            F, N = np.array(load.force), np.array(load.moment)
            total += np.concatenate([F, N + np.cross(R[k] @ np.array(load.point), F)])
        inertia = link.body.inertia
        h, moments = R[k] @ inertia.first_moment, R[k] @ inertia.moment_about_origin @ R[k].T
        fall = a[k] - mechanism.gravity
        force = inertia.mass * fall + np.cross(wd[k], h) + np.cross(w[k], np.cross(w[k], h))
        moment = np.cross(h, fall) + moments @ wd[k] + np.cross(w[k], moments @ w[k])
        left = total - np.concatenate([force, moment])
        assert np.nanmax(np.abs(left), initial=0.0) < 1e-11 * size
    again = kt.joint_reactions(mechanism, q, qd, qdd, load, frame="world")
    assert np.array_equal(again, found.wrench, equal_nan=True)


def cut_elsewhere(place):
    """A planar four-bar, cut at one of two of its pins; rods of 0.1, 0.25 and 0.2 m over a base of 0.3 m."""
    build = kt.Builder("bar", gravity=(0, -9.81, 0))
    rods = [kt.Inertia.rod(m, end=(length, 0, 0)) for m, length in ((1.0, 0.1), (2.0, 0.25), (1.5, 0.2))]
    crank = build.world.revolute("crank_pivot").body("crank", rods[0])
    rocker = build.world.revolute("rocker_pivot", at=(0.3, 0, 0), driven=False).body("rocker", rods[2])
    if place == "tip":  # coupler on the crank, its far end closes the loop on the rocker
        coupler = crank.revolute("pin", at=(0.1, 0, 0), driven=False).body("coupler", rods[1])
        build.loop("cut", coupler, rocker, at_a=(0.25, 0, 0), at_b=(0.2, 0, 0))
    else:  # coupler on the rocker with its far end, its origin closes the loop on the crank
        end = rocker.revolute("pin", at=(0.2, 0, 0), driven=False).body(
            "coupler", kt.Inertia.rod(2.0, end=(-0.25, 0, 0))
        )
        build.loop("cut", crank, end, at_a=(0.1, 0, 0), at_b=(-0.25, 0, 0))
    return build.build()


def test_reactions_do_not_depend_on_where_the_loop_is_cut():
    answers = []
    for place, guess in (("tip", [0.7, 1.7, 0.3]), ("origin", [0.7, 1.7, -0.7])):
        mechanism = cut_elsewhere(place)
        motion = kt.loops.dependent_motion(mechanism, ["crank_pivot"], [[0.7]], [[4.0]], [[-9.0]], q0=guess)
        found = kt.loops.reactions(mechanism, motion.q[0], motion.qd[0], motion.qdd[0], frame="world")
        tau = kt.inverse_dynamics(mechanism, motion.q[0], motion.qd[0], motion.qdd[0])
        known = found.determined[0]
        assert known.tolist() == [True, True, False, False, False, True]
        crank, rocker = found.wrench[0], found.wrench[1]
        pin = found.wrench[2]  # on the coupler
        tip = -found.forces.wrench[0] if place == "origin" else pin  # on the coupler at the crank's tip
        answers.append(np.concatenate([crank[known], rocker[known], tip[:2], tau[:1]]))
        assert np.array_equal(
            kt.loops.forces(mechanism, motion.q, motion.qd, motion.qdd).determined[0, 0], known
        )
    assert relative_error(answers[1], answers[0]) < 1e-11


@every_mechanism
def test_derivatives_of_reactions_are_differences(variant):
    mechanism, q, qd, qdd = at_first(variant)
    chosen = np.array(variant["independent"])
    names = [mechanism.joint_names[k] for k in chosen]
    free = np.ones(mechanism.n_dof, dtype=bool)
    free[chosen] = False
    load = loads(mechanism, variant["states"][0]["external"]) or None
    found = kt.loops.reaction_derivatives(mechanism, q, qd, qdd, names, load)
    assert found.independent == tuple(names)

    def values(dq, dqd, dqdd):
        moved = q.copy()
        moved[chosen] += dq
        moved = kt.loops.assemble(mechanism, moved, hold=names)
        at = completed(mechanism, moved, free, qd[chosen] + dqd, qdd[chosen] + dqdd, chosen)
        reactions = kt.loops.reactions(mechanism, at.q, at.qd, at.qdd, load)
        return np.concatenate([reactions.wrench.ravel(), reactions.forces.wrench.ravel()])

    h, zero = 1e-5, np.zeros(len(chosen))
    both = [
        np.concatenate(
            [found.slopes[k].reshape(-1, len(chosen)), found.cut_slopes[k].reshape(-1, len(chosen))]
        )
        for k in range(3)
    ]
    size = 1.0 + max(np.nanmax(np.abs(x)) for x in both)
    for k in range(min(2, len(chosen))):
        step = h * np.eye(len(chosen))[k]
        for by, slopes in enumerate(both):
            d = [zero, zero, zero]
            d[by] = step
            differences = (values(*d) - values(*(-x for x in d))) / (2.0 * h)
            assert np.array_equal(np.isnan(differences), np.isnan(slopes[:, k]))
            assert np.nanmax(np.abs(differences - slopes[:, k])) < 1e-6 * size
    known = kt.loops.reactions(mechanism, q, qd, qdd, load)
    for found_one, known_one in (
        (found.reaction, known.wrench),
        (found.cut_wrench, known.forces.wrench),
    ):  # in skew axes of a body no component of a planar loop may be determined
        assert np.array_equal(np.isnan(found_one), np.isnan(known_one))
        assert np.abs(np.nan_to_num(found_one - known_one)).max() < 1e-12 * size


def test_gravity_is_held_by_the_drives():
    """G^T g = dV / dq of the independent joint, by differences of the potential energy."""
    mechanism, motion = four_bar_motion()
    held = kt.gravity_torque(mechanism, motion.q)
    assert not held[:, 1:].any()
    h = 1e-5
    for k, q in enumerate(motion.q):
        energy = []
        for side in (-h, h):
            moved = kt.loops.assemble(mechanism, q + np.array([side, 0.0, 0.0]), hold=["crank_pivot"])
            energy.append(kt.potential_energy(mechanism, moved))
        assert abs((energy[1] - energy[0]) / (2 * h) - held[k, 0]) < 1e-8


@every_mechanism
def test_reduced_equations_are_those_of_forward_dynamics(variant):
    """G^T M G qdd_i + h_i = G^T tau, and the kinetic energy is that of the independent joints."""
    mechanism, q, qd, _ = at_first(variant)
    chosen = np.array(variant["independent"])
    names = [mechanism.joint_names[k] for k in chosen]
    tau = np.array(variant["states"][0]["forward"]["tau"])
    qdd = kt.forward_dynamics(mechanism, q, qd, tau)
    M, h = (
        kt.loops.mass_matrix(mechanism, q, names),
        kt.loops.bias_torque(mechanism, q, qd, independent=names),
    )
    G = np.array(variant["states"][0]["dq_dindependent"])
    assert relative_error(M @ qdd[chosen] + h, G.T @ tau) < 1e-10
    energy = 0.5 * qd[chosen] @ M @ qd[chosen]
    assert abs(kt.kinetic_energy(mechanism, q, qd) - energy) < 1e-12 * (1.0 + energy)
    body = mechanism.body_names[-1]
    J = kt.loops.jacobian(mechanism, q, body, (0.1, 0.2, 0.3), independent=names)
    assert relative_error(J @ qd[chosen], kt.jacobian(mechanism, q, body, (0.1, 0.2, 0.3)) @ qd) < 1e-11
    M, h = kt.mass_matrix(mechanism, q), kt.bias_torque(mechanism, q, qd)
    assert relative_error(M @ qdd + h, tau + kt.loops.forces(mechanism, q, qd, tau=tau).torque) < 1e-11


@every_mechanism
def test_regressor_of_the_drives(variant):
    mechanism, q, qd, qdd = at_first(variant)
    Y = kt.analysis.inertia_regressor(mechanism, q, qd, qdd)
    tau = np.tensordot(Y, kt.analysis.inertial_parameters(mechanism), axes=2)
    assert relative_error(tau, kt.inverse_dynamics(mechanism, q, qd, qdd)) < 1e-11


def test_momentum_and_center_of_mass_of_a_motion():
    """F = dP / dt, with the reactions at the ground and weight as the only forces from outside."""
    mechanism, motion = four_bar_motion(201)
    dt = (1.2 - 0.2) / 200 / 3.0
    # qd of the crank is held at 3 rad/s, so that samples are equally spaced in time if qdd = 0
    still = kt.loops.dependent_motion(
        mechanism, ["crank_pivot"], motion.q[:, :1], motion.qd[:, :1], q0=[0.2, 1.0, 4.3]
    )
    P = kt.momentum(mechanism, still.q, still.qd)[:, :3]
    wrench = kt.joint_reactions(mechanism, still.q, still.qd, still.qdd, frame="world")
    F = wrench[:, 0, :2] + wrench[:, 1, :2] + mechanism.mass * mechanism.gravity[:2]
    assert mechanism.links[0].parent == mechanism.links[1].parent == "world"
    rate = (P[2:, :2] - P[:-2, :2]) / (2 * dt)
    assert relative_error(rate, F[1:-1]) < 1e-3
    c = kt.center_of_mass(mechanism, still.q)
    assert relative_error((c[2:] - c[:-2]) / (2 * dt) * mechanism.mass, P[1:-1]) < 1e-3


def test_zero_moment_point_of_a_linkage_is_under_its_center_of_mass_at_rest():
    mechanism, motion = four_bar_motion(1)
    still = np.zeros(3)
    point = kt.analysis.zero_moment_point(mechanism, motion.q[0], still, still)
    assert abs(point[0] - kt.center_of_mass(mechanism, motion.q[0])[0]) < 1e-12


# ---- how they are asked ----------------------------------------------------------------------------------
def test_memory_threads_and_unchecked():
    mechanism, motion = four_bar_motion(9)
    state = motion.q, motion.qd, motion.qdd
    tau = kt.inverse_dynamics(mechanism, *state)
    out = np.empty_like(tau)
    assert kt.inverse_dynamics(mechanism, *state, out=out, threads=1) is out
    assert np.array_equal(out, tau)
    qdd = kt.forward_dynamics(mechanism, motion.q, motion.qd, tau, out=out)
    assert relative_error(qdd, motion.qdd) < 1e-11
    assert qdd is out
    d = kt.inverse_dynamics_derivatives(mechanism, *state)
    still = np.zeros_like(tau)
    spoilt = kt.inverse_dynamics_derivatives(mechanism, motion.q, still, still)
    again = kt.inverse_dynamics_derivatives(mechanism, *state, out=spoilt)
    assert again is spoilt
    assert np.array_equal(again.dtau_dq, d.dtau_dq) and np.array_equal(again.torque, d.torque)
    f = kt.forward_dynamics_derivatives(mechanism, motion.q, motion.qd, tau)
    assert f.dqdd_dq.shape == (9, 3, 1) and f.independent == ("crank_pivot",)
    assert kt.forward_dynamics_derivatives(mechanism, motion.q, motion.qd, tau, out=f) is f
    broken = motion.q.copy()
    broken[3, 1] = np.nan
    with kt.analysis.unchecked():
        found = kt.inverse_dynamics(mechanism, broken, motion.qd, motion.qdd)
        moved = kt.forward_dynamics(mechanism, broken, motion.qd, tau)
    for answer, expected in ((found, tau), (moved, motion.qdd)):
        assert np.isnan(answer[3]).all()
        assert relative_error(np.delete(answer, 3, axis=0), np.delete(expected, 3, axis=0)) < 1e-11
    with pytest.raises(
        kt.errors.InputError, match=r"q must be finite, got nan for joint 'rocker_pivot' in state 3"
    ):
        kt.inverse_dynamics(mechanism, broken, motion.qd, motion.qdd)
    with pytest.raises(kt.errors.InputError, match="threads must be"):
        kt.inverse_dynamics(mechanism, *state, threads=0)
    with pytest.raises(kt.errors.InputError, match="out must be an earlier result for the same mechanism"):
        three = kt.zoo.three_rrr()
        q = kt.loops.assemble(three, [1.05, -0.87, 3.73, 1.31, 2.96, 4.19, 5.76])
        still = np.zeros(7)
        other = kt.inverse_dynamics_derivatives(three.opened(), q, still, still)
        kt.inverse_dynamics_derivatives(three, q, still, still, out=other)


def test_the_tree_is_asked_on_purpose():
    mechanism, motion = four_bar_motion(1)
    state = motion.q[0], motion.qd[0], motion.qdd[0]
    tau, forces = kt.loops.inverse_dynamics(mechanism, *state)
    assert relative_error(kt.inverse_dynamics(mechanism.opened(), *state), tau + forces.torque) < 1e-12


def test_loads_on_the_bodies_are_felt_by_the_drives(rng):
    """As wrenches or as an array of all bodies; by virtual work on the independent joint."""
    mechanism, motion = four_bar_motion(1)
    q, still = motion.q[0], np.zeros(3)
    array = rng.standard_normal((3, 6))
    G = kt.loops.inverse_dynamics_derivatives(mechanism, q, still, still).dq_dq
    work = sum(
        (kt.jacobian(mechanism, q, body) @ G).T @ array[k] for k, body in enumerate(mechanism.body_names)
    )
    tau = kt.inverse_dynamics(mechanism, q, still, still, array)
    assert relative_error(kt.gravity_torque(mechanism, q)[0] - tau[:1], work) < 1e-11


def test_floating_base_with_loops():
    """Base acceleration and drives' torques against independent solutions, no force on the base."""
    for variant in read("floating_fourbar_legs.json")["variants"]:
        mechanism = closed(variant)
        for state in variant["states"]:
            expected, load = state["inverse"], loads(mechanism, state["external"])
            joints = np.array(expected["qdd"])[6:]
            base, tau = kt.analysis.floating_base_inverse_dynamics(
                mechanism, state["q"], state["qd"], joints, load
            )
            assert relative_error(base, expected["qdd"][:6]) < 1e-11
            drives = np.array(variant["actuated"]) - 6
            assert relative_error(tau[drives], expected["tau"]) < 1e-11
            assert not np.delete(tau, drives).any()


# ---- bad input -------------------------------------------------------------------------------------------
def test_a_tied_base_is_not_free():
    build = kt.Builder("tied")
    trunk = build.world.free("base").body("trunk", kt.Inertia.box(2.0, (0.2, 0.2, 0.2)))
    leg = trunk.revolute("hip", axis="y").body("leg", kt.Inertia.rod(1.0, end=(0, 0, -0.5)))
    build.loop("foot", "world", leg, kind="spherical", at_b=(0, 0, -0.5))
    mechanism = build.build()
    q = kt.loops.assemble(mechanism, np.zeros(7))
    with pytest.raises(kt.errors.InputError, match="loop 'foot' connects the floating base"):
        kt.analysis.floating_base_inverse_dynamics(mechanism, q, np.zeros(7), np.zeros(1))


def test_questions_that_make_no_sense_are_refused():
    mechanism, motion = four_bar_motion(1)
    q, still = motion.q[0], np.zeros(3)
    with pytest.raises(
        kt.errors.InputError, match="either the accelerations qdd of a motion or the torques tau"
    ):
        kt.loops.forces(mechanism, q, still)
    with pytest.raises(kt.errors.InputError, match="weights distribute the torques"):
        kt.loops.forces(mechanism, q, still, tau=still, weights=[1.0] * 3)
    with pytest.raises(kt.errors.InputError, match="unknown frame"):
        kt.joint_reactions(mechanism, q, still, still, frame="moon")
    with pytest.raises(kt.errors.InputError, match="has mobility 1 here, but 2 independent joints"):
        kt.loops.mass_matrix(mechanism, q, ["crank_pivot", "rocker_pivot"])
    with pytest.raises(kt.errors.InputError, match="independent joints must differ"):
        kt.loops.mass_matrix(mechanism, q, ["crank_pivot", "crank_pivot"])
    with pytest.raises(kt.errors.InputError, match="can still move in 1 way with none held"):
        kt.loops.assembly_modes(mechanism, q, hold=[], starts=4)


def test_an_independent_set_that_is_not_is_named():
    """The angles at the dead point of a slider-crank do not follow from the slider."""
    mechanism = kt.zoo.slider_crank()
    zero = np.zeros(3)
    with pytest.raises(kt.errors.InputError, match=r"joints guide are not independent in this state"):
        kt.loops.inverse_dynamics_derivatives(mechanism, zero, zero, zero, ["guide"])


def test_a_singular_position_is_named_with_its_loop():
    mechanism = kt.zoo.n_four_bar(2)
    sign = np.array([-1.0 if "crank" in name else 1.0 for name in mechanism.joint_names])
    flat, still = sign * np.pi / 2, np.zeros(5)
    with pytest.raises(
        kt.errors.InputError, match=r"position is singular: loop '\w+' of mechanism .* loses rank"
    ):
        kt.inverse_dynamics(mechanism, flat, still, still)
    with pytest.raises(kt.errors.InputError, match="a singular position: 1 elsewhere"):
        kt.inverse_dynamics_derivatives(mechanism, flat, still, still)
    with pytest.raises(
        kt.errors.SingularityError, match=r"loop '\w+' of mechanism 'n_four_bar.*' loses rank in state 1"
    ):
        kt.inverse_dynamics(mechanism, np.array([0.3 * sign, flat]), still, still)


def test_derivatives_by_other_independent_joints():
    """Derivatives of the package take the joints that those of kinetree.loops do; open trees refuse them."""
    mechanism, still = kt.zoo.four_bar(), np.zeros(3)
    q = kt.loops.assemble(mechanism, [0.0, 1.0, 4.3], hold=["crank_pivot"])
    weight, names = np.array([1.0, 0.0, 0.0]), ["rocker_pivot"]
    asked = {
        "inverse_dynamics_derivatives": (kt, kt.loops.inverse_dynamics_derivatives, (still, still)),
        "forward_dynamics_derivatives": (kt, kt.loops.forward_dynamics_derivatives, (still, still)),
        "torque_hessian": (kt.analysis, kt.loops.torque_hessian, (still, still, weight)),
        "joint_reaction_derivatives": (kt.analysis, kt.loops.reaction_derivatives, (still, still)),
    }
    for name, (home, of_loops, state) in asked.items():
        verb = getattr(home, name)
        found, expected = verb(mechanism, q, *state, independent=names), of_loops(mechanism, q, *state, names)
        assert found.independent == expected.independent == ("rocker_pivot",)
        (part,) = {"matrices", "second", "slopes"} & set(dir(found))
        assert np.array_equal(getattr(found, part), getattr(expected, part), equal_nan=True)
        with pytest.raises(kt.errors.InputError, match=r"independent=\['rocker_pivot'\]: all joints"):
            verb(mechanism.opened(), q, *state, independent=names)

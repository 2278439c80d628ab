"""Limits of the model in predictions: enforced, waived, or named where the motion exceeds them."""

from dataclasses import replace

import numpy as np
import pytest

import kinetree as kt
from kinetree.motion.terms import (
    Boundary,
    JointLimits,
    SquaredAcceleration,
    Time,
    TorqueLimits,
    VelocityLimits,
)


def cart(**limits):
    """1 kg on a guide without gravity: q'' = force."""
    made = kt.Builder("cart", gravity=(0, 0, 0))
    made.world.prismatic("guide", axis="x", **limits).body("load", kt.Inertia(1.0, moment=(1, 1, 1)))
    return made.build()


ENDS = [Boundary("start", [0.0], 0.0), Boundary("end", [1.0], 0.0)]


def fastest(model, *constraints, **more):
    asked = kt.Problem(model, objective=Time(), constraints=[*ENDS, *constraints], segments=40, **more)
    return kt.predict(asked)


def test_limits_of_the_model_give_the_shortest_time_of_the_textbook():
    """Bang-bang to v, along at v, and back: T = 1 / v + v / a, a = F / m, bounded by the model alone."""
    v, force = 0.8, 2.0
    found = fastest(cart(velocity_limit=v, effort_limit=force), limits="model")
    assert found.solved and found.duration == pytest.approx(1.0 / v + v / force, rel=2e-2)
    assert np.abs(found.qd).max() < 1.01 * v and found.to_result().audit["model_limits"].passed
    assert {"torque limit", "velocity limit"} <= set(found.problem.families)


def test_a_limit_that_nothing_enforces_is_named_and_fails_the_audit():
    found = fastest(cart(velocity_limit=0.3, effort_limit=2.0), TorqueLimits())
    assert found.solved
    result = found.to_result()
    check = result.audit["model_limits"]
    top = np.abs(found.qd).max()
    assert not check.passed and not result.passed and check.value == pytest.approx(top / 0.3 - 1.0)
    assert (
        f"velocity of joint 'guide' is {top:.4g} m/s" in check.sentence and 'limits="model"' in check.sentence
    )
    assert check.sentence in result.messages and "Exceeded limits of the model" in str(found)


def test_limits_that_are_waived_are_named_only():
    result = fastest(cart(velocity_limit=0.3, effort_limit=2.0), TorqueLimits(), limits="none").to_result()
    assert "model_limits" not in result.audit and any(
        "velocity of joint 'guide'" in x for x in result.messages
    )


def test_own_bounds_of_a_joint_take_the_place_of_the_models():
    found = fastest(cart(velocity_limit=0.3, effort_limit=2.0), VelocityLimits(0.8), limits="model")
    assert found.duration == pytest.approx(1.0 / 0.8 + 0.8 / 2.0, rel=2e-2) and found.to_result().passed


def test_positions_keep_within_the_model():
    q = [Boundary("start", [0.0], 2.0), Boundary("end", [0.0], 0.0)]
    least = SquaredAcceleration()
    asked = {"objective": least, "constraints": q, "duration": 2.0}
    free, held = (kt.predict(kt.Problem(cart(upper=0.3), **asked, limits=x)) for x in (None, "model"))
    assert free.q.max() > 0.35 and not free.to_result().audit["model_limits"].passed
    assert held.solved and held.q.max() < 0.3 + 1e-3 and held.to_result().audit["model_limits"].passed
    assert [type(x) for x in held.problem.constraints if isinstance(x, JointLimits)] == [JointLimits]


def test_unknown_kinds_of_limits_are_refused():
    with pytest.raises(kt.errors.InputError, match=r"unknown kind of limits 'modle'.*Did you mean 'model'"):
        fastest(cart(effort_limit=1.0), limits="modle")
    kept = fastest(cart(effort_limit=2.0, velocity_limit=5.0), limits=["effort"])
    assert "velocity limit" not in kept.problem.families


def test_a_sentence_that_says_solved_has_no_violations_below_it():
    rough = kt.Problem(
        kt.zoo.two_link(),
        objective=Time(),
        constraints=[Boundary("start", [0, -2], 0.0), Boundary("end", [1, -1], 0.0), TorqueLimits()],
        segments=6,
        samples=1,
    )
    found = kt.predict(rough, between=None)
    told = found.explanation
    assert told.violated and told.status.startswith("Solved at the samples") and "%" in told.status
    tight = kt.motion.tighten(found)
    assert not tight.explanation.violated and tight.explanation.status.startswith("Solved: ")


def test_reached_limits_are_notes_and_no_warnings():
    text = str(kt.run("two_link_minimum_time"))
    assert "note: torque limit" in text and "warning:" not in text


def test_studies_enforce_the_limits_of_the_model(tmp_path):
    kt.save(cart(velocity_limit=0.3, effort_limit=2.0), tmp_path / "cart.toml")
    text = '[study]\ntask = "predict"\n[mechanism]\nfile = "cart.toml"\n[predict]\nobjective = "time"\n'
    (tmp_path / "s.toml").write_text(text + "start = { q = [0.0] }\nend = { q = [1.0] }\n")
    study = str(tmp_path / "s.toml")
    kept = kt.run(study)
    assert kept.passed and float(np.abs(kept.qd).max()) < 1.05 * 0.3
    freed = kt.run(study, predict={"limits": "none", "torque_limits": "model"})
    assert float(np.abs(freed.qd).max()) > 1.0 and "model_limits" not in freed.audit


def roped(offset=0.0, **limits):
    """Two carts, and a massless length 2 a + b + offset that follows them."""
    made = kt.Builder("carts", gravity=(0, 0, 0))
    for name, axis in (("a", "x"), ("b", "y")):
        made.world.prismatic(name, axis=axis).body(name, kt.Inertia(1.0, moment=(1, 1, 1)))
    mimic = kt.model.Mimic("a", 2.0, offset, others={"b": 1.0})
    joint = kt.Joint.of_kind("rope", "prismatic", axis="x", mimic=mimic, driven=False, **limits)
    model = made.build()
    return replace(model, links=(*model.links, kt.model.Link(kt.Body("rope"), joint)))


def test_joints_that_follow_others_keep_their_own_limits():
    """The least acceleration back to zero, moving away at 2 m/s first: 2 a reaches 1.19 m."""
    q = [Boundary("start", [0.0, 0.0], [2.0, 0.0]), Boundary("end", [0.0, 0.0], 0.0)]
    asked = {"objective": SquaredAcceleration(), "constraints": q, "duration": 2.0}
    offset, most = 0.4, 0.9
    problems = [kt.Problem(roped(offset, upper=most), **asked, limits=x) for x in (None, "model", "none")]
    free, held, waived = (kt.predict(x, progress=False) for x in problems)
    rope = [2.0 * x.q[:, 0] + x.q[:, 1] + offset for x in (free, held)]
    check = free.to_result().audit["model_limits"]
    assert not check.passed and check.value == pytest.approx(rope[0].max() - most, rel=1e-2)
    assert "position of joint 'rope'" in check.sentence and 'limits="model" does' in check.sentence
    assert held.solved and held.to_result().audit["model_limits"].passed
    assert most - 1e-2 < rope[1].max() < most + 1e-3
    assert "model_limits" not in waived.to_result().audit
    still = roped(offset, velocity_limit=1.0)
    said = kt.predict(kt.Problem(still, **asked, limits="model"), progress=False).to_result()
    assert said.audit["model_limits"].value == pytest.approx(3.0)  # 2 times 2 m/s where 1 m/s is allowed
    assert said.audit["model_limits"].sentence.endswith("no constraint enforces it")


def test_ends_beyond_the_limit_of_a_follower_are_refused_by_its_name():
    q = [Boundary("start", [0.0, 0.0], 0.0), Boundary("end", [0.5, 0.5], 0.0)]
    with pytest.raises(kt.errors.InputError, match=r"joint limit, rope at s = 1 allows .* to 0\.9 m"):
        kt.Problem(roped(upper=0.9), objective=SquaredAcceleration(), constraints=q, limits="model")

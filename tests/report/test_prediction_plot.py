"""Pictures of predictions: limits, shades, prices and forces are where they belong."""

import numpy as np
import pytest
from matplotlib.colors import same_color

import kinetree as kt
from kinetree.motion.terms import JointLimits, ReactionLimit
from kinetree.report.palette import LINE_COLORS
from motion.problems import lifting, minimum_time, prismatic
from support.refused import refused


def of_kind(ax, gid):
    return [x for x in [*ax.lines, *ax.patches] if x.get_gid() == gid]


def test_the_usual_picture():
    found = kt.predict(minimum_time())
    figure = found.plot()
    names = [ax.get_ylabel() for ax in figure.axes]
    assert names == ["q / rad", "tau / (N m)", "price / (1/(N m s))", "force / N"]
    torque = figure.axes[1]
    joint1 = of_kind(torque, "joint1")[0]
    assert np.array_equal(joint1.get_xdata(), found.t)
    assert np.array_equal(joint1.get_ydata(), found.tau[:, 0])
    assert sorted(line.get_ydata()[0] for line in of_kind(torque, "limit")) == [-10, -10, 10, 10]
    assert torque.get_xlim() == (0.0, found.duration)


def test_shades_are_where_limits_are_reached():
    """The first joint pushes up first and down later: upper half of the axes first, lower half later."""
    found = kt.predict(minimum_time())
    shades = of_kind(found.plot("tau").axes[0], "reached")
    first = [x for x in shades if same_color(x.get_facecolor()[:3], LINE_COLORS[0])]
    (upper,) = [x for x in first if x.get_y() == 0.5]
    (lower,) = [x for x in first if x.get_y() == 0.0]
    assert upper.get_x() + upper.get_width() == pytest.approx(0.186, abs=0.02)  # it switches at 0.196 s
    assert lower.get_x() == pytest.approx(0.206, abs=0.02)


def test_areas_below_prices_are_the_prices():
    found = kt.predict(minimum_time())
    (ax,) = found.plot("price").axes
    areas = {}
    for line in ax.lines:
        if line.get_gid() != "zero":
            x, y = line.get_xdata(), line.get_ydata()
            areas[line.get_gid()] = (np.diff(x) * (y[1:] + y[:-1])).sum() / 2
    expected = {f"{b.label}, {b.side}": -b.price for b in found.active}
    assert areas == pytest.approx(expected, rel=1e-9)


def test_forces_and_their_limit():
    found = kt.predict(minimum_time(also=[ReactionLimit("link1", 25.0), JointLimits(lower={"joint2": -2.1})]))
    figure = found.plot("q", "force")
    force = figure.axes[1]
    expected = np.linalg.norm(found.reaction[:, 1, :3], axis=1)
    assert np.allclose(of_kind(force, "joint2")[0].get_ydata(), expected)
    assert [line.get_ydata()[0] for line in of_kind(force, "limit")] == [25.0]
    assert of_kind(force, "reached")
    assert [line.get_ydata()[0] for line in of_kind(figure.axes[0], "limit")] == [-2.1]


def test_internal_forces_look_as_in_the_documents():
    """[Barman2020], section 4: two peaks; the force in the first joint is the larger one until both merge."""
    found = kt.predict(minimum_time())
    lines = [of_kind(found.plot("force").axes[0], name)[0].get_ydata() for name in ("joint1", "joint2")]
    early = found.t < 0.04
    assert (lines[0][early] > lines[1][early]).all()
    assert lines[0][-1] == pytest.approx(lines[1][-1], rel=0.1)
    middle = lines[0][(found.t > 0.08) & (found.t < 0.15)].max()
    assert lines[0][found.t < 0.03].max() > 2 * middle
    assert lines[0][(found.t > 0.18) & (found.t < 0.25)].max() > 2 * middle
    slide = kt.predict(prismatic(np.pi / 2))
    sizes = np.linalg.norm(slide.reaction[..., :3], axis=-1)
    ends = (slide.s < 0.3) | (slide.s > 0.7)
    assert (sizes[ends, 1] < sizes[ends, 0]).all()


def test_units_have_panels_of_their_own_and_no_price_where_nothing_is_reached():
    found = kt.predict(prismatic(np.pi / 2))
    assert [ax.get_ylabel() for ax in found.plot().axes] == [
        "q / m", "q / rad", "tau / N", "tau / (N m)", "force / N",
    ]  # fmt: skip
    with pytest.raises(kt.errors.InputError, match="no limit is active"):
        found.plot("price")


def test_a_motion_that_was_not_found_is_drawn_too():
    found = kt.predict(lifting(duration=0.2))
    assert "infeasible" in found.plot("q", "qd", "tau").get_suptitle()


def test_unknown_parts_are_named():
    with refused("part of a prediction", "torque"):
        kt.predict(minimum_time(segments=4)).plot("torque")


def test_forces_that_were_sought_are_drawn_with_their_bounds():
    build = kt.Builder("rail")
    build.world.prismatic("slide", axis="x").body("block", kt.Inertia.box(2.0, (0.1, 0.1, 0.1)))
    force = kt.terms.UnknownForce("block", name="finger", axes="x", lower=-12.0, upper=9.0)
    ends = [kt.terms.Boundary("start", 0.0, 0.0), kt.terms.Boundary("end", 0.3, 0.0)]
    constraints = [*ends, force, kt.terms.TorqueLimits(0.0, at="knots")]
    found = kt.predict(kt.Problem(build.build(), objective=kt.terms.Time(), constraints=constraints))
    (ax,) = found.plot("sought").axes
    assert ax.get_ylabel() == "force_finger / N"
    limits = sorted(float(line.get_ydata()[0]) for line in ax.lines if line.get_gid() == "limit")
    assert limits == [-12.0, 9.0]
    assert any(patch.get_gid() == "reached" for patch in ax.patches)
    with pytest.raises(kt.errors.InputError, match="the motion is the only unknown"):
        kt.predict(minimum_time(segments=6)).plot("sought")

"""Links that bend, as rigid segments with springs: beside beams in closed form ([Mohan2007], section 6)."""

from dataclasses import replace

import numpy as np
import pytest

import kinetree as kt
from support.pages import DOCS

LENGTH, STIFFNESS, MASS = 1.0, 2.0, 0.5  # m, N m^2, kg


@pytest.fixture(scope="module")
def page():
    """The functions that the page on flexible links defines."""
    text = (DOCS / "how_to" / "flexible_link.md").read_text(encoding="utf-8")
    space: dict = {}
    exec(text.split("```python\n")[1].split("exact =")[0], space)
    return space


def test_frequencies_converge_with_the_square_of_the_segments(page):
    exact = np.array([1.87510407, 4.69409113, 7.85475744]) ** 2 * np.sqrt(STIFFNESS / MASS)
    few, many = (np.abs(page["frequencies"](page["beam"](n))[:3] / exact - 1.0) for n in (16, 32))
    assert (many < [5e-4, 2e-3, 5e-3]).all()
    assert few / many == pytest.approx(4.0, rel=0.05)


def test_a_force_at_the_end_bends_it_as_a_cantilever(page):
    """F L^3 / (3 EI), found by a simulation that comes to rest."""
    n, force = 16, 0.02
    stiff = page["beam"](n)
    part = LENGTH / n
    damped = [replace(x, joint=replace(x.joint, viscous=0.05 * x.joint.stiffness)) for x in stiff.links]
    beam = replace(stiff, links=tuple(damped))
    push = kt.Wrench(f"segment{n}", force=(0, force, 0), point=(part, 0, 0))
    run = kt.simulate(beam, np.zeros(n), duration=12.0, loads=push, times=3, method="radau", rtol=1e-7)
    x = np.cumsum(run.q.values[-1])
    tip = part * np.sin(x).sum()
    assert np.abs(run.qd.values[-1]).max() < 1e-6
    assert tip == pytest.approx(force * LENGTH**3 / (3 * STIFFNESS), rel=3e-3)


def test_a_moment_at_the_end_bends_it_to_an_arc(page):
    """Angle M L / EI, however large: a quarter of a circle."""
    n = 24
    beam, moment = page["beam"](n), np.pi / 2 * STIFFNESS / LENGTH
    q = np.full(n, moment * LENGTH / n / STIFFNESS)
    q[0] /= 2.0
    push = kt.Wrench(f"segment{n}", moment=(0, 0, moment))
    assert np.abs(kt.inverse_dynamics(beam, q, np.zeros(n), np.zeros(n), push)).max() < 1e-12
    angle = np.cumsum(q)
    radius = LENGTH / (np.pi / 2)
    tip = LENGTH / n * np.array([np.cos(angle).sum(), np.sin(angle).sum()])
    assert tip == pytest.approx([radius, radius], rel=1e-3)

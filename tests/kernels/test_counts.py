"""Operation counts of the kernels: how they grow, and what empty bodies save."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.kernels.aba import ABA_UNLOADED
from kinetree.kernels.crba import CRBA
from kinetree.kernels.energy import ENERGY, SIZE
from kinetree.kernels.number import count_operations, counting
from kinetree.kernels.rnea import RNEA, RNEA_UNLOADED
from support.cases import assert_close
from support.equal_links import ball_and_hinges, chain, star
from support.interpreted import run


def counts(kernel, robot, outputs):
    n = robot.tree.n
    rows = [counting(np.linspace(0.1, 1.0, n) + 0.1 * k) for k in range(min(kernel.inputs, 3))]
    if kernel is RNEA:
        rows.append(counting(np.linspace(0.2, 1.2, 6 * n)))
    return count_operations(lambda: run(kernel, robot, rows, outputs))


def table(kernel, lengths, outputs):
    """Multiplications, additions, divisions and sincos for chains of several lengths."""
    return np.array([list(counts(kernel, chain(n), outputs(n)).values()) for n in lengths])


@pytest.mark.parametrize(
    ("kernel", "outputs"),
    [(RNEA_UNLOADED, lambda n: [n]), (ABA_UNLOADED, lambda n: [n, n]), (ENERGY, lambda n: [SIZE])],
    ids=["rnea", "aba", "energy"],
)
def test_recursions_are_linear_in_the_length(kernel, outputs):
    operations = table(kernel, (2, 4, 6, 8, 16), outputs)
    per_two = np.diff(operations[:4], axis=0)
    assert (operations[:, :2] > 0).all()
    assert (per_two == per_two[0]).all()
    assert (operations[4] - operations[3] == 4 * per_two[0]).all()
    assert operations[:, 3].tolist() == [2, 4, 6, 8, 16]  # one sine and cosine per hinge


def test_mass_matrix_is_quadratic_in_the_length():
    operations = table(CRBA, (3, 6, 9, 12), lambda n: [])
    assert (operations[:, :2] > 0).all()
    assert (np.diff(operations, 3, axis=0) == 0).all()
    assert (np.diff(operations, 2, axis=0)[:, :2] > 0).all()
    entries = np.diff(operations, 2, axis=0)[0, :2] / 9  # twice the coefficient of n^2: work per entry
    assert (entries <= 12).all()


def test_mass_matrix_of_a_star_is_linear():
    """Axes on different branches share no entry."""
    operations = np.array([list(counts(CRBA, star(n), []).values()) for n in (2, 4, 6)])
    assert (np.diff(operations, 2, axis=0) == 0).all()


def test_forward_dynamics_divides_once_per_axis():
    assert counts(ABA_UNLOADED, chain(7), [7, 7])["divisions"] == 7
    assert counts(RNEA_UNLOADED, chain(7), [7])["divisions"] == 0


def test_inverse_dynamics_costs_no_more_than_the_literature():
    """(130n - 68) M (101n - 56) A, Featherstone 1987 as listed in [Shah2013], per link of a general chain."""
    long, short = (counts(RNEA_UNLOADED, chain(n), [n]) for n in (20, 10))
    assert (long["multiplications"] - short["multiplications"]) / 10 <= 130
    assert (long["additions"] - short["additions"]) / 10 <= 101


@pytest.mark.parametrize("kernel", [RNEA_UNLOADED, ABA_UNLOADED, CRBA], ids=lambda kernel: kernel.name)
def test_empty_bodies_are_skipped(kernel):
    """A ball joint has the axes of three hinges, but only one body with mass."""
    outputs = {"rnea_unloaded": [3], "aba_unloaded": [3, 3], "crba": []}[kernel.name]
    few, many = (counts(kernel, robot, outputs) for robot in ball_and_hinges())
    assert few["multiplications"] < 0.8 * many["multiplications"]
    assert few["additions"] < many["additions"]
    assert few["sincos"] == many["sincos"] == 3


def test_sliders_need_no_sine():
    assert counts(RNEA_UNLOADED, chain(4, "prismatic"), [4])["sincos"] == 0


def test_loads_cost_extra_and_only_when_given():
    robot = chain(5)
    plain = counts(RNEA_UNLOADED, robot, [5])
    loaded = counts(RNEA, robot, [5, 0])
    assert loaded["additions"] == plain["additions"] + 6 * 5
    assert loaded["multiplications"] == plain["multiplications"]


def test_counting_numbers_compute():
    robot = chain(3)
    rows = [np.array([0.1, 0.2, 0.3]), np.array([1.0, -2.0, 0.5]), np.array([0.3, 0.2, 0.1])]
    (tau,) = run(RNEA_UNLOADED, robot, [counting(x) for x in rows], [3])
    assert_close([float(x) for x in tau], kt.inverse_dynamics(robot, *rows), 1e-14)


def test_counting():
    a, b = counting([2.0, 4.0])

    def work():
        return float((a + b) * 3.0 - 1.0 / b + (-a) / 2.0 - (1.0 - a))

    assert work() == 18.0 - 0.25 - 1.0 + 1.0
    assert count_operations(work) == {"multiplications": 1, "additions": 5, "divisions": 2, "sincos": 0}
    assert count_operations(lambda: None)["additions"] == 0
    assert (float(np.sin(a)), float(np.cos(a))) == (np.sin(2.0), np.cos(2.0))
    assert float(a.sign()) == 1.0 and float((-a).sign()) == -1.0

"""Solvers that need a licence: what is missing is said; the adapter does what pyoptsparse asks of it."""

import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import minimize

import kinetree as kt
from kinetree.motion.predict import predict
from kinetree.motion.solvers.choice import SOLVERS
from kinetree.motion.solvers.interface import Status
from motion.problems import lifting, minimum_time


class Optimization:
    """The part of pyoptsparse's class that states a problem."""

    def __init__(self, name, function):
        self.function = function

    def addVarGroup(self, name, n, value, lower, upper):
        assert name == "z" and len(value) == len(lower) == len(upper) == n
        self.start, self.bounds = np.array(value), list(zip(lower, upper, strict=True))

    def addConGroup(self, name, m, lower, upper, wrt, jac):
        assert wrt == ["z"] and jac["z"]["shape"][0] == m
        self.lower, self.upper = lower, upper

    def addObj(self, name):
        self.objective = name


class StandIn:
    """SLSQP behind pyoptsparse's way of calling."""

    def __init__(self, name, options=None):
        assert name == "SNOPT"
        StandIn.options = options

    def __call__(self, problem, sens):
        def values(z):
            found, fail = problem.function({"z": z})
            if fail:
                raise StopIteration
            return found

        def slopes(z):
            found, fail = sens({"z": z}, values(z))
            if fail:
                raise StopIteration
            sparse = found["g"]["z"]
            J = np.zeros(sparse["shape"])
            np.add.at(J, tuple(sparse["coo"][:2]), sparse["coo"][2])
            return found["f"]["z"], J

        low, high = np.isfinite(problem.lower), np.isfinite(problem.upper)
        offsets = np.append(problem.lower[low], -problem.upper[high])
        sides = {
            "type": "ineq",
            "fun": lambda z: np.append(values(z)["g"][low], -values(z)["g"][high]) - offsets,
            "jac": lambda z: np.vstack([slopes(z)[1][low], -slopes(z)[1][high]]),
        }  # fmt: skip
        try:
            found = minimize(
                lambda z: values(z)["f"], problem.start, jac=lambda z: slopes(z)[0], bounds=problem.bounds,
                constraints=[sides], method="SLSQP", options={"ftol": 1e-9, "maxiter": 300},
            )  # fmt: skip
        except StopIteration:
            return SimpleNamespace(xStar={"z": problem.start}, optInform={"value": 71})
        return SimpleNamespace(xStar={"z": found.x}, optInform=SimpleNamespace(value=1))


@pytest.fixture
def pyoptsparse(monkeypatch):
    module = ModuleType("pyoptsparse")
    module.OPT, module.Optimization, module.__spec__ = StandIn, Optimization, SimpleNamespace()
    monkeypatch.setitem(sys.modules, "pyoptsparse", module)
    return module


def test_snopt_is_asked_for_what_it_needs():
    with pytest.raises(kt.MissingExtraError, match="licence and the package 'pyoptsparse'"):
        predict(minimum_time(segments=4), solver="snopt")
    assert not SOLVERS["snopt"].is_installed()


def test_pyoptsparse_without_snopt_is_told_apart(pyoptsparse):
    def refused(name):
        raise RuntimeError("There was an error importing the compiled snopt module")

    pyoptsparse.OPT = refused
    with pytest.raises(kt.MissingExtraError, match=r"has no SNOPT.*compiled snopt module"):
        predict(minimum_time(segments=4), solver="snopt")


def test_the_adapter_solves_with_prices(pyoptsparse):
    options = {"major_step_limit": 1, "verify_level": -1}
    found = predict(lifting(segments=6), solver="snopt", options=options)
    assert found.solved and found.outcome.solver == "snopt"
    best = predict(lifting(segments=6))
    assert found.objective == pytest.approx(best.objective, rel=1e-5)
    assert StandIn.options["Major step limit"] == 1.0 and StandIn.options["Verify level"] == -1
    assert StandIn.options["Major optimality tolerance"] == 1e-6
    assert [bound.label for bound in found.active if bound.price < -1e-4] == [
        bound.label for bound in best.active if bound.price < -1e-4
    ]


def test_the_adapter_stops_when_asked(pyoptsparse):
    found = predict(lifting(segments=6), solver="snopt", time_limit=1e-9)
    assert found.outcome.status is Status.TIME


@pytest.mark.parametrize(
    ("name", "value"), [("Major step limit", 1.0), ("scale_option", 7), ("verify_level", "no")]
)
def test_options_are_known(pyoptsparse, name, value):
    with pytest.raises(kt.InputError, match="option"):
        predict(minimum_time(segments=4), solver="snopt", options={name: value})


@pytest.mark.parametrize("library", [{}, {"hsllib": "/nowhere/libhsl.so"}])
def test_a_linear_solver_of_hsl_is_asked_for_before_solving(library):
    with pytest.raises(kt.MissingExtraError, match=r"ma57 needs HSL .*'hsllib'.* cannot be loaded"):
        predict(minimum_time(segments=4), solver="ipopt", options={"linear_solver": "ma57", **library})


def test_the_free_linear_solvers_of_ipopt_agree():
    times = [
        predict(minimum_time(segments=6), solver="ipopt", options={"linear_solver": name}).duration
        for name in ("mumps", "spral")
    ]
    assert times[0] == pytest.approx(times[1], rel=1e-5)

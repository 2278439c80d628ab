"""Results made of random numbers, for tests of what is done with results."""

import numpy as np

from kinetree.result.build import build_result
from kinetree.result.records import Check
from kinetree.result.variables import KNOWN

LABELED_BY_CONTACT = ("contact", "loop")


def random_variables(mechanism, rng, k=7):
    """Every known variable that the mechanism has labels for, with numbers of all sizes and signs of zero."""
    sizes = {
        "time": k, "joint": mechanism.n_dof, "body": mechanism.n_bodies, "axis": 3, "component": 6,
        "contact": len(mechanism.contact_points), "loop": len(mechanism.loops), "at_joint": 2,
        "muscle": 2,
    }  # fmt: skip
    found = {"time": np.cumsum(rng.uniform(0.0, 0.1, k))}
    for name, quantity in KNOWN.items():
        shape = [sizes[dim] for dim in quantity.dims]
        if 0 in (sizes[dim] for dim in LABELED_BY_CONTACT if dim in quantity.dims):
            continue
        values = rng.standard_normal(shape) * 10.0 ** rng.integers(-300, 300, shape)
        values[rng.random(shape) < 0.1] = -0.0
        values[rng.random(shape) < 0.1] = 5e-324
        if quantity.may_be_missing:
            values[rng.random(shape) < 0.3] = np.nan
        found[name] = rng.random(shape) < 0.5 if name == "touching" else values
    return found


def random_result(mechanism, rng, k=7, **changes):
    """A result with all that a result can have."""
    variables = random_variables(mechanism, rng, k)
    variables["steps"] = ("iteration", rng.integers(0, 2**62, 3), "1", "steps of the search")
    variables["phase"] = ("time", np.array([f"phase {n} é" for n in range(k)]), "", "part of the motion")
    variables["largest"] = ((), rng.standard_normal(), "m", "largest step")
    told = {
        "coordinates": {"iteration": ("iteration", [1, 2, 3], "1", "iteration"),
                        "at_joint": ("at_joint", ["hip", "knee"], "", "joint"),
                        "muscle": ("muscle", ["soleus", "vastus"], "", "muscle")},
        "settings": {"method": "RK45", "rtol": 1e-8, "gains": np.arange(3.0), "ground": {"friction": 0.8},
                     "max_step": np.inf, "controller": None, "contact": True, "name": "größe 大 🦿"},
        "audit": {"energy": Check.within(rng.standard_normal(), 1e-6, "J", "energy gained = work done"),
                  "drift": Check.within(np.nan, 1.0, "m", "lost")},
        "events": [(0.01, "touchdown", "foot"), (0.02, "lift-off", "Fuß 大")],
        "statistics": {"steps": 12, "rejected": 0},
        "messages": ["slow", "the ground is soft: 100 kN/m"],
    }  # fmt: skip
    return build_result("simulate", mechanism, variables, **told | changes)


def small_motion(mechanism, rng, k=5):
    """Time, q and qd only."""
    shape = (k, mechanism.n_dof)
    time = np.linspace(0.0, 1.0, k) if k > 1 else [0.0]
    return {"time": time, "q": rng.standard_normal(shape), "qd": rng.standard_normal(shape)}


def small_result(mechanism, rng, k=5, **more):
    """A result with time, q and qd only."""
    return build_result("simulate", mechanism, small_motion(mechanism, rng, k), **more)

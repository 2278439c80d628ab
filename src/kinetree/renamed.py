"""Names that have moved: the old ones work for one more version, with a warning that says the new one.

``python -m kinetree.renamed FILE...`` lists the old names in a user's programs, pages and notebooks;
with ``--write`` it puts the new ones in their place.

>>> new_place("kinetree", "Poses")
'kinetree.analysis.Poses'
>>> with_new_names("poses: kt.Poses = kt.forward_kinematics(arm, q)")
'poses: kt.analysis.Poses = kt.forward_kinematics(arm, q)'
"""

from __future__ import annotations

import argparse
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from importlib.util import find_spec
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar, cast

REMOVED_IN = "0.3"
Function = TypeVar("Function", bound=Callable[..., Any])
MOVED_TO = {  # room: names that stood in ``kt.`` before
    "analysis": (
        "ForwardDynamicsDerivatives FormulationTable HybridDynamics HybridDynamicsDerivatives "
        "InverseDynamicsDerivatives InverseKinematics JointReactionDerivatives Poses SymbolicEquations "
        "Target TorqueHessian body_accelerations change_root equations_of_motion "
        "floating_base_inverse_dynamics formulations hybrid_dynamics hybrid_dynamics_derivatives "
        "inertia_regressor inertial_parameters joint_reaction_derivatives torque_hessian "
        "unchecked zero_moment_point"
    ),
    "model": "Actuator Frame Link Loop Mimic Shape from_graph",
    "errors": (
        "AssemblyError FileError InputError MissingExtraError ModelError SimulationError SingularityError"
    ),
    "simulation": (
        "AccuracyWarning ContactForces Region Simulator Soil Stops Trigger VerdictWarning Verdicts "
        "contact_forces simulate_batch"
    ),
    "motion": "GaussSamples Junction PhasedPrediction Prediction predict_phases refine tighten",
    "trajectories": "PiecewisePolynomial Trajectory",
}
OLD_ROOMS = {  # room of 0.1: the one that its names are in now, and the names
    "gait": (
        "gait_analysis",
        "CURVES CurveScore DATA_SETS GaitCycle GaitScore Measured gait_cycle gait_score ground_variables "
        "measured_squat measured_walking plot_gait stance_share strides vertical_peaks",
    ),
}
OF_OTHERS = {  # names in other libraries and textbooks: ours
    "rnea": "inverse_dynamics", "inverseDynamics": "inverse_dynamics", "id": "inverse_dynamics",
    "aba": "forward_dynamics", "forwardDynamics": "forward_dynamics", "fd": "forward_dynamics",
    "crba": "mass_matrix", "inertia": "mass_matrix", "massMatrix": "mass_matrix",
    "nle": "bias_torque", "nonLinearEffects": "bias_torque", "coriolis": "bias_torque",
    "gravity": "gravity_torque", "gravload": "gravity_torque",
    "fk": "forward_kinematics", "fkine": "forward_kinematics", "forwardKinematics": "forward_kinematics",
    "ik": "inverse_kinematics", "ikine": "inverse_kinematics",
    "jacob0": "jacobian", "com": "center_of_mass", "centerOfMass": "center_of_mass",
    "loadURDF": "load", "load_urdf": "load", "read": "load", "open": "load", "load_nc": "load_result",
    "optimize": "predict", "solve": "predict", "show": "view", "plot": "draw", "visualize": "view",
}  # fmt: skip
RENAMED = {  # old: new, both below the package
    **{name: f"{room}.{name}" for room, names in MOVED_TO.items() for name in names.split()},
    **{f"{old}.{name}": f"{new}.{name}" for old, (new, names) in OLD_ROOMS.items() for name in names.split()},
    "Motion": "simulation.Rollout",
    "Phases": "motion.PhasedProblem",
    "control.Walking": "control.WalkingLaw",
    "control.StopSimulation": "errors.StopSimulation",
    "control.perturbed": "control.perturb",
    "human.TorqueLimits": "human.TorqueBounds",
    "lifting.repeated": "lifting.repeat",
    "motion.Phases": "motion.PhasedProblem",
    "simulation.Motion": "simulation.Rollout",
    "trajectories.Gait": "trajectories.LeggedGait",
    "trajectories.retimed": "trajectories.retime",
    "trajectories.tabulated": "trajectories.from_table",
    "zoo.installed": "zoo.installed_models",
}
_OLD = re.compile(
    r"(?<![\w.])(kt|kinetree)\.(" + "|".join(map(re.escape, sorted(RENAMED, key=len, reverse=True))) + r")\b"
)
_IMPORT = re.compile(  # of one line, or of several in parentheses
    r"^[ \t]*(?:>>> |\.\.\. )?from (kinetree(?:\.\w+)?) import (\([^)]*\)|.*)", re.MULTILINE
)


def new_place(module: str, name: str) -> str | None:
    """Where a name of a module is now, with all its dots, or None if it has not moved."""
    new = RENAMED.get(f"{module}.{name}".partition(".")[2])
    return f"kinetree.{new}" if new else None


def known_as(name: str, rooms: Iterable[ModuleType]) -> str:
    """Where a name that the package lacks is: under its name here, or in one of the rooms; else empty.

    >>> known_as("rnea", ()), known_as("something", ())
    ('kinetree.inverse_dynamics', '')
    """
    if name in OF_OTHERS:
        return f"kinetree.{OF_OTHERS[name]}"
    if find_spec(f"kinetree.{name}"):  # a module that is about to be imported: this must be quick
        return ""
    found = (room for room in rooms if name in getattr(room, "__all__", ()))
    return next((f"{room.__name__}.{name}" for room in found), "")


def moved_name(module: str, name: str, stacklevel: int = 3) -> object:
    """What an old name of a module means, with a DeprecationWarning; AttributeError if it never was one."""
    new = new_place(module, name)
    if new is None:
        raise AttributeError(f"module '{module}' has no attribute '{name}'")
    text = f"{module}.{name} is now {new}; the old name will be removed in version {REMOVED_IN}"
    warnings.warn(text, DeprecationWarning, stacklevel=stacklevel)
    package, _, rest = new.partition(".")
    return attrgetter(rest)(sys.modules[package])


def warn_renamed(old: str, new: str, stacklevel: int = 3) -> None:
    """Warn whoever calls the caller of this: an argument or attribute has another name now."""
    text = f"kinetree.{old} is now {new}; the old name will be removed in version {REMOVED_IN}"
    warnings.warn(text, DeprecationWarning, stacklevel=stacklevel)


def renamed_argument(old: str, new: str, place: str) -> Callable[[Function], Function]:
    """Let a function take an argument by its old name, too, with a warning."""

    def decorated(function: Function) -> Function:
        @wraps(function)
        def called(*arguments: Any, **keywords: Any) -> Any:
            if old in keywords and new not in keywords:
                warn_renamed(f"{place}({old}=...)", f"{new}=...")
                keywords[new] = keywords.pop(old)
            return function(*arguments, **keywords)

        return cast(Function, called)

    return decorated


def moved_names(module: str, found: Callable[[str], object] | None = None) -> Callable[[str], object]:
    """The ``__getattr__`` of a module that some names have left; ``found`` is asked for all others."""

    def name_of_module(name: str) -> object:
        if found is None or new_place(module, name):
            return moved_name(module, name)
        return found(name)

    return name_of_module


def with_new_names(text: str) -> str:
    """The text with new names in place of old ones, wherever they stand after ``kt.`` or ``kinetree.``."""
    return _OLD.sub(lambda found: f"{found[1]}.{RENAMED[found[2]]}", text)


def old_names(text: str) -> Iterator[tuple[int, str, str]]:
    """Line, old name and new one, of all that a text has after ``kt.``, ``kinetree.`` or in an import."""
    found: list[tuple[int, str, str]] = []
    for old in _OLD.finditer(text):
        found.append((old.start(), old[0], f"{old[1]}.{RENAMED[old[2]]}"))
    for line in _IMPORT.finditer(text):
        names = re.sub(r"#.*", lambda comment: " " * len(comment[0]), line[2])
        for name in re.finditer(r"(\w+)(?:\s+as\s+\w+)?", names):
            if new := new_place(line[1], name[1]):
                home, _, last = new.rpartition(".")
                place = line.start(2) + name.start()
                found.append((place, f"from {line[1]} import {name[1]}", f"from {home} import {last}"))
    for place, before, after in sorted(found):
        yield text.count("\n", 0, place) + 1, before, after


def main(arguments: list[str] | None = None) -> int:
    """List or replace old names in files; 1 if there are some left."""
    parser = argparse.ArgumentParser(
        prog="python -m kinetree.renamed", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--write", action="store_true", help="replace them in the files")
    chosen = parser.parse_args(arguments)
    left = 0
    for path in chosen.files:
        try:
            text = path.read_bytes().decode()
        except (OSError, UnicodeDecodeError) as error:
            parser.error(f"cannot read {path}: {error}")
        if chosen.write and (new := with_new_names(text)) != text:
            path.write_bytes(new.encode())
            text = new
        for line, old, name in old_names(text):
            print(f"{path}:{line}: {old} is now {name}")
            left += 1
    return int(left > 0)


if __name__ == "__main__":
    raise SystemExit(main())

"""Names of other libraries and textbooks, and where the package has what they mean.

>>> known_as("rnea", ()), known_as("something", ())
('kinetree.inverse_dynamics', '')
"""

from collections.abc import Iterable
from importlib.util import find_spec
from types import ModuleType

OF_OTHERS = {
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


def known_as(name: str, modules: Iterable[ModuleType]) -> str:
    """Where a name that the package lacks is: under another name, or in one of the modules; else empty."""
    if name in OF_OTHERS:
        return f"kinetree.{OF_OTHERS[name]}"
    if find_spec(f"kinetree.{name}"):  # a module that is about to be imported: this must be quick
        return ""
    homes = (module for module in modules if name in getattr(module, "__all__", ()))
    return next((f"{module.__name__}.{name}" for module in homes), "")

"""A model that MuJoCo has compiled: names for everything, and what a mechanism cannot hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array
from kinetree.algebra.placement import Placement
from kinetree.errors import ModelError, listed
from kinetree.model.body import WORLD

SLOW = 0.04  # s: twice the time constant that MuJoCo gives constraints
UNNAMED = "MuJoCo Model"  # what MuJoCo calls a model without a name


class CompiledModel:
    """An mjModel ``m`` of the module ``mj``.

    ``bodies`` and ``joints`` are names by MuJoCo's numbers, ``remarks`` MuJoCo's own warnings, ``left_out``
    what a mechanism cannot hold.
    """

    def __init__(self, mujoco: Any, model: Any, remarks: Sequence[str] = ()) -> None:
        self.mj, self.m, self.remarks = mujoco, model, remarks
        self.left_out: list[str] = []
        self.bodies = [WORLD]
        self.joints: list[str] = []
        given = {
            kind: self._given(kind, count) for kind, count in (("BODY", self.m.nbody), ("JOINT", self.m.njnt))
        }
        self._taken = {kind: {WORLD, *filter(None, names)} for kind, names in given.items()}
        self._taken["POINT"] = set()
        for b in range(1, self.m.nbody):
            self.bodies.append(given["BODY"][b] or self.new_body(f"body{b}"))
        for j in range(self.m.njnt):
            carried = self.bodies[self.m.jnt_bodyid[j]]
            self.joints.append(given["JOINT"][j] or self.new_joint(f"{carried}_{self.joint_type(j)}"))

    def name(self, kind: str, number: int) -> str | None:
        """The name in the file of an object such as kind 'EQUALITY', or None."""
        return self.mj.mj_id2name(self.m, getattr(self.mj.mjtObj, f"mjOBJ_{kind}"), number) or None

    def _given(self, kind: str, count: int) -> list[str | None]:
        return [self.name(kind, k) for k in range(count)]

    def title(self, otherwise: str) -> str:
        """The model's own name, if it has one."""
        own = self.m.names.split(b"\0", 1)[0].decode()
        return otherwise if own in ("", UNNAMED) else own

    def new_body(self, wanted: str) -> str:
        """A body name that no other has, and that no other gets."""
        return _fresh(wanted, self._taken["BODY"])

    def new_joint(self, wanted: str) -> str:
        """A joint name that no other has, and that no other gets."""
        return _fresh(wanted, self._taken["JOINT"])

    def new_frame(self, wanted: str) -> str:
        """A name for a frame that no body and no other frame has; '_site' behind it if one has."""
        taken = self._taken["BODY"]
        return _fresh(wanted if wanted not in taken else f"{wanted}_site", taken)

    def new_point(self, wanted: str) -> str:
        """A name for a contact point that no other has."""
        return _fresh(wanted, self._taken["POINT"])

    def label(self, enumeration: str, value: Any) -> str:
        """What a number means in one of MuJoCo's enumerations: 'hinge' for mjJNT_HINGE of 'mjtJoint'."""
        return str(getattr(self.mj, enumeration)(int(value)).name).split("_", 1)[1].lower()

    def joint_type(self, j: int) -> str:
        """'hinge', 'slide', 'ball' or 'free'."""
        return self.label("mjtJoint", self.m.jnt_type[j])

    def is_scalar(self, j: int) -> bool:
        """Whether a joint has one degree of freedom."""
        return self.joint_type(j) in ("hinge", "slide")

    def works(self, *parts: str) -> bool:
        """Whether no one of these parts of the physics, such as 'GRAVITY', is switched off by a flag."""
        bits = [getattr(self.mj.mjtDisableBit, f"mjDSBL_{part}", 0) for part in parts]
        return not any(int(self.m.opt.disableflags) & int(bit) for bit in bits)


def _fresh(wanted: str, taken: set[str]) -> str:
    name, count = wanted, 1
    while name in taken:
        count += 1
        name = f"{wanted}_{count}"
    taken.add(name)
    return name


def placement_from(position: ArrayLike, quaternion: ArrayLike, what: str) -> Placement:
    """A placement from a position (m) and a quaternion (w, x, y, z) of any length but zero."""
    w, x, y, z = np.asarray(quaternion, dtype=np.float64) / max(float(np.linalg.norm(quaternion)), 1e-300)
    rotation = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return Placement.at(position, rotation, what=what, error=ModelError)


def address(m: Any, kind: str, k: int) -> int:
    """Where actuator k starts in arrays per control or output; older MuJoCo has one of each per actuator."""
    return int(getattr(m, f"actuator_{kind}adr")[k]) if hasattr(m, f"actuator_{kind}adr") else k


def newer_value(m: Any, array: str, k: int) -> Any:
    """Entry k of an array that only newer versions of MuJoCo have; zero in older ones."""
    return getattr(m, array)[k] if hasattr(m, array) else 0.0


# ---- what a mechanism cannot hold ----------------------------------------------------------------------


def note_physics_left_out(compiled: CompiledModel) -> None:
    """List the parts of the model, other than joints, actuators and equalities, that have no counterpart."""
    m = compiled.m
    fluid = float(m.opt.density) != 0 or float(m.opt.viscosity) != 0
    parts = {
        "flexible bodies": m.nflex > 0,
        "plugins": m.nplugin > 0,
        "fluid forces": fluid,
    }
    compiled.left_out += [part for part, is_there in parts.items() if is_there]
    _note_bodies(compiled, "mocap motion of", [b for b in range(m.nbody) if m.body_mocapid[b] >= 0])


def _note_bodies(compiled: CompiledModel, what: str, bodies: Sequence[int]) -> None:
    if bodies:
        compiled.left_out.append(f"{what} {listed(compiled.bodies[b] for b in bodies)}")


def is_soft(solref: Array) -> bool:
    """Whether a constraint gives way to much smaller forces than MuJoCo's own numbers let it.

    Two numbers > 0 are a time constant (s) and a damping ratio, whose product squared is 1 over the stiffness
    per inertia (1/s^2); two negative ones are stiffness and damping themselves.

    >>> is_soft(np.array([0.02, 1.0])), is_soft(np.array([0.1, 1.0])), is_soft(np.array([-100.0, -1.0]))
    (False, True, True)
    """
    first, second = float(solref[0]), float(solref[1])
    return first * second > SLOW if first > 0.0 else -first < SLOW**-2

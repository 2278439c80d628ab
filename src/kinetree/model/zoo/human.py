"""A digital human of 55 degrees of freedom, of either sex and any size ([Barman2020], Fig. 5.1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, frozen
from kinetree.algebra.placement import Placement
from kinetree.algebra.rotation import rotation_to_axis
from kinetree.model.body import Shape
from kinetree.model.builder import BodyHandle, Builder
from kinetree.model.human.joints import ARM, BODY, DEGREE, LEG, ROOT, TOE_STIFFNESS, Axis
from kinetree.model.human.segments import Proportions, proportions
from kinetree.model.human.strength import constant_torques
from kinetree.model.inertia import Inertia
from kinetree.model.joint_kind import of_turns
from kinetree.model.mechanism import EARTH, Mechanism

TOES_SHARE = 0.15  # of the foot's mass
NECK_SHARE = 0.2  # of the mass of head and neck
HEEL, BALL, TIP = (
    0.02,
    0.70,
    0.97,
)  # heel point (m before the end of the heel), the others as shares of the foot
BEHIND_ANKLE = 0.055  # m, by which the heel ends behind the ankle of a person of 1.741 m
LARGEST_SPREAD = 0.8  # of a part's extent that goes into the distance of its two halves
BALL_HALF_WIDTH = 0.035  # m


def human(
    sex: str = "male",
    height: float = 1.75,
    mass: float = 75.0,
    segments: Mapping[str, Mapping[str, Any]] | None = None,
    gravity: ArrayLike = EARTH,
) -> Mechanism:
    """A digital human of 55 degrees of freedom with de Leva's segments; x forward, y left, z up.

    [Barman2020], Fig. 5.1: a free pelvis (6); four joints of the spine (12), neck (3) and head (2); clavicle
    (2), shoulder (3), elbow (2) and wrist (2) in each arm; hip (3), knee (1), ankle (2) and toes (1) in each
    leg. At q = 0 the person stands upright on z = 0 with hanging arms. ``height`` (m) and ``mass`` (kg) scale
    the segments of de Leva (1996); ``segments`` replaces values of some, such as ``{"left_thigh": {"mass":
    9.0}}`` (see :func:`kinetree.human.proportions`), which then changes height or mass. Joints have ranges,
    largest torques and, at the toes, a passive spring; heel, both sides of the ball, and tip of each foot are
    contact points. ``mechanism.frozen(kinetree.human.FROZEN_WHILE_WALKING)`` leaves the 38 that walk.

    >>> import kinetree as kt
    >>> person = kt.zoo.human("female", height=1.63, mass=60.0)
    >>> person, round(person.mass, 9)
    (Mechanism('human', 23 bodies, 55 degrees of freedom), 60.0)
    >>> person.frozen(kt.human.FROZEN_WHILE_WALKING).n_dof
    38
    """
    plain = proportions(sex, height, mass)
    person = _Person(proportions(sex, height, mass, segments), plain, sex, height, mass, gravity)
    return person.build()


class _Person:
    """The parts of a human while it is built."""

    def __init__(
        self, parts: Proportions, plain: Proportions, sex: str, height: float, mass: float, gravity: ArrayLike
    ) -> None:
        self.parts = parts
        self.torques = constant_torques(sex, height, mass)
        self.girth = parts.scale * np.sqrt((mass / 75.0) / (height / 1.75) ** 3)
        trunk = sum(plain[name].length for name in ("upper_trunk", "middle_trunk", "lower_trunk"))
        leg = plain["left_thigh"].length + plain["left_shank"].length
        head = height - trunk - leg - plain.ankle  # upright, which is less than from vertex to cervicale
        self.head = head * parts["head"].length / plain["head"].length
        self.robot = Builder("human", gravity=gravity)

    def build(self) -> Mechanism:
        """All of it."""
        parts = self.parts
        legs = [parts[f"{side}_thigh"].length + parts[f"{side}_shank"].length for side in ("left", "right")]
        root = self.robot.world.free(
            "root", at=(0, 0, max(legs) + parts.ankle), sequence="ZXY", labels=ROOT, driven=False
        )
        low = parts["lower_trunk"].length
        pelvis = root.body(
            "pelvis", parts["lower_trunk"].inertia((0, 0, low), (0, 0, 0)), self._pelvis_shapes(low)
        )
        for side, sign in (("left", 1.0), ("right", -1.0)):
            self._leg(pelvis, side, sign)
        thorax = self._trunk(pelvis)
        for side, sign in (("left", 1.0), ("right", -1.0)):
            self._arm(thorax, side, sign)
        return self.robot.build()

    def _joint(
        self, parent: BodyHandle, name: str, axes: tuple[Axis, ...], at: Any, sign: float = 1.0
    ) -> Any:
        """A joint with its ranges and strength; directions of the right side are mirrored."""
        given: dict[str, Any] = {"labels": [axis.name for axis in axes]} if len(axes) > 1 else {}
        directions = [
            np.array(axis.direction) * (sign if axis.direction[1] == 0.0 and sign < 0 else 1.0)
            for axis in axes
        ]
        names = [f"{name}.{axis.name}" for axis in axes] if len(axes) > 1 else [name]
        given["effort_limit"] = [max(-self.torques[x][0], self.torques[x][1]) for x in names]
        if name.endswith("_toe"):
            given["stiffness"] = TOE_STIFFNESS
        return parent.joint(
            name,
            of_turns(len(axes)),
            at=at,
            axes=directions,
            lower=[DEGREE * axis.range[0] for axis in axes],
            upper=[DEGREE * axis.range[1] for axis in axes],
            **given,
        )

    def _trunk(self, pelvis: BodyHandle) -> BodyHandle:
        """Spine, neck and head; the thorax is what arms hang on."""
        parts, g = self.parts, self.girth
        low, mid, up = (parts[f"{x}_trunk"].length for x in ("lower", "middle", "upper"))
        lower, upper = _halves(parts["middle_trunk"].inertia((0, 0, mid), (0, 0, 0)), mid)
        chest_part, thorax_part = _halves(parts["upper_trunk"].inertia((0, 0, up), (0, 0, 0)), up)
        rows = (
            ("lumbar", low, lower, _ellipsoid((0.098 * g, 0.142 * g, 0.62 * mid), (0, 0, 0.2 * mid))),
            ("waist", mid / 2, upper, _ellipsoid((0.104 * g, 0.146 * g, 0.62 * mid), (0, 0, 0.3 * mid))),
            ("chest", mid / 2, chest_part, _ellipsoid((0.112 * g, 0.158 * g, 0.58 * up), (0, 0, 0.32 * up))),
            ("thorax", up / 2, thorax_part, _ellipsoid((0.100 * g, 0.165 * g, 0.50 * up), (0, 0, 0.02 * up))),
        )
        body = pelvis
        for name, height, inertia, shape in rows:
            body = self._joint(body, name, BODY[name], (0, 0, height)).body(name, inertia, [shape])
        whole, e = parts["head"].inertia((0, 0, self.head), (0, 0, 0)), self.head
        neck_at, head_at = 0.12 * e, 0.38 * e  # center of the neck, joint of the head
        neck_part, head_part = _split(whole, NECK_SHARE, (0, 0, neck_at - whole.center[2]))
        neck = self._joint(body, "neck", BODY["neck"], (0, 0, up / 2)).body(
            "neck", neck_part, [_between((0, 0, -0.02 * e), (0.02 * e, 0, head_at), 0.052 * g)]
        )
        radius = 0.5 * (e - 0.24 * e)
        self._joint(neck, "head", BODY["head"], (0, 0, head_at)).body(
            "head",
            head_part.moved(Placement(position=frozen([0, 0, -head_at]))),
            [
                _ellipsoid((0.80 * radius, 0.66 * radius, radius), (0.10 * radius, 0, e - head_at - radius)),
                _ellipsoid(
                    (0.18 * radius, 0.12 * radius, 0.2 * radius),
                    (0.86 * radius, 0, e - head_at - 1.1 * radius),
                ),
            ],
        )
        return body

    def _leg(self, pelvis: BodyHandle, side: str, sign: float) -> None:
        """Hip, knee, ankle and toes."""
        parts, g = self.parts, self.girth
        thigh, shank, foot = (parts[f"{side}_{x}"] for x in ("thigh", "shank", "foot"))
        t, s, f, ankle, k = thigh.length, shank.length, foot.length, parts.ankle, parts.scale
        hip = self._joint(pelvis, f"{side}_hip", LEG["hip"], (0, sign * parts.hip, 0), sign)
        body = hip.body(
            f"{side}_thigh",
            thigh.inertia((0, 0, 0), (0, 0, -t)),
            [
                _ellipsoid((0.082 * g, 0.080 * g, 0.60 * t), (0.004, 0.0, -0.42 * t)),
                _between((0, 0, -0.55 * t), (0, 0, -t), 0.052 * g),
            ],
        )
        body = self._joint(body, f"{side}_knee", LEG["knee"], (0, 0, -t), sign).body(
            f"{side}_shank",
            shank.inertia((0, 0, 0), (0, 0, -s)),
            [
                _ellipsoid((0.056 * g, 0.054 * g, 0.36 * s), (-0.010 * g, 0.0, -0.30 * s)),
                _between((0, 0, -0.05 * s), (0, 0, -0.98 * s), 0.036 * g),
            ],
        )
        back = -BEHIND_ANKLE * k
        height = -0.6 * ankle
        whole = foot.inertia((back, 0, height), (back + f, 0, height))
        ball, tip = (np.array([back + x * f, 0.0, -ankle]) for x in (BALL, TIP))
        toes_part, rear_part = _split(whole, TOES_SHARE, (0.5 * (ball + tip)[0] - whole.center[0], 0, 0))
        radius = 0.034 * k
        rear = self._joint(body, f"{side}_ankle", LEG["ankle"], (0, 0, -s), sign).body(
            f"{side}_foot",
            rear_part,
            [
                _ellipsoid((0.42 * f, 0.040 * k, 0.45 * ankle), (back + 0.42 * f, 0, -ankle + 0.45 * ankle)),
                _between((0.0, 0, -0.15 * ankle), (0.08 * f, 0, -0.45 * ankle), radius),
                _between((back + radius, 0, -ankle + radius), (0.1 * f, 0, -ankle + radius), radius),
            ],
        )
        rear.contact(f"{side}_heel", at=(back + HEEL * k, 0, -ankle))
        toes = self._joint(rear, f"{side}_toe", LEG["toe"], ball, sign).body(
            f"{side}_toes",
            toes_part.moved(Placement(position=frozen(-ball))),
            [
                _ellipsoid((0.5 * (f - BALL * f) + 0.02 * k, 0.043 * k, 0.016 * k), (0.13 * f, 0, 0.016 * k)),
                _ellipsoid((0.05 * k, 0.044 * k, 0.021 * k), (-0.01 * k, 0, 0.021 * k)),
            ],
        )
        half = sign * BALL_HALF_WIDTH * k
        toes.contact(f"{side}_ball_medial", at=(0, -half, 0)).contact(f"{side}_ball_lateral", at=(0, half, 0))
        toes.contact(f"{side}_toe_tip", at=tip - ball)

    def _arm(self, thorax: BodyHandle, side: str, sign: float) -> None:
        """Clavicle, shoulder, elbow and wrist."""
        parts, g = self.parts, self.girth
        upper, fore, hand = (parts[f"{side}_{x}"] for x in ("upper_arm", "forearm", "hand"))
        low, mid, up = (parts[f"{x}_trunk"].length for x in ("lower", "middle", "upper"))
        z = parts.shoulder_height - low - mid - up / 2
        inner, outer = 0.025 * parts.scale, parts.shoulder
        u, w, h = upper.length, fore.length, hand.length
        clavicle = self._joint(thorax, f"{side}_clavicle", ARM["clavicle"], (0, sign * inner, z), sign).body(
            f"{side}_clavicle",
            shapes=[
                _between((-0.01, sign * 0.03, 0.01), (0, sign * (outer - inner), 0), 0.052 * g),
            ],
        )
        reach = (0, sign * (outer - inner), 0)
        arm = self._joint(clavicle, f"{side}_shoulder", ARM["shoulder"], reach, sign).body(
            f"{side}_upper_arm",
            upper.inertia((0, 0, 0), (0, 0, -u)),
            [
                _ellipsoid((0.052 * g, 0.050 * g, 0.40 * u), (0, 0, -0.26 * u)),
                _between((0, 0, -0.3 * u), (0, 0, -u), 0.039 * g),
            ],
        )
        elbow = self._joint(arm, f"{side}_elbow", ARM["elbow"], (0, 0, -u), sign).body(
            f"{side}_forearm",
            fore.inertia((0, 0, 0), (0, 0, -w)),
            [
                _ellipsoid((0.042 * g, 0.040 * g, 0.42 * w), (0, 0, -0.30 * w)),
                _between((0, 0, -0.4 * w), (0, 0, -w), 0.027 * g),
            ],
        )
        self._joint(elbow, f"{side}_wrist", ARM["wrist"], (0, 0, -w), sign).body(
            f"{side}_hand",
            hand.inertia((0, 0, 0), (0, 0, -h)),
            [
                _ellipsoid((0.042 * g, 0.018 * g, 0.62 * h), (0, 0, -0.55 * h)),
                _ellipsoid((0.034 * g, 0.014 * g, 0.66 * h), (0.004, -sign * 0.006, -1.45 * h)),
                _between((0.03 * g, 0, -0.35 * h), (0.05 * g, -sign * 0.01, -0.95 * h), 0.011 * g),
            ],
        )

    def _pelvis_shapes(self, low: float) -> list[Shape]:
        g, half = self.girth, self.parts.hip
        seat = 0.085 * g
        return [
            _ellipsoid((0.108 * g, max(0.158 * g, half + 0.074 * g), 0.68 * low), (-0.004, 0, 0.34 * low)),
            *(_ellipsoid((seat, 0.9 * seat, seat), (-0.022 * g, y * half, -0.01 * g)) for y in (1.0, -1.0)),
        ]


def _split(whole: Inertia, share: float, offset: Any) -> tuple[Inertia, Inertia]:
    """Two bodies that are one together: the first has a share of the mass, its center off the common one.

    I = I_1 + I_2 + m_1 (d_1.d_1 - d_1 d_1^T) + m_2 (...), the rest of I shared like the mass. Centers are not
    further apart than the whole's extent along the offset leaves for both.
    """
    a = np.array(offset, dtype=np.float64)
    along = a / np.linalg.norm(a)
    spread = along @ (0.5 * np.trace(whole.moment) * np.eye(3) - whole.moment) @ along / whole.mass
    a *= min(1.0, float(np.sqrt(LARGEST_SPREAD * spread * (1.0 - share) / share / (a @ a))))
    b = -share / (1.0 - share) * a
    rest = whole.moment - sum(
        part * whole.mass * (d @ d * np.eye(3) - np.outer(d, d)) for part, d in ((share, a), (1.0 - share, b))
    )
    return tuple(  # type: ignore[return-value]
        Inertia(part * whole.mass, whole.center + d, part * rest)
        for part, d in ((share, a), (1.0 - share, b))
    )


def _halves(whole: Inertia, length: float) -> tuple[Inertia, Inertia]:
    """The lower and the upper half of a part of the trunk, each seen from the joint at its lower end."""
    lower, upper = _split(whole, 0.5, (0, 0, -length / 4))
    return lower, upper.moved(Placement(position=frozen([0, 0, -length / 2])))


def _ellipsoid(radii: Any, center: Any) -> Shape:
    return Shape("ellipsoid", np.array(radii, dtype=np.float64), Placement.at(center))


def _between(start: Any, end: Any, radius: float) -> Shape:
    """A capsule between two points."""
    a, b = np.array(start, dtype=np.float64), np.array(end, dtype=np.float64)
    length = float(np.linalg.norm(b - a))
    axis: Array = (b - a) / length
    return Shape(
        "capsule", np.array([radius, length]), Placement(frozen(rotation_to_axis(axis)), frozen((a + b) / 2))
    )

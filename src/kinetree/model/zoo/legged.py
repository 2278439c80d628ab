"""Legged robots of [Shah2013], chapters 6 and 7. Unless said otherwise x is forward, y to the left, z up.

The book gives lengths and masses; shapes, and where hips and feet sit, only in figures. Chosen throughout:
legs are slender rods that hang straight down at q = 0, and a trunk on a free joint stands with its center of
mass at the origin, with the coordinates x, y, z and the YXZ Euler angles. Robots that walk touch the ground
with their feet and, when they fall, with corners of the trunk and with their knees ([Shah2013], section D.2).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kinetree.model.builder import BodyHandle, Builder
from kinetree.model.inertia import Inertia
from kinetree.model.mechanism import Mechanism
from kinetree.model.zoo.arms import DOWN_Y

LEG, SOLE_LENGTH, SOLE_WIDTH = 0.5, 0.15, 0.1  # m: thigh or shank, and the plate that is a biped's foot
TRUNK = Inertia.box(5.0, (0.1, 0.1, 0.1))
SOLE = Inertia.box(0.2, (SOLE_LENGTH, SOLE_WIDTH, 0.0))
LIMB = Inertia.rod(1.0, end=(0.0, 0.0, -LEG))
LONG_TRUNK = Inertia.rod(4.0, start=(-0.5, 0.0, 0.0), end=(0.5, 0.0, 0.0))


def biped_fixed() -> Mechanism:
    """Biped in single support: the supporting foot is the ground; 12 degrees of freedom.

    [Shah2013], section 6.2.3, Table 6.7. From the supporting ankle (roll, pitch) over knee, hip, trunk, hip
    and knee to the swinging ankle. Open, chosen: thighs of 0.5 m (Table 6.7 has 0.6, section 7.2.2 has 0.5),
    trunk a cube of 0.1 m with the hips in its sides at +-0.05 m, feet plates of 0.15 m x 0.1 m with their
    center at the ankle, axis orders YXZ at the supporting and ZXY at the swinging hip.

    >>> import kinetree as kt
    >>> kt.zoo.biped_fixed()
    Mechanism('biped_fixed', 6 bodies, 12 degrees of freedom)
    """
    robot = Builder("biped_fixed")
    upward = Inertia.rod(1.0, end=(0.0, 0.0, LEG))
    shank = robot.world.universal("ankle_support", sequence="XY").body("shank_support", upward)
    thigh = shank.revolute("knee_support", axis="y", at=(0, 0, LEG)).body("thigh_support", upward)
    hip = thigh.spherical("hip_support", sequence="YXZ", at=(0, 0, LEG))
    trunk = hip.body("trunk", Inertia.box(5.0, (0.1, 0.1, 0.1), center=(0, 0.05, 0)))
    _biped_leg(trunk, "_swing", (0.0, 0.1, 0.0))
    return robot.build()


def planar_biped() -> Mechanism:
    """Planar biped with a floating trunk and six revolute joints about z.

    [Shah2013], section 7.2.1, Table 10.10, taken literally: links along x at q = 0, both hips at x = 0.25 m
    of the trunk, gravity along -y, the free joint with all six coordinates. Read as misprints: the length
    0.05 of link 5 (0.5) and the missing mass in the first inertia. Open: where the feet touch; chosen: both
    ends of the foot's rod, whose center the table puts at the ankle.

    >>> import kinetree as kt
    >>> kt.zoo.planar_biped()
    Mechanism('planar_biped', 7 bodies, 12 degrees of freedom)
    """
    robot = Builder("planar_biped", gravity=DOWN_Y)
    x, y = 0.5, 0.1
    moment = [5.0 / 12 * y**2, 5.0 / 12 * (x**2 + y**2), 5.0 / 12 * x**2]
    trunk = robot.world.free("base").body("trunk", Inertia(5.0, moment=moment))  # type: ignore[arg-type]
    limb = Inertia.rod(1.0, end=(LEG, 0.0, 0.0))
    sole = Inertia.rod(0.2, start=(-SOLE_LENGTH / 2, 0.0, 0.0), end=(SOLE_LENGTH / 2, 0.0, 0.0))
    thighs = []
    for leg in ("1", "2"):
        thigh = trunk.revolute("hip" + leg, at=(0.25, 0, 0)).body("thigh" + leg, limb)
        shank = thigh.revolute("knee" + leg, at=(LEG, 0, 0)).body("shank" + leg, limb)
        foot = shank.revolute("ankle" + leg, at=(LEG, 0, 0)).body("foot" + leg, sole)
        foot.contact("heel" + leg, at=(-SOLE_LENGTH / 2, 0, 0))
        foot.contact("toe" + leg, at=(SOLE_LENGTH / 2, 0, 0))
        thighs.append(thigh)
    _corners(trunk, [(x / 2, y / 2, 0.0), (x / 2, -y / 2, 0.0), (-x / 2, y / 2, 0.0), (-x / 2, -y / 2, 0.0)])
    _knees(thighs, (LEG, 0.0, 0.0))
    return robot.build()


def spatial_biped() -> Mechanism:
    """Biped with a floating trunk, spherical hips and universal ankles; 18 degrees of freedom.

    [Shah2013], section 7.2.2. Leg 1 is the left one. Open, chosen: trunk a cube of 0.1 m with the hips at the
    height of its center, axes ZXY at the hips and YX at the ankles, feet plates of 0.15 m x 0.1 m with
    their center at the ankle, whose four corners may touch the ground ([Shah2013], appendix D).

    >>> import kinetree as kt
    >>> kt.zoo.spatial_biped()
    Mechanism('spatial_biped', 7 bodies, 18 degrees of freedom)
    """
    robot = Builder("spatial_biped")
    trunk = robot.world.free("base").body("trunk", TRUNK)
    thighs = [_biped_leg(trunk, leg, (0.0, y, 0.0)) for leg, y in (("1", 0.05), ("2", -0.05))]
    half = (0.05, -0.05)
    _corners(trunk, [(x, y, z) for x in half for y in half for z in half])
    _knees(thighs, (0.0, 0.0, -LEG))
    return robot.build()


def quadruped() -> Mechanism:
    """Quadruped with a floating trunk, universal hips and revolute knees; 18 degrees of freedom.

    [Shah2013], section 7.3. Legs 1 to 4: front left, front right, rear left, rear right. Open, chosen: trunk
    a slender rod of 1 m along x with the hips at x = +-0.5 m and y = +-0.2 m, axes XY at the hips; the feet
    are points ([Shah2013], appendix D).

    >>> import kinetree as kt
    >>> kt.zoo.quadruped()
    Mechanism('quadruped', 9 bodies, 18 degrees of freedom)
    """
    robot = Builder("quadruped")
    trunk = robot.world.free("base").body("trunk", LONG_TRUNK)
    hips = [(0.5, 0.2), (0.5, -0.2), (-0.5, 0.2), (-0.5, -0.2)]
    thighs = [
        _point_foot_leg(trunk, str(leg), (x, y, 0.0), "universal", sequence="XY")
        for leg, (x, y) in enumerate(hips, start=1)
    ]
    _corners(trunk, [(x, y, 0.0) for x, y in hips])
    _knees(thighs, (0.0, 0.0, -0.3))
    return robot.build()


def hexapod() -> Mechanism:
    """Hexapod with a floating trunk and revolute hips and knees; 18 degrees of freedom.

    [Shah2013], section 7.4. Legs 1 to 6 in pairs left, right from front to rear. Open, chosen: trunk a
    slender rod of 1 m along x with the hips at x = 0.5, 0, -0.5 m and y = +-0.2 m, all joints about y; the
    feet are points ([Shah2013], appendix D).

    >>> import kinetree as kt
    >>> kt.zoo.hexapod()
    Mechanism('hexapod', 13 bodies, 18 degrees of freedom)
    """
    robot = Builder("hexapod")
    trunk = robot.world.free("base").body("trunk", LONG_TRUNK)
    hips = [(x, y) for x in (0.5, 0.0, -0.5) for y in (0.2, -0.2)]
    thighs = [
        _point_foot_leg(trunk, str(leg), (x, y, 0.0), "revolute", axis="y")
        for leg, (x, y) in enumerate(hips, start=1)
    ]
    _corners(trunk, [(x, y, 0.0) for x, y in hips if x])
    _knees(thighs, (0.0, 0.0, -0.3))
    return robot.build()


def _corners(trunk: BodyHandle, places: list[tuple[float, float, float]]) -> None:
    """Points of the trunk that touch the ground when the robot has fallen."""
    for k, place in enumerate(places, start=1):
        trunk.contact(f"trunk{k}", at=place)


def _knees(thighs: list[BodyHandle], place: tuple[float, float, float]) -> None:
    """The far ends of the thighs, which may touch the ground, too."""
    for k, thigh in enumerate(thighs, start=1):
        thigh.contact(f"knee{k}", at=place)


def _biped_leg(trunk: BodyHandle, leg: str, hip: tuple[float, float, float]) -> BodyHandle:
    """Hip (yaw, roll, pitch), knee, ankle (pitch, roll) and a plate that touches with its four corners."""
    thigh = trunk.spherical("hip" + leg, sequence="ZXY", at=hip).body("thigh" + leg, LIMB)
    shank = thigh.revolute("knee" + leg, axis="y", at=(0, 0, -LEG)).body("shank" + leg, LIMB)
    foot = shank.universal("ankle" + leg, sequence="YX", at=(0, 0, -LEG)).body("foot" + leg, SOLE)
    for end, x in (("toe", SOLE_LENGTH / 2), ("heel", -SOLE_LENGTH / 2)):
        for side, y in (("left", SOLE_WIDTH / 2), ("right", -SOLE_WIDTH / 2)):
            foot.contact(f"{end}{leg}_{side}", at=(x, y, 0.0))
    return thigh


def _point_foot_leg(
    trunk: BodyHandle, leg: str, hip: tuple[float, float, float], kind: str, **axes: Any
) -> BodyHandle:
    """Thigh and shank of 0.3 m and 1 kg each; the end of the shank is the foot."""
    limb = Inertia.rod(1.0, end=(0.0, 0.0, -0.3))
    thigh = trunk.joint("hip" + leg, kind, at=hip, **axes).body("thigh" + leg, limb)
    shank = thigh.revolute("knee" + leg, axis="y", at=(0, 0, -0.3)).body("shank" + leg, limb)
    shank.contact("foot" + leg, at=(0, 0, -0.3))
    return thigh


def humanoid() -> Mechanism:
    """A 55-DOF tree of the shape of a digital human, for studies of cost and growth.

    Free pelvis; three spherical spine joints, neck and head; clavicle (2), shoulder (3), elbow (2) and
    wrist (2) in each arm; hip (3), knee (2), ankle (2) and toe (1) in each leg. [Barman2020] chapter V, which
    has a human of 55 degrees of freedom, gives no link data: lengths and masses are round numbers of an
    adult.

    >>> import kinetree as kt
    >>> kt.zoo.humanoid()
    Mechanism('humanoid', 22 bodies, 55 degrees of freedom)
    """
    build = Builder("humanoid")

    def lump(mass: float, end: tuple[float, float, float]) -> Inertia:
        """A segment as a box around the line to the next joint."""
        size = 0.06 + np.abs(np.array(end))
        return Inertia.box(mass, size, 0.5 * np.array(end))

    pelvis = build.world.free("root").body("pelvis", lump(11.0, (0, 0, 0.1)))
    spine = pelvis
    for name, mass, height in (("lumbar", 5.0, 0.10), ("waist", 6.0, 0.10), ("chest", 8.0, 0.12)):
        joint = spine.spherical(f"{name}_joint", at=(-0.02, 0, height))
        spine = joint.body(name, lump(mass, (0.02, 0, height)))
    neck = spine.spherical("neck_joint", at=(0, 0, 0.2)).body("neck", lump(1.5, (0, 0, 0.1)))
    neck.spherical("head_joint", at=(0, 0, 0.1)).body("head", lump(4.5, (0, 0, 0.2)))
    for side, y in (("left", 1.0), ("right", -1.0)):
        clavicle = spine.universal(f"{side}_clavicle_joint", at=(0.02, 0.02 * y, 0.17), sequence="ZX")
        shoulder = clavicle.body(f"{side}_clavicle", lump(0.5, (0, 0.16 * y, 0)))
        upper = shoulder.spherical(f"{side}_shoulder", at=(0, 0.16 * y, 0), sequence="XYZ")
        elbow = upper.body(f"{side}_upper_arm", lump(2.0, (0, 0, -0.28)))
        fore = elbow.universal(f"{side}_elbow", at=(0, 0, -0.28), sequence="YZ")
        wrist = fore.body(f"{side}_forearm", lump(1.2, (0, 0, -0.25)))
        hand = wrist.universal(f"{side}_wrist", at=(0, 0, -0.25), sequence="YX")
        hand.body(f"{side}_hand", lump(0.45, (0, 0, -0.12)))
    for side, y in (("left", 1.0), ("right", -1.0)):
        hip = pelvis.spherical(f"{side}_hip", at=(0, 0.09 * y, -0.06))
        thigh = hip.body(f"{side}_thigh", lump(8.0, (0, 0, -0.42)))
        knee = thigh.universal(f"{side}_knee", at=(0, 0, -0.42), sequence="YZ")
        shank = knee.body(f"{side}_shank", lump(3.3, (0, 0, -0.41)))
        ankle = shank.universal(f"{side}_ankle", at=(0, 0, -0.41), sequence="YX")
        foot = ankle.body(f"{side}_foot", lump(0.9, (0.14, 0, -0.06)))
        foot.contact(f"{side}_heel", at=(-0.05, 0, -0.06))
        toes = foot.revolute(f"{side}_toe_joint", at=(0.14, 0, -0.06), axis="y")
        toes.body(f"{side}_toes", lump(0.15, (0.06, 0, 0))).contact(f"{side}_toe", at=(0.06, 0, 0))
    return build.build()

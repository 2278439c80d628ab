"""Legged robots of 004, chapters 6 and 7. Unless said otherwise x is forward, y to the left, z up.

The book gives lengths and masses; shapes, and where hips and feet sit, only in figures. Chosen throughout:
legs are slender rods that hang straight down at q = 0, and a trunk on a free joint stands with its centre of
mass at the origin, with the coordinates x, y, z and the YXZ Euler angles.
"""

from __future__ import annotations

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

    004, section 6.2.3, Table 6.7. From the supporting ankle (roll, pitch) over knee, hip, trunk, hip and
    knee to the swinging ankle. Open, chosen: thighs of 0.5 m (Table 6.7 has 0.6, section 7.2.2 has 0.5),
    trunk a cube of 0.1 m with the hips in its sides at +-0.05 m, feet plates of 0.15 m x 0.1 m with their
    centre at the ankle, axis orders YXZ at the supporting and ZXY at the swinging hip.
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

    004, section 7.2.1, Table 10.10, taken literally: links along x at q = 0, both hips at x = 0.25 m of the
    trunk, gravity along -y, the free joint with all six coordinates. Read as misprints: the length 0.05 of
    link 5 (0.5) and the missing mass in the first inertia. Open: where the feet touch; chosen: both ends
    of the foot's rod, whose centre the table puts at the ankle.
    """
    robot = Builder("planar_biped", gravity=DOWN_Y)
    x, y = 0.5, 0.1
    moment = [5.0 / 12 * y**2, 5.0 / 12 * (x**2 + y**2), 5.0 / 12 * x**2]
    trunk = robot.world.free("base").body("trunk", Inertia(5.0, moment=moment))  # type: ignore[arg-type]
    limb = Inertia.rod(1.0, end=(LEG, 0.0, 0.0))
    sole = Inertia.rod(0.2, start=(-SOLE_LENGTH / 2, 0.0, 0.0), end=(SOLE_LENGTH / 2, 0.0, 0.0))
    for leg in ("1", "2"):
        thigh = trunk.revolute("hip" + leg, at=(0.25, 0, 0)).body("thigh" + leg, limb)
        shank = thigh.revolute("knee" + leg, at=(LEG, 0, 0)).body("shank" + leg, limb)
        foot = shank.revolute("ankle" + leg, at=(LEG, 0, 0)).body("foot" + leg, sole)
        foot.contact("heel" + leg, at=(-SOLE_LENGTH / 2, 0, 0))
        foot.contact("toe" + leg, at=(SOLE_LENGTH / 2, 0, 0))
    return robot.build()


def spatial_biped() -> Mechanism:
    """Biped with a floating trunk, spherical hips and universal ankles; 18 degrees of freedom.

    004, section 7.2.2. Leg 1 is the left one. Open, chosen: trunk a cube of 0.1 m with the hips at the
    height of its centre, axes ZXY at the hips and YX at the ankles, feet plates of 0.15 m x 0.1 m with
    their centre at the ankle, whose four corners may touch the ground (004, appendix D).
    """
    robot = Builder("spatial_biped")
    trunk = robot.world.free("base").body("trunk", TRUNK)
    _biped_leg(trunk, "1", (0.0, 0.05, 0.0))
    _biped_leg(trunk, "2", (0.0, -0.05, 0.0))
    return robot.build()


def quadruped() -> Mechanism:
    """Quadruped with a floating trunk, universal hips and revolute knees; 18 degrees of freedom.

    004, section 7.3. Legs 1 to 4: front left, front right, rear left, rear right. Open, chosen: trunk a
    slender rod of 1 m along x with the hips at x = +-0.5 m and y = +-0.2 m, axes XY at the hips; the feet
    are points (004, appendix D).
    """
    robot = Builder("quadruped")
    trunk = robot.world.free("base").body("trunk", LONG_TRUNK)
    for leg, (x, y) in enumerate([(0.5, 0.2), (0.5, -0.2), (-0.5, 0.2), (-0.5, -0.2)], start=1):
        _point_foot_leg(trunk, str(leg), (x, y, 0.0), "universal", sequence="XY")
    return robot.build()


def hexapod() -> Mechanism:
    """Hexapod with a floating trunk and revolute hips and knees; 18 degrees of freedom.

    004, section 7.4. Legs 1 to 6 in pairs left, right from front to rear. Open, chosen: trunk a slender rod
    of 1 m along x with the hips at x = 0.5, 0, -0.5 m and y = +-0.2 m, all joints about y; the feet are
    points (004, appendix D).
    """
    robot = Builder("hexapod")
    trunk = robot.world.free("base").body("trunk", LONG_TRUNK)
    hips = [(x, y) for x in (0.5, 0.0, -0.5) for y in (0.2, -0.2)]
    for leg, (x, y) in enumerate(hips, start=1):
        _point_foot_leg(trunk, str(leg), (x, y, 0.0), "revolute", axis="y")
    return robot.build()


def _biped_leg(trunk: BodyHandle, leg: str, hip: tuple[float, float, float]) -> None:
    """Hip (yaw, roll, pitch), knee, ankle (pitch, roll) and a plate that touches with its four corners."""
    thigh = trunk.spherical("hip" + leg, sequence="ZXY", at=hip).body("thigh" + leg, LIMB)
    shank = thigh.revolute("knee" + leg, axis="y", at=(0, 0, -LEG)).body("shank" + leg, LIMB)
    foot = shank.universal("ankle" + leg, sequence="YX", at=(0, 0, -LEG)).body("foot" + leg, SOLE)
    for end, x in (("toe", SOLE_LENGTH / 2), ("heel", -SOLE_LENGTH / 2)):
        for side, y in (("left", SOLE_WIDTH / 2), ("right", -SOLE_WIDTH / 2)):
            foot.contact(f"{end}{leg}_{side}", at=(x, y, 0.0))


def _point_foot_leg(
    trunk: BodyHandle, leg: str, hip: tuple[float, float, float], kind: str, **axes: str
) -> None:
    """Thigh and shank of 0.3 m and 1 kg each; the end of the shank is the foot."""
    limb = Inertia.rod(1.0, end=(0.0, 0.0, -0.3))
    thigh = trunk.joint("hip" + leg, kind, at=hip, **axes).body("thigh" + leg, limb)
    shank = thigh.revolute("knee" + leg, axis="y", at=(0, 0, -0.3)).body("shank" + leg, limb)
    shank.contact("foot" + leg, at=(0, 0, -0.3))

"""Robot arms and a gripper of the documents: trees on a fixed base."""

from __future__ import annotations

from dataclasses import replace
from math import pi
from typing import Any

from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, frozen, vector
from kinetree.algebra.placement import Placement
from kinetree.errors import InputError, unknown_name
from kinetree.model.builder import Builder
from kinetree.model.dh import from_dh
from kinetree.model.inertia import Inertia
from kinetree.model.mechanism import EARTH, Mechanism
from kinetree.model.muscle import Muscle, PathPoint, PathWrap, Wrap

WEIGHTLESS = (0.0, 0.0, 0.0)
DOWN_Y = (0.0, -9.81, 0.0)
DRIVE = {"effort_limit": 10.0}  # N m, and N for the slider


def two_link(
    mass: ArrayLike = (0.5, 0.5),
    length: ArrayLike = (0.4, 0.4),
    center: ArrayLike | None = None,
    inertia: ArrayLike = (0.1, 0.1),
    gravity: ArrayLike = WEIGHTLESS,
) -> Mechanism:
    """Planar arm with two revolute joints about z, for minimum-time and lifting motions.

    [Barman2020], section 4.1, Tables 4.1 and 4.2; [Xiang2009], Tables 1 and 2. ``center`` is the distance of
    the center of mass from the joint (default: half the length), ``inertia`` the moment about it; drives give
    +-10 N m. Gravity is zero in the minimum-time problems; lifting ([Xiang2009], section 6.4) has (0,
    -9.8062, 0). Open: moments about x and y, which the plane does not feel; chosen equal to that about z.

    >>> import kinetree as kt
    >>> kt.zoo.two_link()
    Mechanism('two_link', 2 bodies, 2 degrees of freedom)
    """
    m, a, J = _pair(mass, "mass"), _pair(length, "length"), _pair(inertia, "inertia")
    c = a / 2 if center is None else _pair(center, "center")
    rows = [
        {"a": a[k], "mass": m[k], "center": (c[k] - a[k], 0, 0), "inertia": [J[k]] * 3, **DRIVE}
        for k in range(2)
    ]
    return from_dh(rows, "classic", "two_link", gravity)


def two_link_prismatic(
    mass: ArrayLike = (0.5, 0.5),
    length: ArrayLike = (0.4, 0.4),
    inertia: ArrayLike = (0.1, 0.1),
    theta2: float = 0.0,
    gravity: ArrayLike = WEIGHTLESS,
) -> Mechanism:
    """Planar arm that slides along z of the world, then turns.

    [Barman2020], section 4.2, Tables 4.3 and 4.4; motion in a horizontal plane, drives give +-10 N and +-10 N
    m. Centers of mass lie half a length behind the link's end. Open: whether the angle of Table 4.3 is q2 or
    pi/2 + q2; chosen: q2, and ``theta2`` adds a constant. The sliding coordinate is d1 itself. Moments
    about x and y: chosen equal to that about z.

    >>> import kinetree as kt
    >>> kt.zoo.two_link_prismatic()
    Mechanism('two_link_prismatic', 2 bodies, 2 degrees of freedom)
    """
    m, a, J = _pair(mass, "mass"), _pair(length, "length"), _pair(inertia, "inertia")
    slider = {"joint": "prismatic", "theta": pi / 2, "alpha": pi / 2, "center": (0, -a[0] / 2, 0)}
    turner = {"theta": theta2, "a": a[1], "center": (-a[1] / 2, 0, 0)}
    rows = [
        {**slider, "mass": m[0], "inertia": [J[0]] * 3, **DRIVE},
        {**turner, "mass": m[1], "inertia": [J[1]] * 3, **DRIVE},
    ]
    return from_dh(rows, "classic", "two_link_prismatic", gravity)


def two_link_point_masses(
    mass: ArrayLike = (1.0, 1.0), length: ArrayLike = (1.0, 1.0), gravity: ArrayLike = DOWN_Y
) -> Mechanism:
    """Planar arm of two massless rods with a point mass at each end.

    [NCTU], section 6.1; joints about z, x along the rods, gravity along -y. The table of effective inertias
    has all masses and lengths equal to 1. Open: g, chosen 9.81 m/s^2.

    >>> import kinetree as kt
    >>> kt.zoo.two_link_point_masses()
    Mechanism('two_link_point_masses', 2 bodies, 2 degrees of freedom)
    """
    m, a = _pair(mass, "mass"), _pair(length, "length")
    rows = [{"a": a[k], "mass": m[k]} for k in range(2)]
    return from_dh(rows, "classic", "two_link_point_masses", gravity)


def gripper() -> Mechanism:
    """Planar tree with four revolute joints: a palm that carries a finger of two links and one of one link.

    [Shah2013], section 6.2.1, Table 10.1; slender rods along x, gravity along -y. The second finger
    (link 4) stands at x = 0.05 m of link 1, as Table 10.1 has it.

    >>> import kinetree as kt
    >>> kt.zoo.gripper()
    Mechanism('gripper', 4 bodies, 4 degrees of freedom)
    """
    parent, a, length, mass = (
        ("world", 0, 1, 0),
        (0, 0.1, 0.05, 0.05),
        (0.1, 0.05, 0.05, 0.05),
        (0.4, 0.2, 0.2, 0.2),
    )
    rows = []
    for k in range(4):
        across = mass[k] * length[k] ** 2 / 12
        row = {"parent": parent[k], "a": a[k], "mass": mass[k]}
        rows.append({**row, "center": (length[k] / 2, 0, 0), "inertia": (0, across, across)})
    return from_dh(rows, "modified", "gripper", DOWN_Y)


def kuka_kr5(com: str = "origin") -> Mechanism:
    """Industrial robot KUKA KR5 Arc with six revolute joints.

    [Shah2013], section 6.2.2, Table 6.6; gravity along -z. Open: the centers of mass; ``com`` puts them at
    the "origin" of the link frames or at the "midpoint" between a frame's origin and the next one's. The
    inertia is read as about the center of mass in link axes. That of link 6 violates the triangle
    inequality as printed and is kept.

    >>> import kinetree as kt
    >>> kt.zoo.kuka_kr5()
    Mechanism('kuka_kr5', 6 bodies, 6 degrees of freedom)
    """
    if com not in ("origin", "midpoint"):
        raise InputError(unknown_name("com", com, ("origin", "midpoint")).after("kuka_kr5: "))
    right = pi / 2
    table = (  # a, alpha, b, mass, inertia
        (0.0, 0.0, 0.4, 16.038, (0.1769, 0.2665, 0.2622)),
        (0.18, right, 0.0, 7.988, (0.2716, 0.2768, 0.0218)),
        (0.6, 0.0, 0.0, 12.973, (0.3889, 0.3765, 0.1041)),
        (0.12, right, 0.62, 2.051, (0.0047, 0.0101, 0.0121)),
        (0.0, -right, 0.0, 0.811, (0.0007, 0.0017, 0.0018)),
        (0.0, right, 0.0, 0.008, (3e-6, 1e-6, 1e-6)),
    )
    rows: list[dict[str, Any]] = [
        dict(zip(("a", "alpha", "b", "mass", "inertia"), row, strict=True)) for row in table
    ]
    rows[5]["allow_unphysical"] = True
    if com == "midpoint":
        for row, following in zip(rows, from_dh(rows).links[1:], strict=False):
            row["center"] = following.placement.position / 2
    return from_dh(rows, "modified", "kuka_kr5")


def puma(gravity: ArrayLike = EARTH) -> Mechanism:
    """PUMA robot with six revolute joints: bent slender rods, and a wrist that is only hub inertia.

    [Mohan2007], Table 2 and eq. 17; classic DH rows, each body frame at O_i turned by theta_i. Links 4 to 6
    have no mass but a motor's inertia about their axis. Open: the direction of gravity; chosen along -z.

    >>> import kinetree as kt
    >>> kt.zoo.puma()
    Mechanism('puma', 6 bodies, 6 degrees of freedom)
    """
    right = pi / 2
    a, b = (0, 0.432, 0.02, 0, 0, 0), (0.2, 0.149, 0, 0.432, 0, 0.056)
    alpha = (-right, 0, right, -right, right, 0)
    mass, hub = (10.521, 15.7612, 8.767, 0, 0, 0), (0, 0, 0, 0.181, 0.0735, 0.0141)
    geometry = from_dh(
        [{"a": a[k], "b": b[k], "alpha": alpha[k]} for k in range(6)], "classic", "puma", gravity
    )
    links = [
        replace(link, body=replace(link.body, inertia=Inertia.bent_rod(mass[k], a[k], b[k], hub=hub[k])))
        for k, link in enumerate(geometry.links)
    ]
    return replace(geometry, links=tuple(links))


def _pair(values: ArrayLike, what: str) -> Array:
    """One number per link."""
    return vector(values, 2, f"{what} of the two links")


def ur5() -> Mechanism:
    """UR5 by Universal Robots: six revolute joints, 0.85 m of reach, with limits and frames of its URDF.

    Masses, centers, inertias, places of joints and limits as in the URDF ``ur5_robot`` of the package
    example-robot-data 6.0, the ROS-Industrial description of the arm. Open: armature and friction, which it
    does not have.

    >>> import kinetree as kt
    >>> kt.zoo.ur5()
    Mechanism('ur5', 8 bodies, 6 degrees of freedom)
    """
    rows: tuple[tuple[Any, ...], ...] = (  # body, joint, axis, at, tilt, mass, center z, inertia, limits
        ("shoulder_link", "shoulder_pan_joint", "z", (0, 0, 0.089159), 0, 3.7, 0.0, (0.010267495893, 0.00666),
         150.0, 3.15),
        ("upper_arm_link", "shoulder_lift_joint", "y", (0, 0.13585, 0), pi / 2, 8.393, 0.28,
         (0.22689067591, 0.0151074), 150.0, 3.15),
        ("forearm_link", "elbow_joint", "y", (0, -0.1197, 0.425), 0, 2.275, 0.25, (0.049443313556, 0.004095),
         150.0, 3.15),
        ("wrist_1_link", "wrist_1_joint", "y", (0, 0, 0.39225), pi / 2, 1.219, 0.0, (0.111172755531, 0.21942),
         28.0, 3.2),
        ("wrist_2_link", "wrist_2_joint", "z", (0, 0.093, 0), 0, 1.219, 0.0, (0.111172755531, 0.21942),
         28.0, 3.2),
        ("wrist_3_link", "wrist_3_joint", "y", (0, 0, 0.09465), 0, 0.1879, 0.0, (0.0171364731454, 0.033822),
         28.0, 3.2),
    )  # fmt: skip
    build = Builder("ur5")
    base = Inertia(4.0, moment=frozen((0.00443333156, 0.00443333156, 0.0072)))
    place = build.world.fixed("world_joint").body("base_link", base)
    for body, joint, axis, at, tilt, mass, center, (across, along), effort, speed in rows:
        turn = pi if joint == "elbow_joint" else 2 * pi
        limits = {"lower": -turn, "upper": turn, "effort_limit": effort, "velocity_limit": speed}
        inertia = Inertia(mass, frozen((0.0, 0.0, center)), frozen((across, across, along)))
        place = place.revolute(joint, axis=axis, at=at, rpy=(0, tilt, 0), **limits).body(body, inertia)
    place.fixed("tool0_joint", at=(0, 0.0823, 0), rpy=(-pi / 2, 0, 0)).body("tool0")
    return build.build()


def muscle_arm() -> Mechanism:
    """Planar arm with six muscles: flexors and extensors of shoulder and elbow, two of them over both.

    Links of 0.3 m, 2.1 and 1.65 kg; the elbow's extensors go around a cylinder. Round numbers of an adult's
    size, for examples; no one's measurements. q = 0 is the arm along x, gravity along -y.

    >>> import kinetree as kt
    >>> [muscle.name for muscle in kt.zoo.muscle_arm().muscles][:2]
    ['deltoid', 'latissimus']
    """
    build = Builder("muscle_arm", gravity=(0.0, -9.81, 0.0))
    at = (0.3, 0.0, 0.0)
    arm, fore = Inertia.rod(2.1, end=frozen(at)), Inertia.rod(1.65, end=frozen(at))
    upper = build.world.revolute("shoulder", axis="z", lower=-pi / 2, upper=pi).body("upper", arm)
    upper.revolute("elbow", axis="z", at=at, lower=0.0, upper=2.6).body("fore", fore)
    build.wrap(Wrap("olecranon", "upper", "cylinder", Placement.at(at), (0.02,), side="-y"))
    front, back = (-0.02, 0.05, 0.0), (-0.02, -0.05, 0.0)
    over_elbow = ("fore", (-0.025, -0.02, 0.0))
    rows: tuple[tuple[Any, ...], ...] = (  # name, force, optimal length, slack length, wraps, points
        ("deltoid", 1000.0, 0.11, 0.06, False, ("world", front), ("upper", (0.14, 0.02, 0.0))),
        ("latissimus", 1000.0, 0.1, 0.05, False, ("world", back), ("upper", (0.12, -0.02, 0.0))),
        ("brachialis", 900.0, 0.11, 0.05, False,
         ("upper", (0.15, 0.015, 0.0)), ("fore", (0.04, 0.02, 0.0))),
        ("triceps short", 900.0, 0.09, 0.09, True, ("upper", (0.12, -0.02, 0.0)), over_elbow),
        ("biceps", 700.0, 0.15, 0.19, False,
         ("world", (0.0, 0.04, 0.0)), ("upper", (0.1, 0.03, 0.0)), ("fore", (0.05, 0.015, 0.0))),
        ("triceps long", 700.0, 0.13, 0.18, True,
         ("world", (0.0, -0.04, 0.0)), ("upper", (0.1, -0.03, 0.0)), over_elbow),
    )  # fmt: skip
    for name, force, optimal, slack, wraps, *points in rows:
        path = tuple(PathPoint(body, point) for body, point in points)
        use = (PathWrap("olecranon", len(path) - 2, len(path) - 1),) if wraps else ()
        given = {"max_isometric_force": force, "optimal_fiber_length": optimal, "tendon_slack_length": slack}
        build.muscle(Muscle(name, path, use, **given))
    return build.build()

"""How much torque human joints can give: constant, or by angle and velocity (Anderson et al. 2007)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, finite, frozen, number, numbers
from kinetree.errors import InputError, expect, must_be, texts, unknown_name
from kinetree.model.human.joints import ARM, BODY, GRAVITY, LEG, REFERENCE_SIZE, WEAKER
from kinetree.model.human.segments import SIDES, checked_sex, checked_size

AGES = ("18-25", "55-65", ">65")
# c1 ... c6 by joint, sex and age, of the muscles that extend it (torque < 0), then of those that flex it: D.
# E. Anderson, M. L. Madigan, M. A. Nussbaum (2007), Maximum voluntary joint torque as a function of joint
# angle and angular velocity, J. Biomech. 40, 3105-3113; the figures as they are coded in RBDL (zlib license)
_C = {
    ("hip", "male"): (
        ((0.161, 0.958, 0.932, 1.578, 3.190, 0.242), (0.113, 0.738, -0.214, 2.095, 4.267, 0.218)),
        ((0.171, 0.922, 1.176, 1.601, 3.236, 0.320), (0.107, 0.712, -0.192, 2.038, 4.145, 0.206)),
        ((0.144, 0.896, 1.125, 1.561, 3.152, 0.477), (0.101, 0.762, -0.269, 1.875, 3.819, 0.296)),
    ),
    ("hip", "female"): (
        ((0.181, 0.697, 1.242, 1.567, 3.164, 0.164), (0.127, 0.650, -0.350, 2.136, 4.349, 0.156)),
        ((0.140, 0.830, 1.241, 1.444, 2.919, 0.317), (0.091, 0.812, -0.196, 2.145, 4.366, 0.186)),
        ((0.138, 0.707, 1.542, 1.613, 3.256, 0.360), (0.081, 0.625, -0.422, 2.084, 4.245, 0.196)),
    ),
    ("knee", "male"): (
        ((0.163, 1.258, 1.133, 1.517, 3.952, 0.095), (0.087, 0.869, 0.522, 2.008, 5.233, 0.304)),
        ((0.156, 1.225, 1.173, 1.518, 3.954, 0.266), (0.081, 0.986, 0.523, 1.830, 4.777, 0.230)),
        ((0.137, 1.310, 1.067, 1.141, 3.152, 0.386), (0.069, 0.838, 0.437, 1.718, 4.476, 0.414)),
    ),
    ("knee", "female"): (
        ((0.159, 1.187, 1.274, 1.393, 3.623, 0.173), (0.080, 0.873, 0.635, 1.698, 4.412, 0.175)),
        ((0.128, 1.286, 1.141, 1.332, 3.469, 0.233), (0.060, 0.967, 0.402, 1.693, 4.410, 0.349)),
        ((0.124, 1.347, 1.140, 1.066, 2.855, 0.464), (0.060, 0.897, 0.445, 1.121, 2.922, 0.389)),
    ),
    ("ankle", "male"): (
        ((0.095, 1.391, 0.408, 0.987, 3.558, 0.295), (0.033, 1.510, -0.187, 0.699, 1.940, 0.828)),
        ((0.114, 1.444, 0.551, 0.593, 2.128, 0.350), (0.028, 1.293, -0.284, 0.634, 1.759, 0.999)),
        ((0.106, 1.465, 0.498, 0.490, 1.767, 0.571), (0.029, 1.419, -0.174, 0.561, 1.558, 1.198)),
    ),
    ("ankle", "female"): (
        ((0.104, 1.399, 0.424, 0.862, 3.109, 0.189), (0.027, 1.079, -0.302, 0.864, 2.399, 0.771)),
        ((0.093, 1.504, 0.381, 0.860, 3.126, 0.349), (0.024, 1.308, -0.254, 0.596, 1.654, 1.006)),
        ((0.125, 1.299, 0.580, 0.587, 1.819, 0.348), (0.022, 1.096, -0.369, 0.458, 1.242, 1.401)),
    ),
}
MEASURED = {"hip.flexion": "hip", "knee": "knee", "ankle.flexion": "ankle"}
PLANTAR = 1.2  # of the plantar flexors: measured walking asks more of them than the dynamometer
FLOOR = 0.05  # least share of the isometric torque that remains at any angle and speed
ROUNDING = 0.02  # over which the floor is rounded off
SMOOTHING = 0.3  # rad/s, over which concentric goes over into eccentric
FASTEST = 1.4  # largest share in eccentric work


@dataclass(frozen=True, eq=False)
class TorqueBounds:
    """Least and largest torques ``lower``, ``upper`` (..., n) in N m, and how they change.

    ``lower_slopes``, ``upper_slopes`` (..., 2, n) are derivatives by angle and by velocity;
    ``lower_bends``, ``upper_bends`` (..., 3, n) the second ones: by angle twice, by both, by velocity twice.

    >>> import kinetree as kt
    >>> knee = kt.human.strength(["left_knee"], "male", 1.75, 75.0).limits([1.1], [0.0])
    >>> knee.lower.shape, knee.upper_slopes.shape
    ((1,), (2, 1))
    """

    lower: Array
    upper: Array
    lower_slopes: Array
    upper_slopes: Array
    lower_bends: Array
    upper_bends: Array


@dataclass(frozen=True, eq=False)
class Strength:
    """Largest torques of joints by angle and velocity: T = W H c1 cos(c2 (q - c3)) v(w).

    W H is body weight times stature. v is 1 at rest; (2 c4 c5 + w (c5 - 3 c4)) / (2 c4 c5 + w (2 c5 - 4 c4))
    where the muscles shorten at w > 0; and where they lengthen, the same of -w, times (1 - c6 w) (Anderson et
    al. 2007, eq. 1). Both factors are rounded off towards a floor of 5 %, and at w = 0 over 0.3 rad/s, so
    that all derivatives exist; work of lengthening muscles is at most 1.4 times the isometric. Joints without
    measured figures have constant limits. ``names`` are the degrees of freedom, in order.

    >>> import kinetree as kt, numpy as np
    >>> strong = kt.human.strength(["left_knee"], "male", 1.75, 75.0)
    >>> at = strong.limits(np.array([1.1]), np.array([0.0]))
    >>> at.lower.round(0), at.upper.round(0)
    (array([-210.]), array([98.]))
    """

    names: tuple[str, ...]
    isometric: Array  # (2, n): of extensors (lower) and of flexors (upper), N m, positive
    coefficients: Array  # (2, n, 5): c2 ... c6; c2 = 0 where torque is constant

    def limits(self, q: ArrayLike, qd: ArrayLike) -> TorqueBounds:
        """Limits of the joints at angles ``q`` and velocities ``qd``, (..., n)."""
        n = len(self.names)
        angles, rates = (finite(numbers(x, what), what) for x, what in ((q, "q"), (qd, "qd")))
        for x, what in ((angles, "q"), (rates, "qd")):
            if x.ndim == 0 or x.shape[-1] != n:
                raise InputError(
                    f"{what} must have shape (..., {n}), one for each joint, got shape {x.shape}"
                )
        found = [self._side(k, angles, rates) for k in (0, 1)]
        (lower, ls, lb), (upper, us, ub) = found
        return TorqueBounds(-lower, upper, -ls, us, -lb, ub)

    def _side(self, side: int, q: Array, qd: Array) -> tuple[Array, Array, Array]:
        """Torque of extensors (0) or flexors (1), and its derivatives."""
        c2, c3, c4, c5, c6 = np.moveaxis(self.coefficients[side], -1, 0)
        most = self.isometric[side]
        varies = c2 > 0.0
        x = c2 * (q - c3)
        a, da, dda = _floored(np.cos(x), -c2 * np.sin(x), -c2 * c2 * np.cos(x))
        sign = -1.0 if side == 0 else 1.0  # extensors shorten while the angle decreases
        v, dv, ddv = _by_velocity(sign * qd, c4, c5, c6)
        dv = sign * dv
        a, v = np.where(varies, a, 1.0), np.where(varies, v, 1.0)
        da, dda, dv, ddv = (np.where(varies, y, 0.0) for y in (da, dda, dv, ddv))
        slopes = np.stack(np.broadcast_arrays(most * da * v, most * a * dv), axis=-2)
        bends = np.stack(np.broadcast_arrays(most * dda * v, most * da * dv, most * a * ddv), axis=-2)
        return most * a * v, slopes, bends


def strength(
    names: Sequence[str],
    sex: str = "male",
    height: float = 1.75,
    mass: float = 75.0,
    age: str = "18-25",
    constant: Sequence[str] = (),
) -> Strength:
    """Strength of a human's degrees of freedom; see :class:`kinetree.human.Strength`.

    ``names`` such as ``mechanism.joint_names[6:]``; hip and ankle flexion and the knee depend on angle and
    velocity, except those named in ``constant``. ``age`` is "18-25", "55-65" or ">65".

    >>> import kinetree as kt
    >>> person = kt.zoo.human()
    >>> kt.human.strength(person.joint_names[6:]).isometric.shape
    (2, 49)
    """
    if age not in AGES:
        raise InputError(unknown_name("age", age, AGES))
    torques = constant_torques(sex, height, mass, age)
    names, constant = texts(names, "names"), texts(constant, "constant")
    for name in [*names, *constant]:
        if name not in torques:
            raise InputError(unknown_name("joint of a human", name, torques))
    n = len(names)
    isometric, coefficients = np.zeros((2, n)), np.zeros((2, n, 5))
    coefficients[..., 2:4] = 1.0
    for j, name in enumerate(names):
        isometric[:, j] = -torques[name][0], torques[name][1]
        joint = MEASURED.get(_bare(name))
        if joint is not None and name not in constant:
            coefficients[:, j] = [row[1:] for row in _C[joint, sex][AGES.index(age)]]
    return Strength(tuple(names), frozen(isometric), frozen(coefficients))


def constant_torques(
    sex: str = "male", height: float = 1.75, mass: float = 75.0, age: str = "18-25"
) -> dict[str, tuple[float, float]]:
    """Least and largest torque (N m) of every joint of a human, at its best angle and at rest.

    They grow with weight times stature. Flexion of hip, knee and ankle by Anderson et al. (2007), other
    joints of women 0.8 times those of men of the same size.

    >>> low, high = constant_torques()["left_hip.flexion"]
    >>> round(low), round(high)
    (-207, 145)
    """
    checked_sex(sex)
    height, mass = checked_size(height, mass)
    if age not in AGES:
        raise InputError(unknown_name("age", age, AGES))
    size = mass * height / REFERENCE_SIZE * (1.0 if sex == "male" else WEAKER)
    weight = mass * GRAVITY * height
    found: dict[str, tuple[float, float]] = {}
    sided = [(f"{side}_", joints) for side in SIDES for joints in (LEG, ARM)]
    for prefix, joints in [("", BODY), *sided]:
        for joint, axes in joints.items():
            for axis in axes:
                name = f"{prefix}{joint}.{axis.name}" if len(axes) > 1 else f"{prefix}{joint}"
                low, high = (size * x for x in axis.torque)
                measured = MEASURED.get(_bare(name))
                if measured is not None:
                    extend, flex = _C[measured, sex][AGES.index(age)]
                    low, high = (
                        -extend[0] * weight * (PLANTAR if measured == "ankle" else 1.0),
                        flex[0] * weight,
                    )
                found[name] = float(low), float(high)
    return found


def scaled_torques(
    torques: Mapping[str, tuple[float, float]], factors: Mapping[str, float]
) -> dict[str, tuple[float, float]]:
    """Torques of which some are multiplied: {"left_ankle": 0.5} halves all that the left ankle can give.

    >>> scaled_torques({"left_knee": (-210.0, 112.0)}, {"left": 0.5})
    {'left_knee': (-105.0, 56.0)}
    """
    expect(torques, Mapping, "torques", "two torques by names of joints")
    expect(factors, Mapping, "factors", "numbers by names of joints or sides")
    found = dict(torques)
    texts(list(found), "names of torques")
    for part, factor in factors.items():
        if not number(factor, f"strength of '{part}'") > 0.0:
            raise InputError(must_be(f"strength of '{part}'", "positive", factor, ""))
        hit = [x for x in found if x == part or x.startswith((f"{part}.", f"{part}_"))]
        if not hit:
            raise InputError(unknown_name("joint or side of a human", part, found))
        for name in hit:
            found[name] = found[name][0] * factor, found[name][1] * factor
    return found


def scaled_strength(given: Strength, factors: Mapping[str, float]) -> Strength:
    """Strength of which some joints or sides are weaker or stronger, as in :func:`scaled_torques`.

    >>> weak = scaled_strength(strength(["left_knee", "right_knee"]), {"left": 0.5})
    >>> float(weak.isometric[0, 0] / weak.isometric[0, 1])
    0.5
    """
    names = given.names
    torques = {name: (-low, high) for name, low, high in zip(names, *given.isometric, strict=True)}
    scaled = scaled_torques(torques, factors)
    isometric = np.array([[-scaled[name][0] for name in names], [scaled[name][1] for name in names]])
    return Strength(names, frozen(isometric), given.coefficients)


def _bare(name: str) -> str:
    return name.removeprefix("left_").removeprefix("right_")


def _floored(x: Array, dx: Array, ddx: Array) -> tuple[Array, Array, Array]:
    """A factor that does not go below the floor: f + (y + sqrt(y^2 + e^2)) / 2 with y = x - f."""
    y = x - FLOOR
    root = np.sqrt(y * y + ROUNDING**2)
    first = 0.5 * (1.0 + y / root)
    second = 0.5 * ROUNDING**2 / root**3
    return FLOOR + 0.5 * (y + root), first * dx, first * ddx + second * dx * dx


def _by_velocity(w: Array, c4: Array, c5: Array, c6: Array) -> tuple[Array, Array, Array]:
    """The factor of velocity and two derivatives; w > 0 where muscles shorten."""
    w, c4, c5, c6 = np.broadcast_arrays(w, c4, c5, c6)
    shortens = _floored(*_hyperbola(np.maximum(w, -SMOOTHING), c4, c5))
    fast = np.minimum(w, SMOOTHING)
    h, dh, ddh = _hyperbola(-fast, c4, c5)
    g = 1.0 - c6 * fast
    lengthens = (h * g, -dh * g - c6 * h, ddh * g + 2.0 * c6 * dh)
    lengthens = _capped(*_floored(*lengthens))
    u = np.clip(0.5 + 0.5 * w / SMOOTHING, 0.0, 1.0)  # 0: lengthens, 1: shortens
    s, ds, dds = _smooth_step(u)
    ds, dds = ds * 0.5 / SMOOTHING, dds * 0.25 / SMOOTHING**2
    (a, da, dda), (b, db, ddb) = shortens, lengthens
    gap = a - b
    return (
        b + s * gap,
        s * da + (1.0 - s) * db + ds * gap,
        s * dda + (1.0 - s) * ddb + 2.0 * ds * (da - db) + dds * gap,
    )


def _hyperbola(w: Array, c4: Array, c5: Array) -> tuple[Array, Array, Array]:
    """(A + B w) / (A + D w): 0.75 at w = c4, 0.5 at w = c5."""
    A, B, D = 2.0 * c4 * c5, c5 - 3.0 * c4, 2.0 * c5 - 4.0 * c4
    below = A + D * w
    h = (A + B * w) / below
    first = A * (B - D) / below**2
    return h, first, -2.0 * D * first / below


def _capped(x: Array, dx: Array, ddx: Array) -> tuple[Array, Array, Array]:
    """A factor that does not exceed what lengthening muscles give."""
    y = FASTEST - x
    root = np.sqrt(y * y + ROUNDING**2)
    first, second = 0.5 * (1.0 + y / root), 0.5 * ROUNDING**2 / root**3
    return FASTEST - 0.5 * (y + root), first * dx, first * ddx - second * dx * dx


def _smooth_step(u: Array) -> tuple[Array, Array, Array]:
    """6 u^5 - 15 u^4 + 10 u^3, twice differentiable at both ends."""
    return (
        u**3 * (10.0 + u * (6.0 * u - 15.0)),
        30.0 * u * u * (1.0 - u) ** 2,
        60.0 * u * (1.0 - u) * (1.0 - 2.0 * u),
    )

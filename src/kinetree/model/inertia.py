"""Mass, center of mass and rotational inertia of a rigid body, and the bodies one knows by heart."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, array_key, finite, frozen, number, numbers, same_arrays, vector
from kinetree.algebra.placement import Placement
from kinetree.algebra.rotation import unit_axis
from kinetree.errors import ModelError, must_be

ROUNDING = 1e-9  # relative slack of the physical checks
UNPHYSICAL = (  # how errors about such an inertia end
    ", which is unphysical; correct it or accept it with allow_unphysical (= true in TOML; URDF and MJCF "
    "files are refused for it only with strict=True)"
)
SMALLEST = 1e-18  # kg m^2: what a moment may be wrong by in any case
LONGEST = 1e6  # m: beyond, what moves by millimeters has lost its digits
LARGEST = 1e60  # of masses, lengths and inertias in SI units: products of them are finite numbers, too


@dataclass(frozen=True, eq=False)
class Inertia:
    """Inertia of a rigid body in its body frame.

    ``mass`` (kg), ``center`` (3,) of mass (m), ``moment`` (3, 3) about the center of mass in body axes
    (kg m^2). Three numbers for the moment are its diagonal. The values are checked: mass >= 0, moment
    positive semidefinite, and no principal moment larger than the sum of the other two.
    ``allow_unphysical`` lifts the last two checks, for published data that violate them.

    >>> Inertia(2.0, center=(0, 0, 0.1), moment=(0.02, 0.02, 0.01)).mass
    2.0
    """

    mass: float = 0.0
    center: Array = field(default_factory=lambda: frozen(np.zeros(3)))
    moment: Array = field(default_factory=lambda: frozen(np.zeros((3, 3))))
    allow_unphysical: bool = False

    def __post_init__(self) -> None:
        mass = number(self.mass, "mass", ModelError)
        if mass < 0:
            raise ModelError(must_be("mass", ">= 0 kg", mass, "g"))
        if mass > LARGEST:
            raise ModelError(must_be("mass", f"at most {LARGEST:g} kg", mass, "g"))
        center, moment = vector(self.center, 3, "center of mass", ModelError), _moment(self.moment)
        for array, what, unit in ((center, "center of mass", "m"), (moment, "inertia", "kg m^2")):
            if max(map(abs, array.ravel().tolist())) > LARGEST:
                raise ModelError(must_be(what, f"at most {LARGEST:g} {unit}", array.tolist()))
        object.__setattr__(self, "mass", mass)
        object.__setattr__(self, "center", center)
        object.__setattr__(self, "moment", moment)
        _check_physical(self.moment, self.allow_unphysical)

    @property
    def is_zero(self) -> bool:
        """Whether there is neither mass nor rotational inertia."""
        return self.mass == 0.0 and not self.moment.any()

    @property
    def first_moment(self) -> Array:
        """M c (kg m), about the body frame's origin."""
        return frozen(self.mass * self.center)

    @property
    def moment_about_origin(self) -> Array:
        """Rotational inertia about the body frame's origin (kg m^2): I + m (c.c 1 - c c^T)."""
        c = self.center
        return frozen(self.moment + self.mass * (c @ c * np.eye(3) - np.outer(c, c)))

    @property
    def second_moment(self) -> Array:
        """S = integral of r r^T dm about the body frame's origin (kg m^2): (tr I / 2) 1 - I."""
        moment = self.moment_about_origin
        return frozen(0.5 * np.trace(moment) * np.eye(3) - moment)

    def moved(self, placement: Placement) -> Inertia:
        """The inertia in the frame of the given placement's parent."""
        R = placement.rotation
        moment = R @ self.moment @ R.T
        return Inertia(
            self.mass,
            R @ self.center + placement.position,
            0.5 * (moment + moment.T),
            self.allow_unphysical,
        )

    def __add__(self, other: Inertia) -> Inertia:
        """Both bodies welded together; both must be given in the same frame."""
        if self.is_zero or other.is_zero:
            return self if other.is_zero else other
        mass = self.mass + other.mass
        center = self.first_moment + other.first_moment
        center = center / mass if mass > 0 else center
        about = np.zeros((3, 3))
        for part in (self, other):
            d = part.center - center
            about += part.moment + part.mass * (d @ d * np.eye(3) - np.outer(d, d))
        return Inertia(mass, center, about, self.allow_unphysical or other.allow_unphysical)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Inertia)
            and self.mass == other.mass
            and self.allow_unphysical == other.allow_unphysical
            and same_arrays([(self.center, other.center), (self.moment, other.moment)])
        )

    def __hash__(self) -> int:
        return hash((self.mass, array_key(self.center, self.moment)))

    # ---- bodies one knows by heart ------------------------------------------------------------

    @classmethod
    def about_origin(cls, mass: float, center: ArrayLike, moment: ArrayLike) -> Inertia:
        """From the rotational inertia about the body frame's origin instead of the center of mass."""
        c = vector(center, 3, "center of mass", ModelError)
        m = number(mass, "mass", ModelError)
        return cls(m, c, _moment(moment) - m * (c @ c * np.eye(3) - np.outer(c, c)))

    @classmethod
    def point(cls, mass: float, at: ArrayLike = (0.0, 0.0, 0.0)) -> Inertia:
        """A point mass."""
        return cls(mass, vector(at, 3, "position of the point mass", ModelError))

    @classmethod
    def rod(cls, mass: float, end: ArrayLike, start: ArrayLike = (0.0, 0.0, 0.0)) -> Inertia:
        """A slender rod between two points: I = m l^2 / 12 across it, zero along it."""
        a = vector(start, 3, "start of the rod", ModelError)
        b = vector(end, 3, "end of the rod", ModelError)
        m, d = number(mass, "mass of the rod", ModelError), b - a
        return cls(m, 0.5 * (a + b), m / 12.0 * (d @ d * np.eye(3) - np.outer(d, d)))

    @classmethod
    def box(cls, mass: float, size: ArrayLike, center: ArrayLike = (0.0, 0.0, 0.0)) -> Inertia:
        """A solid box with edges (x, y, z): I_xx = m (y^2 + z^2) / 12."""
        edges = _sizes(vector(size, 3, "size of the box", ModelError), "size of the box")
        square = edges**2
        return cls(mass, center, number(mass, "mass of the box", ModelError) / 12 * (square.sum() - square))  # type: ignore[arg-type]

    @classmethod
    def cylinder(
        cls,
        mass: float,
        radius: float,
        length: float,
        axis: ArrayLike | str = "z",
        center: ArrayLike = (0.0, 0.0, 0.0),
    ) -> Inertia:
        """A solid cylinder: I = m r^2 / 2 about its axis, m (3 r^2 + l^2) / 12 across."""
        r, length = _sizes([radius, length], "radius and length of the cylinder")
        m, z = (
            number(mass, "mass of the cylinder", ModelError),
            unit_axis(axis, "axis of the cylinder", ModelError),
        )
        across, along = m * (3 * r**2 + length**2) / 12, m * r**2 / 2
        return cls(m, center, across * np.eye(3) + (along - across) * np.outer(z, z))  # type: ignore[arg-type]

    @classmethod
    def sphere(cls, mass: float, radius: float, center: ArrayLike = (0.0, 0.0, 0.0)) -> Inertia:
        """A solid sphere: I = 2 m r^2 / 5."""
        (r,) = _sizes([radius], "radius of the sphere")
        m = number(mass, "mass of the sphere", ModelError)
        return cls(m, center, np.full(3, 0.4 * m * r**2))  # type: ignore[arg-type]

    @classmethod
    def bent_rod(cls, mass: float, a: float, b: float, payload: float = 0.0, hub: float = 0.0) -> Inertia:
        """The bent slender link of [Mohan2007]: length b along z, then a along x, uniform mass per length.

        ``payload`` (kg) is a point mass at the far end (a, 0, b); ``hub`` (kg m^2) the motor's inertia about
        z at the joint. Both segments share rho = m / (|a| + |b|) ([Mohan2007], eq. 17).
        A hub alone is no solid body, so the triangle inequality is not asked for when there is one.
        """
        m, a, b = (
            number(x, f"{name} of the bent rod", ModelError)
            for x, name in ((mass, "mass"), (a, "a"), (b, "b"))
        )
        length = abs(a) + abs(b)
        if length == 0.0 and m > 0:
            raise ModelError(
                f"a bent rod of mass {m:g} kg needs a length: a = {a:g} and b = {b:g} are both zero"
            )
        rho = m / length if length else 0.0
        link = cls.rod(rho * abs(b), (0, 0, b)) + cls.rod(rho * abs(a), (a, 0, b), (0, 0, b))
        link = link + cls.point(payload, (a, 0.0, b))
        hub = number(hub, "hub inertia of the bent rod", ModelError)
        if hub < 0:
            raise ModelError(must_be("hub inertia of the bent rod", ">= 0 kg m^2", hub, "g"))
        return link if hub == 0.0 else link + cls(0.0, moment=frozen([0, 0, hub]), allow_unphysical=True)


def _moment(values: ArrayLike) -> Array:
    """A symmetric 3 x 3 matrix from a matrix or from its diagonal."""
    array = finite(numbers(values, "inertia", ModelError), "inertia", ModelError)
    if array.shape == (3,):
        array = np.diag(array)
    if array.shape != (3, 3):
        raise ModelError(
            f"inertia must be 3 numbers (its diagonal) or a 3 x 3 matrix, got shape {array.shape}"
        )
    skewness = float(np.abs(array - array.T).max())
    if skewness > ROUNDING * max(1e-300, float(np.abs(array).max())):
        raise ModelError(f"inertia must be symmetric; it differs from its transpose by {skewness:.3g} kg m^2")
    return frozen(array)


def physical_fault(moment: ArrayLike) -> str:
    """Why no body has such a moment (3, 3) about its center of mass, with the amount, or nothing.

    >>> physical_fault([[1.0, 0, 0], [0, 1.0, 0], [0, 0, -2.5]])
    'must be positive semidefinite; its principal moments are -2.5, 1, 1 kg m^2'
    """
    values = np.asarray(moment, dtype=np.float64)
    if not np.isfinite(values).all():
        return ""  # refused by itself
    small, middle, large = (float(x) for x in np.linalg.eigvalsh(values))
    slack = ROUNDING * max(abs(small), abs(large)) + SMALLEST
    shown = ", ".join(f"{x:.6g}" for x in (small, middle, large))
    if small < -slack:
        return f"must be positive semidefinite; its principal moments are {shown} kg m^2"
    if large <= small + middle + slack:
        return ""
    excess = f" by {100.0 * (large / (small + middle) - 1.0):.2g} %" if small + middle > 0.0 else ""
    return (
        f"violates the triangle inequality: of its principal moments {shown} kg m^2 the largest exceeds the "
        f"sum of the others{excess}"
    )


def _check_physical(moment: Array, allow_unphysical: bool) -> None:
    """Positive semidefinite, and principal moments that some mass distribution has."""
    fault = "" if allow_unphysical else physical_fault(moment)
    if fault:
        raise ModelError(f"inertia {fault}{UNPHYSICAL}")


def _sizes(values: ArrayLike, what: str) -> Array:
    """Lengths that are finite and not negative."""
    sizes = numbers(values, what, ModelError)
    if not np.isfinite(sizes).all() or (sizes < 0).any():
        raise ModelError(must_be(what, "finite and >= 0 m", sizes.tolist()))
    return sizes

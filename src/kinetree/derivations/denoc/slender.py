"""DeNOC from the Euler-Lagrange equations, for serial robots of bent slender links.

[Mohan2007], sections 3 and 4. A link is a rod of length b along its joint axis z_i and then of length a along
x_(i+1), with uniform mass per length, a payload at its far end and a hub at its joint. Its mass matrix has
five constants, C_1 to C_5, which is what makes the fifteen steps of [Mohan2007], section 4.1, cheap. The
robot is given by its table, a :class:`SlenderArm`; any other mechanism is a matter for `denoc`.

Joints are revolute ([Mohan2007], eq. 11b) or prismatic (eq. 11a): there the rod along z_i is a rail that does
not move with the joint, and the rod along x_(i+1) with the payload slides along it. The integral over the
rail goes to its length b, not to the place of the slide as printed: mass does not come and go.

Frame i is the document's: z_i on joint axis i, fixed to link i - 1; frame i + 1 is at the far end of link i,
turned by Q_i = Rz(theta_i) Rx(alpha_i). Twists are written [omega; v] here, in the document [v; omega].
Operations are counted under the numbers of the document's steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import cos, sin
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, finite, frozen, vector
from kinetree.algebra.arrays import numbers as plain_numbers
from kinetree.derivations.contract import step
from kinetree.derivations.denoc.blocks import kappa
from kinetree.derivations.denoc.entries import (
    NULL,
    ZERO,
    Entry,
    Numbers,
    Vector,
    add,
    constant,
    constants,
    cross,
    dot,
    negative,
    numbers,
    scale,
    times,
    variables,
)
from kinetree.derivations.denoc.forward import check_pivot, column, quotient, reduced
from kinetree.derivations.denoc.frames import X, Z, constant_turn, exact_angle, joint_turn
from kinetree.derivations.denoc.motion import NO_WRENCH, Wrench
from kinetree.derivations.denoc.screws import (
    Composite,
    Screw,
    Screws,
    Turn,
    twist_to_child,
    vector_to_child,
    wrench_to_parent,
)
from kinetree.errors import ModelError, must_be
from kinetree.model.dh import from_dh
from kinetree.model.inertia import Inertia
from kinetree.model.mechanism import EARTH, Mechanism
from kinetree.model.tree import Tree

__all__ = [
    "SlenderArm",
    "accelerations",
    "forward_dynamics",
    "inverse_dynamics",
    "link_mass_matrices",
    "mass_matrix",
]


class SlenderLink(NamedTuple):
    """Constants of one link, computed off-line: m, and C_1 to C_5 of step 3 with payload and hub."""

    m: Entry
    C_1: Entry
    C_2: Entry
    C_3: Entry
    C_4: Entry
    C_5: Entry
    hub: Entry
    a: Entry
    b: Entry
    alpha: Turn
    theta: Turn | None = None  # of a prismatic joint, whose C_1, C_3, C_5 and b are those of the slide
    rail: Composite | None = None  # of a prismatic joint, in frame i: it moves as link i - 1 does

    def slid(self, b: Entry) -> SlenderLink:
        """The link of a prismatic joint at a displacement b: of the constants those that it changes."""
        lever = -(self.C_2 * b)
        return self._replace(b=b, C_1=-(self.m * b), C_3=self.m * b * b, C_5=lever)


@dataclass(frozen=True, eq=False)
class SlenderArm:
    """A serial robot of bent slender links: one number per link (SI units), as in [Mohan2007], Table 2.

    ``mass`` of the rods, ``a`` and ``b`` their lengths along x_(i+1) and z_i, ``alpha`` the angle to the next
    axis, ``payload`` a mass at the far end, ``hub`` the inertia of the motor about the joint axis. Joints are
    revolute, or ``prismatic`` where that is true: there the rod of length b is the rail, the coordinate shows
    where on it the other rod is, and ``theta`` is its angle about z_i.

    >>> SlenderArm.puma().n
    6
    """

    mass: Array
    a: Array
    b: Array
    alpha: Array
    payload: Array | float = 0.0
    hub: Array | float = 0.0
    gravity: Array = EARTH  # type: ignore[assignment]
    prismatic: Sequence[bool] | bool = False
    theta: Array | float = 0.0

    def __post_init__(self) -> None:
        n = np.size(self.mass)
        flags = np.asarray(self.prismatic)
        if flags.dtype != np.bool_ or flags.shape not in ((), (n,)):
            raise ModelError(must_be("prismatic", f"true or false for each of {n} joints", self.prismatic))
        object.__setattr__(self, "prismatic", tuple(np.broadcast_to(flags, (n,)).tolist()))
        for name in ("mass", "a", "b", "alpha", "payload", "hub", "theta"):
            values = finite(plain_numbers(getattr(self, name), name, ModelError), name, ModelError)
            if values.ndim > 1 or values.size not in (1, n) or n == 0:
                raise ModelError(f"{name} must have one number per link ({n}), got shape {values.shape}")
            if name in ("mass", "payload", "hub") and (values < 0).any():
                raise ModelError(must_be(name, ">= 0", values.tolist()))
            object.__setattr__(self, name, frozen(np.broadcast_to(values, (n,))))
        length = np.abs(self.a) + np.abs(self.b)
        for k in np.flatnonzero((length == 0) & (self.mass > 0)):
            raise ModelError(
                f"link {k + 1} has a rod of mass {self.mass[k]:g} kg, but a = b = 0: it needs a length"
            )
        object.__setattr__(self, "gravity", vector(self.gravity, 3, "gravity", ModelError))

    @classmethod
    def puma(cls, gravity: ArrayLike = EARTH) -> SlenderArm:
        """The PUMA robot of [Mohan2007], Table 2."""
        right = np.pi / 2
        return cls(
            mass=frozen([10.521, 15.7612, 8.767, 0, 0, 0]),
            a=frozen([0, 0.432, 0.02, 0, 0, 0]),
            b=frozen([0.2, 0.149, 0, 0.432, 0, 0.056]),
            alpha=frozen([-right, 0, right, -right, right, 0]),
            hub=frozen([0, 0, 0, 0.181, 0.0735, 0.0141]),
            gravity=frozen(gravity),
        )

    @property
    def n(self) -> int:
        """Number of links and joints."""
        return len(self.mass)

    @property
    def links(self) -> list[SlenderLink]:
        """The constants of all links."""
        return [self._link(i) for i in range(self.n)]

    @property
    def slides(self) -> tuple[bool, ...]:
        """Which joints are prismatic."""
        return self.prismatic  # type: ignore[return-value]

    def _masses(self, i: int) -> tuple[float, float]:
        """Masses of the rods along z_i and along x_(i+1)."""
        m, a, b = (float(x[i]) for x in (self.mass, self.a, self.b))
        rho = m / (abs(a) + abs(b)) if m else 0.0
        return rho * abs(b), rho * abs(a)

    def _link(self, i: int) -> SlenderLink:
        """C_1 to C_5 of step 3; C_5 has half the printed value (errata), and b may be negative."""
        m, a, b, payload = (float(x[i]) for x in (self.mass, self.a, self.b, np.asarray(self.payload)))
        m_b, m_a = self._masses(i)
        alpha = constant_turn(X, exact_angle(cos(self.alpha[i]), sin(self.alpha[i])))
        hub = constant(np.asarray(self.hub)[i])
        if self.slides[i]:
            fixed = float(np.asarray(self.theta)[i])
            theta = constant_turn(Z, exact_angle(cos(fixed), sin(fixed)))
            across = constant(m_b / 3 * b**2)
            rail = Composite(
                ((across, ZERO, ZERO), (ZERO, across, ZERO), (ZERO, ZERO, ZERO)),
                (ZERO, ZERO, constant(-m_b / 2 * b)),
                constant(m_b),
            )
            C_2, C_4 = constant(-(m_a / 2 + payload) * a), constant((m_a / 3 + payload) * a**2)
            still = (ZERO, C_2, ZERO, C_4, ZERO, hub, constant(a), ZERO)
            return SlenderLink(constant(m_a + payload), *still, alpha, theta, rail)
        return SlenderLink(
            constant(m + payload),
            constant(-(m_b / 2 + m_a + payload) * b),
            constant(-(m_a / 2 + payload) * a),
            constant((m_b / 3 + m_a + payload) * b**2),
            constant((m_a / 3 + payload) * a**2),
            constant((m_a / 2 + payload) * a * b),
            hub,
            constant(a),
            constant(b),
            alpha,
        )

    def mechanism(self, name: str = "slender_arm") -> Mechanism:
        """The robot for all other algorithms: body frames at O_i, turned by theta_i."""
        rows: Any = [{"a": self.a[i], "b": self.b[i], "alpha": self.alpha[i]} for i in range(self.n)]
        for sliding in np.flatnonzero(self.slides):
            rows[sliding] |= {"b": 0.0, "theta": np.asarray(self.theta)[sliding], "joint": "prismatic"}
        geometry = from_dh(rows, "classic", name, self.gravity)
        payload, hub = np.asarray(self.payload), np.asarray(self.hub)
        bodies: list[Inertia] = []
        for i, link in enumerate(geometry.links):
            m_b, m_a = self._masses(i)
            b, m = (0.0, m_a) if self.slides[i] else (self.b[i], self.mass[i])
            bodies.append(Inertia.bent_rod(m, self.a[i], b, payload[i], hub[i]))
            if self.slides[i] and i > 0:
                bodies[i - 1] = bodies[i - 1] + Inertia.rod(m_b, (0, 0, self.b[i])).moved(link.placement)
        links = [
            replace(link, body=replace(link.body, inertia=inertia))
            for link, inertia in zip(geometry.links, bodies, strict=True)
        ]
        return replace(geometry, links=tuple(links))

    @cached_property
    def tree(self) -> Tree:
        """The compiled tree of the mechanism."""
        return self.mechanism().tree


# ---- the steps of section 4.1 ------------------------------------------------------------------------------


def forward_dynamics(arm: SlenderArm, q: Numbers, qd: Numbers, tau: Numbers) -> Numbers:
    """qdd (n,) = I^-1 (tau - tau-bar), tau-bar the torques at qdd = 0: [Mohan2007], 4.1, all steps."""
    links, turns = _placed(arm, q)
    needed = _torques(arm, links, turns, variables(qd, arm.n), [ZERO] * arm.n)
    with step("4"):
        phi = [given - own for given, own in zip(variables(tau, arm.n), needed, strict=True)]
    return numbers(_solved(arm, links, turns, phi), q, qd, tau)


def accelerations(arm: SlenderArm, q: Numbers, phi: Numbers) -> Numbers:
    """qdd (n,) of I qdd = phi by I = U D U^T: [Mohan2007], section 4.1, without step 4."""
    return numbers(_solved(arm, *_placed(arm, q), variables(phi, arm.n)), q, phi)


def _solved(arm: SlenderArm, links: list[SlenderLink], turns: list[Turn], phi: list[Entry]) -> list[Entry]:
    """Steps 3 and 5 to 15, the backward recursion first (eqs. 30-35)."""
    psi, phi_tilde = [NO_WRENCH] * arm.n, [ZERO] * arm.n
    screws = _screws(links, turns)
    with step("3"):
        masses = [_mass_matrix(link, turn).articulated for link, turn in zip(links, turns, strict=True)]
    eta, M_bar = NO_WRENCH, None
    for i in reversed(range(arm.n)):
        M_hat = masses[i]
        if M_bar is not None:
            with step("5"):  # M_i + A^T M-bar_(i+1) A (eq. 34)
                M_hat = M_hat.joined(M_bar.to_parent(screws[i]))
        with step("6, 7"):  # a column of M-hat and its pivot
            slides = arm.slides[i]
            psi_hat = (M_hat.F[2], column(M_hat.G)) if slides else (column(M_hat.J), column(M_hat.F))
            m_hat = psi_hat[int(slides)][Z]
            check_pivot(arm.tree, i, m_hat.value)
        with step("10"):  # phi - p^T eta_(i,i+1), eta_(i,i+1) = A^T eta_(i+1) (eqs. 31 and 32)
            eta = wrench_to_parent(screws[i], *eta)
            phi_hat = phi[i] - eta[int(slides)][Z]
        with step("12"):
            phi_tilde[i] = phi_hat / m_hat
        if i > 0:
            with step("8"):  # psi-hat / m-hat (eq. 33, which prints a factor A: errata)
                psi[i] = quotient(psi_hat[0], m_hat), quotient(psi_hat[1], m_hat)
            with step("9"):  # M-hat - psi-hat psi^T (eq. 34)
                M_bar = reduced(M_hat, psi_hat, psi[i], not slides)
            rail = links[i].rail
            if rail is not None:
                with step("5"):
                    M_bar = rail.articulated.joined(M_bar)
            with step("11"):  # psi phi-hat + eta_(i,i+1) (eq. 32)
                eta = add(scale(phi_hat, psi[i][0]), eta[0]), add(scale(phi_hat, psi[i][1]), eta[1])
    return _outward(arm, screws, psi, phi_tilde)


def _outward(arm: SlenderArm, screws: list[Screws], psi: list[Wrench], phi_tilde: list[Entry]) -> list[Entry]:
    """theta-ddot_i = phi-tilde_i - psi_i^T mu-tilde_i (eqs. 36 and 37)."""
    mu, qdd = NO_WRENCH, []
    for i, solved in enumerate(phi_tilde):
        if i:
            with step("14"):  # A mu_(i-1)
                mu = twist_to_child(screws[i - 1], *mu)
            with step("13"):
                solved = solved - (dot(psi[i][0], mu[0]) + dot(psi[i][1], mu[1]))
        with step("15"):
            if arm.slides[i]:
                mu = mu[0], (mu[1][0], mu[1][1], mu[1][2] + solved)
            else:
                mu = (mu[0][0], mu[0][1], mu[0][2] + solved), mu[1]
        qdd.append(solved)
    return qdd


def inverse_dynamics(arm: SlenderArm, q: Numbers, qd: Numbers, qdd: Numbers) -> Numbers:
    """tau (n,) = N_d^T N_l^T (M t-dot + gamma): [Mohan2007], eqs. 4, 16, 17 and 23."""
    torques = _torques(arm, *_placed(arm, q), variables(qd, arm.n), variables(qdd, arm.n))
    return numbers(torques, q, qd, qdd)


def _torques(
    arm: SlenderArm, links: list[SlenderLink], turns: list[Turn], qd: list[Entry], qdd: list[Entry]
) -> list[Entry]:
    """Both recursions of inverse dynamics.

    Minus gravity is added to the linear acceleration of the first link (the document says velocity: errata).
    """
    wrenches, rails, torques = [], list[Wrench](), []
    screws = _screws(links, turns)
    w, wd, vd = NULL, NULL, constants(-arm.gravity)
    with step("tau-bar"):
        for i, (link, turn) in enumerate(zip(links, turns, strict=True)):
            rails.append(NO_WRENCH if link.rail is None else _inertia_wrench(link.rail, w, wd, vd))
            if arm.slides[i]:  # v_i + 2 omega x b-dot z + b-ddot z, of the point that is at O_i now
                twice = qd[i] + qd[i]
                vd = add(vd, (w[1] * twice, -(w[0] * twice), qdd[i]))
            else:
                wd = add(wd, (w[1] * qd[i], -(w[0] * qd[i]), qdd[i]))
                w = (w[0], w[1], w[2] + qd[i])
            wrenches.append(_inertia_wrench(_mass_matrix(link, turn), w, wd, vd))
            a_i = (link.a * turn.c, link.a * turn.s, link.b)  # to the next origin, in frame i
            vd = add(vd, add(cross(wd, a_i), cross(w, cross(w, a_i))))
            w, wd, vd = (vector_to_child(screws[i], x) for x in (w, wd, vd))
        felt = NO_WRENCH
        for i in reversed(range(arm.n)):
            n, f = wrench_to_parent(screws[i], *felt)
            felt = add(n, wrenches[i][0]), add(f, wrenches[i][1])
            torques.append(felt[int(arm.slides[i])][Z])
            if links[i].rail is not None:
                felt = add(felt[0], rails[i][0]), add(felt[1], rails[i][1])
    return torques[::-1]


def _inertia_wrench(M: Composite, w: Vector, wd: Vector, vd: Vector) -> Wrench:
    """w* = M t-dot + gamma, gamma = [omega x J omega; omega x (omega x h)] with h = m c (eqs. 16 and 17)."""
    h = negative(M.rho)
    n = add(add(times(M.J, wd), cross(h, vd)), cross(w, times(M.J, w)))
    return n, add(add(scale(M.m, vd), cross(wd, h)), cross(w, cross(w, h)))


def mass_matrix(arm: SlenderArm, q: Numbers) -> Numbers:
    """Generalized inertia matrix (n, n), i_ij = p_i^T M-tilde_i A_ij p_j for i >= j.

    [Mohan2007], eqs. 28 and 29.
    """
    (links, turns), n = _placed(arm, q), arm.n
    screws, entries = _screws(links, turns), [ZERO] * n**2
    M = None
    with step("elements"):
        for i in reversed(range(n)):
            own = _mass_matrix(links[i], turns[i])
            M = own if M is None else own.joined(M.to_parent(screws[i]))
            kappa_i = kappa(M, not arm.slides[i])
            for j in reversed(range(i + 1)):
                entries[i * n + j] = entries[j * n + i] = kappa_i[int(arm.slides[j])][Z]
                if j:
                    kappa_i = wrench_to_parent(screws[j - 1], *kappa_i)
            rail = links[i].rail
            if rail is not None:
                M = M.joined(rail)
    return numbers(entries, q).reshape(n, n)


def link_mass_matrices(arm: SlenderArm, q: Numbers) -> list[Composite]:
    """M_i of every link in frame i: [Mohan2007], eq. 17a and step 3."""
    return [_mass_matrix(link, turn) for link, turn in zip(*_placed(arm, q), strict=True)]


# ---- steps 1 to 4 ---------------------------------------------------------------------------------------
def _placed(arm: SlenderArm, q: Numbers) -> tuple[list[SlenderLink], list[Turn]]:
    """Links, slid where joints are prismatic, and sine and cosine of every joint angle."""
    with step("1"):
        at = variables(q, arm.n)
        turns = [
            joint_turn(x) if link.theta is None else link.theta for link, x in zip(arm.links, at, strict=True)
        ]
        links = [link if link.theta is None else link.slid(x) for link, x in zip(arm.links, at, strict=True)]
    return links, turns


def _screws(links: list[SlenderLink], turns: list[Turn]) -> list[Screws]:
    """From frame i + 1 to frame i: the two planar screws of Q_i and a_i; neither is formed (step 2)."""
    return [(Screw(link.alpha, link.a), Screw(turn, link.b)) for link, turn in zip(links, turns, strict=True)]


def _mass_matrix(link: SlenderLink, turn: Turn) -> Composite:
    """M_i in frame i, where x_(i+1) = [c, s, 0] and z_i = [0, 0, 1] (7M2A): step 3."""
    c, s = turn.c, turn.s
    C_4s = link.C_4 * s
    ss, sc = C_4s * s, C_4s * c
    xz, yz = -(link.C_5 * c), -(link.C_5 * s)
    zz = constant(link.C_4.value + link.hub.value)
    both = link.C_3 + link.C_4 if link.theta is not None else constant(link.C_3.value + link.C_4.value)
    J = ((link.C_3 + ss, -sc, xz), (-sc, both - ss, yz), (xz, yz, zz))
    return Composite(J, (link.C_2 * c, link.C_2 * s, link.C_1), link.m)

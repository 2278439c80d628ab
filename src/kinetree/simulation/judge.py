"""The judge of simulated motions: verdicts on all steps that an integration accepted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.integrate.integration import Steps
from kinetree.model.mechanism import Mechanism
from kinetree.model.tree import Flags
from kinetree.result.variables import (
    ABOVE,
    ALL,
    CONTROL,
    DRIFT,
    HEIGHT,
    SINKING,
    SLIP,
    TILT,
    WALK,
)
from kinetree.simulation.audit import energies
from kinetree.simulation.chart import View
from kinetree.simulation.ground import Ground
from kinetree.simulation.settings import Options
from kinetree.simulation.setup import Surroundings
from kinetree.simulation.system import System
from kinetree.simulation.torque import Law
from kinetree.verdicts.finding import Finding, Findings
from kinetree.verdicts.following import control_findings
from kinetree.verdicts.footing import Footing, floats
from kinetree.verdicts.limits import OFF, LimitWatch
from kinetree.verdicts.margins import Verdicts as Verdicts

KEPT = 20_000  # ends of steps that are kept for efforts, poses and contact; of more, every second
SWITCHED = 1_000  # of them in other Euler angles, which are converted one by one
PULSES = "short pulses of the torque function"


class Judge(NamedTuple):
    """What motions of a mechanism are judged by, and whether a law drives them."""

    margins: Verdicts
    law: Law
    around: Surroundings
    mechanism: Mechanism

    @property
    def ground(self) -> Ground | None:
        """The ground, if there is one."""
        return self.around.ground

    @property
    def stands(self) -> bool:
        """Whether a floating base is on the ground under a law, so that it may fall."""
        return self.ground is not None and floats(self.mechanism) and self.law.acts

    @property
    def sees_contact(self) -> bool:
        """Whether slip is judged, which needs the forces of the ground."""
        return self.stands and self.margins.slip is not None

    @property
    def sees_poses(self) -> bool:
        """Whether bodies on the ground are judged."""
        m = self.margins
        falls = self.stands and any(x is not None for x in (m.tilt, m.height, m.drift, m.slip))
        return self.ground is not None and (falls or m.depth is not None or m.sinking is not None)

    @property
    def may_miss_pulses(self) -> bool:
        """Whether a function of time is called whose jumps nothing announces."""
        return self.law.is_python and self.law.running is None and not self.law.is_sampled

    def watch(self, count: int = 1) -> LimitWatch:
        """A new watch over limits, of so many motions."""
        stops = self.around.stops is not None
        return LimitWatch(self.mechanism, self.margins, stops=stops, count=count)

    def follows(self, times: Array) -> tuple[Array, Flags] | None:
        """The reference motion (k, n_dof) of the law, and which joints it pulls."""
        return self.law.followed(self.mechanism, times)

    def motion_findings(
        self, times: Array, q: Array, contact: Array | None = None, layer: float = 0.0
    ) -> Findings:
        """Verdicts on positions (m, k, n_dof) at times (k,): falls, following, slip, depth."""
        found: Findings = {}
        followed = self.follows(times)
        if followed is not None and len(times) > 1:
            found |= control_findings(self.mechanism, self.margins, *followed, times, q)
        if self.ground is None or not self.sees_poses:
            return found
        wanted = None if followed is None else followed[0]
        footing = Footing(self.mechanism, self.ground, self.margins, times, q, wanted)
        if self.stands:
            found |= footing.falls() | footing.drift()
            if contact is not None:
                found |= footing.slip(contact, self.mechanism.mass)
        return found | footing.sinking(layer) | footing.above()

    def walk(self) -> Findings:
        """What a law of walking says of its walk."""
        walked = self.law.walked() if self.stands else None
        if walked is None:
            return {}
        return {WALK: Finding(np.array([0.0 if walked[0] else 1.0]), 0.5, "1", lambda k: walked[1])}

    def not_judged(self, findings: Mapping[str, Finding], watch: LimitWatch) -> dict[str, str]:
        """Names of verdicts that there are none of, with the reason."""
        if self.margins.is_empty:
            return {ALL: f"{OFF} by verdicts=False"}
        m = self.margins
        base = floats(self.mechanism)
        no_ground = "there is no ground"
        on_feet = (
            no_ground if self.ground is None
            else "the mechanism has no floating base" if not base
            else "no law drives the mechanism"
        )  # fmt: skip
        reasons = {
            CONTROL: (
                m.following,
                "the law follows no motion that is known" if self.law.acts else "no law drives the mechanism",
            ),
            TILT: (m.tilt, on_feet),
            HEIGHT: (m.height, on_feet),
            DRIFT: (
                m.drift,
                "there is no reference motion of the base" if self.stands else on_feet,
            ),
            SLIP: (m.slip, "it is not computed here" if self.stands else on_feet),
            SINKING: (m.sinking, no_ground),
            ABOVE: (m.depth, no_ground),
        }
        limits = {name: why for name, why in watch.not_judged().items() if name not in findings}
        return limits | {
            name: OFF if margin is None else why
            for name, (margin, why) in reasons.items()
            if name not in findings
        }


def missed_pulses(longest: float, options: Options) -> str:
    """What may be stepped over of a function of time, by the longest step (s)."""
    if options.max_step < np.inf:
        return f"max_step was {options.max_step:.3g} s; shorter ones may be stepped over"
    return (
        f"steps of up to {longest:.3g} s were taken; a function of time that changes for a shorter while may "
        f"be stepped over, unless max_step says how short"
    )


class Recorder:
    """Steps of one motion: running extremes of limits, and states to look at when it is over."""

    def __init__(self, judge: Judge, breaks: tuple[float, ...] = (), *, is_coarse: bool = False) -> None:
        """``is_coarse``: outputs are so few that energy may be exchanged unseen between them."""
        self.judge, self.limits, self._breaks = judge, judge.watch(), np.array(breaks)
        self._observes = self.limits.judges_efforts or judge.sees_contact
        self._keeps = self._observes or judge.sees_poses or judge.follows(np.zeros(1)) is not None
        self._keeps = self._keeps or is_coarse
        self._kept: list[_Piece] = []
        self._count, self._every = 0, 1
        self.longest = 0.0  # step (s)

    @property
    def is_needed(self) -> bool:
        """Whether anything is judged by steps."""
        return self.limits.judges_motion or self._keeps or self.judge.may_miss_pulses

    def not_judged(self, findings: Mapping[str, Finding], options: Options) -> dict[str, str]:
        """What there is no verdict on, with the reason."""
        found = self.judge.not_judged(findings, self.limits)
        if self.judge.may_miss_pulses and self.longest > 0.0:
            found[PULSES] = missed_pulses(self.longest, options)
        return found

    def take(self, steps: Steps, system: System, view: View | None = None) -> None:
        """Ends of steps of one lane, in the coordinates of a system."""
        at = system.at
        q, qd = steps.y[..., at.q], steps.y[..., at.qd]
        self.longest = max(self.longest, float(np.diff(steps.t).max(initial=0.0)))
        self.limits.add_steps(
            steps.t, q, qd, steps.rates[..., at.qd], steps.has_rates, unseen=_switched(view)
        )
        if self._keeps:
            self._keep(steps, system, view)

    def _keep(self, steps: Steps, system: System, view: View | None) -> None:
        t = steps.t.copy()
        before = np.flatnonzero(np.diff(t) == 0.0)
        jump = np.zeros(len(t), bool)
        jump[before] = jump[before + 1] = True
        t[before] = np.nextafter(t[before], -np.inf)  # laws are looked at in front of the jump
        vital = jump & np.isin(steps.t, self._breaks) if len(self._breaks) else np.zeros(len(t), bool)
        if len(vital):
            vital[0] = vital[-1] = True
        piece = _Piece(system, view, t, steps.y[:, 0], vital)
        self._kept.append(piece.thinned(self._every))
        self._count += len(self._kept[-1].t)
        while self._count > KEPT and self._every < KEPT:
            self._every *= 2
            self._kept = [x.thinned(2) for x in self._kept]
            self._count = sum(len(x.t) for x in self._kept)

    def exchanged(self) -> float:
        """The largest amount of energy exchanged (J), at the ends of steps."""
        most = 0.0
        for piece in self._kept:
            at, y = piece.system.at, piece.y
            parts = y[:, at.q], y[:, at.qd], y[:, at.work]
            found = energies(piece.system.mechanism, *parts, piece.system.parts.works)
            most = max(most, float(found.exchanged))
        return most

    def findings(self, times: Array, q: Array, qd: Array, tau: Array) -> Findings:
        """All verdicts; outputs (k, n_dof) are for coordinates that steps do not have."""
        if any(x.view is not None for x in self._kept) or not self.is_needed:
            self.limits.add(times, q[:, None], qd[:, None])
        self.limits.add_efforts(times, tau[:, None])
        found = self.judge.walk()
        if self._keeps and self._kept:
            t, positions, contact = self._looked_at(q[0])
            layer = dust_layer(self.judge.ground)
            found |= self.judge.motion_findings(t, positions, contact, layer)
        return found | self.limits.findings()

    def _looked_at(self, start: Array) -> tuple[Array, Array, Array | None]:
        """Times (k,), positions (1, k, n_dof) of the user, rows of contact (1, k, points, ...) if needed."""
        times, positions, contacts = [], [], []
        for piece in self._kept:
            t, y, at = piece.t, piece.y, piece.system.at
            own = y[:, at.q]
            if piece.view is not None:
                rest = max(1, len(t) // SWITCHED)
                t, y = t[::rest], y[::rest]
                near = [piece.view.nearest(x) for x in t.tolist()]
                own, _ = piece.view.chart.user_states(y[:, at.q], y[:, at.qd], start, near)
            if self._observes:
                seen = piece.system.observe(t, y[:, None])
                tau = seen.tau
                if piece.view is not None:
                    tau[..., _switched(piece.view)] = 0.0
                self.limits.add_efforts(t, tau)
                contacts.append(seen.contact[:, 0])
            times.append(t)
            positions.append(own)
            start = own[-1]
        contact = np.concatenate(contacts)[None] if self.judge.sees_contact else None
        return np.concatenate(times), np.concatenate(positions)[None], contact


class _Piece(NamedTuple):
    """Ends of steps (k,), (k, size) in one set of coordinates; vital ones are never left out."""

    system: System
    view: View | None
    t: Array
    y: Array
    vital: Flags

    def thinned(self, every: int) -> _Piece:
        """One of so many, and all that are vital."""
        if every == 1:
            return self
        keep = self.vital | (np.arange(len(self.t)) % every == 0)
        return self._replace(t=self.t[keep], y=self.y[keep], vital=self.vital[keep])


def _switched(view: View | None) -> Array:
    """Places in q of joints that have other Euler angles for the time being."""
    if view is None:
        return np.zeros(0, int)
    return np.concatenate([np.arange(x.at.start, x.at.stop) for x in view.chart.switched])


def dust_layer(ground: Ground | None) -> float:
    """The thickest layer of dust (m), which does not carry."""
    if ground is None:
        return 0.0
    return max([ground.soil.dust, *(x.soil.dust for x in ground.regions if x.soil is not None)])

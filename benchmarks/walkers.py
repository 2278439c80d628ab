"""How far robots walk under ``kt.control.WalkingLaw``: pushes, slopes, stairs, soils, turns, random robots.

``python -m benchmarks.walkers [ROBOT ...] [--only WORD]`` prints a row per trial as it ends. Pushes are jumps
of the velocity of the whole robot, so a walk goes on tick by tick here instead of in one simulation.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

import kinetree as kt
from kinetree.analysis.legs import legged
from kinetree.errors import StopSimulation
from kinetree.formats.toml_file import mechanism_from_toml
from kinetree.study.new_walker import USUAL, walker_text

G = 9.81
SETTLED = 2.5  # s after which robots are pushed, in the next step on the left foot or its group


@dataclass
class Trial:
    """One walk: what is different, and how it went."""

    name: str
    robot: kt.Mechanism
    ground: kt.Ground
    steps: int = 20
    law: kt.control.WalkingLaw = field(default_factory=kt.control.WalkingLaw)
    push: tuple[float, Any] | None = None  # share of a step, jump of the velocity in the world (m/s)
    period: float = 0.004


@dataclass
class Outcome:
    """How a walk ended."""

    steps: int
    fell: bool
    speed: float
    torque: float  # largest, in m g L
    share: float  # largest torque beside its limit
    seconds: float  # processor time
    why: str = ""  # what went first, if it fell


def five_link(
    thigh: float = 0.4,
    shank: float = 0.4,
    trunk: float = 0.6,
    masses: tuple[float, float, float] = (6.8, 3.2, 18.0),
) -> kt.Mechanism:
    """Trunk, two thighs, two shanks, point feet: 38 kg unless given otherwise."""
    build = kt.Builder("five_link")
    body = build.world.free("base").body("trunk", kt.Inertia.rod(masses[2], end=(0, 0, trunk)))
    for k in "12":
        upper = body.revolute("hip" + k, axis="y")
        lower = upper.body("thigh" + k, kt.Inertia.rod(masses[0], end=(0, 0, -thigh))).revolute(
            "knee" + k, axis="y", at=(0, 0, -thigh)
        )
        lower.body("shank" + k, kt.Inertia.rod(masses[1], end=(0, 0, -shank))).contact(
            "foot" + k, at=(0, 0, -shank)
        )
    return build.build()


def spatial(
    thigh: float = 0.5,
    shank: float = 0.5,
    hip: float = 0.05,
    masses: tuple[float, float, float, float] = (5.0, 1.0, 1.0, 0.2),
    sole: tuple[float, float] = (0.15, 0.1),
) -> kt.Mechanism:
    """A biped like the zoo's, with given lengths and masses."""
    build = kt.Builder("own_spatial_biped")
    body = build.world.free("base").body("trunk", kt.Inertia.box(masses[0], (0.1, 0.1, 0.1)))
    for k, side in (("1", 1.0), ("2", -1.0)):
        upper = body.spherical("hip" + k, sequence="ZXY", at=(0, side * hip, 0))
        middle = upper.body("thigh" + k, kt.Inertia.rod(masses[1], end=(0, 0, -thigh)))
        lower = middle.revolute("knee" + k, axis="y", at=(0, 0, -thigh))
        shin = lower.body("shank" + k, kt.Inertia.rod(masses[2], end=(0, 0, -shank)))
        foot = shin.universal("ankle" + k, sequence="YX", at=(0, 0, -shank)).body(
            "foot" + k, kt.Inertia.box(masses[3], (*sole, 0.0))
        )
        for end, x in (("toe", sole[0] / 2), ("heel", -sole[0] / 2)):
            for name, y in (("left", sole[1] / 2), ("right", -sole[1] / 2)):
                foot.contact(f"{end}{k}_{name}", at=(x, y, 0.0))
    return build.build()


def random_robot(kind: str, seed: int) -> kt.Mechanism:
    """Every length and mass changed by up to 30 %."""
    rng = np.random.default_rng(seed)

    def vary(x: float) -> float:
        return x * (1 + 0.3 * rng.uniform(-1, 1))

    if kind in USUAL:
        return of_template(kind, f"{kind}_{seed}", {name: vary(x) for name, x in USUAL[kind].items()})
    if kind == "five_link":
        lengths = [vary(x) for x in (0.4, 0.4, 0.6)]
        return five_link(*lengths, tuple(vary(x) for x in (6.8, 3.2, 18.0)))  # type: ignore[arg-type]
    lengths = [vary(x) for x in (0.5, 0.5, 0.05)]
    masses = tuple(vary(x) for x in (5.0, 1.0, 1.0, 0.2))
    return spatial(*lengths, masses, (vary(0.15), vary(0.1)))  # type: ignore[arg-type]


def of_template(kind: str, name: str = "", sizes: dict[str, float] | None = None) -> kt.Mechanism:
    """The robot that `kinetree new mechanism --template` writes."""
    return mechanism_from_toml(f'name = "{name or kind}"\n{walker_text(kind, sizes)}')


ROBOTS: dict[str, tuple[Callable[[], kt.Mechanism], float]] = {
    "five_link": (five_link, 5e4),
    "planar_biped": (kt.zoo.planar_biped, 2e4),
    "spatial_biped": (kt.zoo.spatial_biped, 2e4),
    "quadruped": (kt.zoo.quadruped, 2e4),
    "hexapod": (kt.zoo.hexapod, 2e4),
    "own_hexapod": (lambda: of_template("hexapod"), 1e5),  # legs of three joints; those of the zoo's have two
}
TEMPLATES = {f"template {name}": name for name in USUAL}  # robots of `kinetree new mechanism`, seeds 0 to 9


KNOWN = (*ROBOTS, *TEMPLATES)


def walk(trial: Trial, longest: float = 30.0) -> Outcome:
    """Walk until the steps are done, the robot falls, or the time is up."""
    robot, law = trial.robot, trial.law
    running = replace(law, period=trial.period).sampled(robot)
    running.reset()
    balance: Any = running._given.law
    walker = legged(robot)
    q, qd = _on_slope(law.start(robot), trial, walker), np.zeros(robot.n_dof)
    run = kt.simulation.Simulator(
        robot, trial.period, torque=np.zeros(robot.n_dof), ground=trial.ground, times=2, method="radau",
        rtol=1e-3, atol=1e-5,
    )  # fmt: skip
    up, ahead = walker.axes[-1], walker.axes[0]
    trunk = robot.body_index(walker.trunk)
    first = kt.forward_kinematics(robot, q)
    height, upright = up @ first.position[trunk], first.rotation[trunk]
    began, most, t, fell, pushed = time.process_time(), 0.0, 0.0, False, trial.push is None
    before = 0
    for tick in range(round(longest / trial.period)):
        t = tick * trial.period
        if t <= SETTLED:
            before = balance.steps
        if not pushed and trial.push is not None and _is_at(balance, before, trial.push[0]):
            qd[walker.moving[: len(walker.axes)]] += np.linalg.solve(
                walker.slides[:, : len(walker.axes)], walker.axes @ trial.push[1]
            )
            pushed = True
        found = kt.simulation.contact_forces(robot, trial.ground, q, qd)
        rows = np.hstack([found.force, found.penetration[:, None], found.velocity])
        running.sense(found.names, rows)
        try:
            tau = running(t, q, qd)
        except StopSimulation:
            fell = True
            break
        most = max(most, float(np.abs(tau).max()))
        try:
            motion = run.run(q, qd, torque=tau)
        except kt.errors.SimulationError:
            fell = True
            break
        q, qd = motion.q[-1].copy(), motion.qd[-1].copy()
        pose = kt.forward_kinematics(robot, q)
        feet = min(
            up @ (pose.position[k] + pose.rotation[k] @ foot.point)
            for foot in walker.feet
            for k in [robot.body_index(foot.body)]
        )
        tilt = math.acos(min(1.0, max(-1.0, float(up @ (pose.rotation[trunk] @ (upright.T @ up))))))
        if up @ pose.position[trunk] - feet < 0.6 * height or tilt > 1.0:
            fell = True
            break
        if balance.steps >= trial.steps:
            break
    way = ahead @ (kt.forward_kinematics(robot, q).position[trunk] - first.position[trunk])
    unit = robot.mass * G * walker.leg
    if fell and balance.diary.fallen is None:
        balance.diary.fallen = t
    why = balance.walked()[1].partition("; ")[2].partition(";")[0] if fell else ""
    seconds = time.process_time() - began
    share = balance.statistics()["torque_share"]
    return Outcome(balance.steps, fell, float(way) / max(t, 1e-9), most / unit, share, seconds, why)


def _is_at(balance: Any, before: int, share: float) -> bool:
    """Whether a step after number ``before`` on the left foot, or its group, has come to that share."""
    walk = balance.walk
    first = walk["steps"] > before and walk["group"] == 0
    return bool(first and walk["phase"] >= share * walk["period"])


def _on_slope(q: Any, trial: Trial, walker: Any) -> Any:
    """The start of a robot with more than two legs, tilted with the ground: all its feet stand on it."""
    normal = trial.ground.normal
    if normal is None or walker.is_biped:
        return q
    up, ahead = walker.axes[-1], walker.axes[0]
    angle = math.atan2(-float(ahead @ np.asarray(normal)), float(up @ np.asarray(normal)))
    tilted, lateral = q.copy(), np.cross(up, ahead)
    for k in walker.moving[3 : walker.n_base]:
        small = kt.jacobian(trial.robot, q, walker.trunk)[3:, k]
        if abs(small @ lateral) > 0.99:
            tilted[k] -= angle * np.sign(small @ lateral)
    return tilted


def trials(kind: str) -> Iterator[Trial]:
    """Everything that a robot is put through."""
    if kind in TEMPLATES:
        for seed in range(10):
            robot = random_robot(TEMPLATES[kind], seed)
            firm = kt.simulation.Soil(stiffness=200.0 * robot.mass * G / legged(robot).leg)
            yield Trial(f"random robot {seed}", robot, kt.Ground(firm), steps=10)
        return
    make, stiffness = ROBOTS[kind]
    robot = make()
    soil = kt.simulation.Soil(stiffness=stiffness)
    flat = kt.Ground(soil)
    walker = legged(robot)
    up, ahead = walker.axes[-1], walker.axes[0]
    left, unit = np.cross(up, ahead), math.sqrt(G * walker.leg)
    yield Trial("flat", robot, flat, 30)
    directions = {"forward": ahead, "backward": -ahead}
    if not walker.is_planar:
        directions |= {"left": left, "right": -left}
    for name, direction in directions.items():
        for size in (0.1, 0.2, 0.3):
            for share in (0.0, 0.25, 0.5, 0.75):
                what = f"push {name} {size:g} at {share:g} of a step"
                yield Trial(what, robot, flat, push=(share, size * unit * direction))
    for degrees in (3, -3, 5, -5):
        normal = up - math.tan(math.radians(degrees)) * ahead
        yield Trial(f"slope {degrees:+d} deg", robot, kt.Ground(soil, normal=normal))
    for name, sign in (("up", 1.0), ("down", -1.0)):
        stairs = [
            kt.simulation.Region(forward=(x, x + 0.5), height=sign * 0.02 * (i + 1))
            for i, x in enumerate(np.arange(0.5, 6.0, 0.5))
        ]
        yield Trial(f"stairs of 2 cm {name}", robot, kt.Ground(soil, regions=stairs))
    yield Trial("soft ground, 2 kN/m", robot, kt.Ground(kt.simulation.Soil()))
    yield Trial("hard ground, 100 kN/m", robot, kt.Ground(kt.simulation.Soil(stiffness=1e5)))
    yield Trial("friction 0.3", robot, kt.Ground(kt.simulation.Soil(stiffness=stiffness, friction=0.3)))
    for seed in (1, 2, 3):
        wrong = kt.control.perturb(robot, seed, mass=0.2, inertia=0.2, center=0.0)
        yield Trial(f"model wrong by 20 %, seed {seed}", robot, flat, law=kt.control.WalkingLaw(model=wrong))
    for period in (0.001, 0.002, 0.01):
        yield Trial(f"ticks of {1e3 * period:g} ms", robot, flat, period=period)
    for q, qd in ((0.001, 0.01), (0.003, 0.03), (0.01, 0.1)):
        law = kt.control.WalkingLaw(noise=(q, qd), seed=1)
        yield Trial(f"noise {q:g} rad, {qd:g} rad/s", robot, flat, law=law)
    for ticks in (1, 2, 3):
        yield Trial(f"delay {4 * ticks} ms", robot, flat, law=kt.control.WalkingLaw(delay=0.004 * ticks))
    speed = (0.1 if walker.has_soles else 0.15) * unit
    stop = kt.control.WalkingLaw([[0.0, speed], [3.0, speed], [4.0, 0.0], [6.0, 0.0], [7.0, speed]])
    yield Trial("stop at 3 s, go on at 6 s", robot, flat, law=stop)
    if not walker.is_planar:
        for degrees in (45, 90, 180):
            law = kt.control.WalkingLaw(heading=[[1.0, 0.0], [5.0, math.radians(degrees)]])
            yield Trial(f"{degrees} deg to the left in 4 s", robot, flat, law=law)
    for share in (0.2, 0.3, 0.4):
        yield Trial(f"speed {share:g} sqrt(g L)", robot, flat, law=kt.control.WalkingLaw(share * unit))
    if kind in ("five_link", "spatial_biped"):
        for seed in range(10):
            yield Trial(f"random robot {seed}", random_robot(kind, seed), flat)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("robots", nargs="*", default=list(ROBOTS), metavar="ROBOT", help=", ".join(KNOWN))
    parser.add_argument("--only", default="", help="trials whose names contain this word")
    options = parser.parse_args()
    heads = ("robot", "trial", "steps", "fell", "m/s", "torque, m g L", "of its limit", "CPU s")
    print("| " + " | ".join(heads) + " |\n" + "|---" * len(heads) + "|")
    for kind in options.robots:
        for trial in trials(kind):
            if options.only in trial.name:
                x = walk(trial)
                numbers = f"{x.speed:.2f} | {x.torque:.2f} | {x.share:.0%} | {x.seconds:.1f}"
                stated = f"fell: {x.why}" if x.fell else ""
                print(f"| {kind} | {trial.name} | {x.steps} | {stated} | {numbers} |", flush=True)


if __name__ == "__main__":
    main()

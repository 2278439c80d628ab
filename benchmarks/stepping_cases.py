"""Robots on their feet for the tables of steps: mechanism, pose, gains of servos, and the same in MuJoCo."""

from __future__ import annotations

import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import kinetree as kt
from kinetree.algebra.arrays import Array

G, DT, FRICTION = 9.81, 0.002, 0.8
DEGREE = np.pi / 180.0
POINT = 1e-3  # m: radius of the spheres that stand for points in MuJoCo
HIGH = 5.0  # m: from where heights of points are measured


@dataclass(frozen=True, eq=False)
class Standing:
    """A robot that stands, or hangs in the air without ground."""

    name: str
    mechanism: kt.Mechanism
    pose: Array
    kp: float
    kd: float
    friction: float = FRICTION
    on_ground: bool = True

    @property
    def ground(self) -> kt.Ground | None:
        """Level ground."""
        soil = kt.simulation.Soil(friction=self.friction)
        return kt.Ground(soil, normal=(0, 0, 1)) if self.on_ground else None

    def stepper(self, batch: int | None = None, dt: float = DT, threads: int | None = 1) -> kt.Stepper:
        """Its states, with the lowest contact points on the ground."""
        stepper = kt.Stepper(
            self.mechanism, dt, batch=batch, ground=self.ground, kp=self.kp, kd=self.kd, stops=False,
            threads=threads,
        )  # fmt: skip
        pose = self.placed()
        stepper.step(target=pose)
        stepper.reset(pose)
        return stepper

    def placed(self) -> Array:
        """The pose with its lowest contact points at height 0."""
        pose = np.array(self.pose)
        if self.on_ground:
            pose[2] += HIGH
            probe = kt.Stepper(self.mechanism, ground=self.ground)
            probe.reset(pose)
            pose[2] -= probe.contact.gap.min()
        return pose

    def mujoco(self, dt: float = DT, **options: str) -> Any:
        """MuJoCo's model: spheres for points, springs and dampers in the joints for the servos."""
        import mujoco

        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "robot.xml"
            kt.save(self.mechanism, path)
            root = ET.parse(path).getroot()
        self._prepare(root, {"timestep": str(dt), "integrator": "implicitfast"} | options)
        return mujoco.MjModel.from_xml_string(ET.tostring(root).decode())

    def _prepare(self, root: ET.Element, options: dict[str, str]) -> None:
        option = root.find("option")
        option = ET.SubElement(root, "option") if option is None else option
        for key, value in options.items():
            option.set(key, value)
        bodies = {body.get("name"): body for body in root.iter("body")}
        world = root.find("worldbody")
        assert world is not None
        for body in (world, *bodies.values()):
            for geom in list(body.findall("geom")):
                body.remove(geom)
        for part in ("actuator", "sensor", "keyframe"):
            for found in list(root.findall(part)):
                root.remove(found)
        rubs = {"friction": f"{self.friction} 0.005 0.0001"}
        if self.on_ground:
            ET.SubElement(world, "geom", type="plane", size="50 50 1", contype="1", conaffinity="2", **rubs)
            for point in self.mechanism.contact_points:
                at = " ".join(repr(float(x)) for x in point.position)
                ET.SubElement(
                    bodies[point.body], "geom", type="sphere", size=str(point.radius or POINT), pos=at,
                    contype="2", conaffinity="1", mass="0", **rubs,
                )  # fmt: skip
        for joint in root.iter("joint"):
            name = joint.get("name")
            if name in self.mechanism.joint_names:
                rest = float(self.pose[self.mechanism.joint_index(name)])
                joint.set("limited", "false")
                joint.set("stiffness", str(self.kp))
                joint.set("damping", str(self.kd))
                joint.set("springref", str(rest))


def tilted(slope: float) -> tuple[float, float, float]:
    """Gravity on a slope that descends along x."""
    return G * np.sin(slope), 0.0, -G * np.cos(slope)


def block(slope: float) -> Standing:
    """A block on a slope, friction 0.5."""
    build = kt.Builder("block", gravity=tilted(slope))
    handle = build.world.free("base").body("block", kt.Inertia.box(1.0, (0.2, 0.2, 0.1)))
    for k in range(4):
        handle.contact(f"corner{k}", at=(0.1 - 0.2 * (k % 2), 0.1 - 0.2 * (k // 2), -0.05))
    return Standing(f"block, {slope / DEGREE:g} degrees", build.build(), np.zeros(6), 0.0, 0.0, 0.5)


def quadruped(points: int = 4, slope: float = 0.0, on_ground: bool = True) -> Standing:
    """The quadruped on 4 points, or with 4 corners under each foot."""
    robot, pose = kt.zoo.quadruped(), np.zeros(18)
    pose[6:] = np.tile([0.0, -30 * DEGREE, 60 * DEGREE], 4)
    feet = [point for point in robot.contact_points if "foot" in point.name]
    if points == 16:
        feet = [corner for foot in feet for corner in _corners(robot, pose, foot)]
    robot = replace(robot, contact_points=tuple(feet)).with_gravity(tilted(slope))
    where = f"{points} points, {slope / DEGREE:g} degrees" if on_ground else "in the air"
    return Standing(f"quadruped, {where}", robot, pose, 200.0, 10.0, on_ground=on_ground)


def _corners(robot: kt.Mechanism, pose: Array, foot: kt.ContactPoint) -> list[kt.ContactPoint]:
    R = kt.forward_kinematics(robot, pose).rotation[robot.body_index(foot.body)]
    found = []
    for k, (x, y) in enumerate(((0.02, 0.02), (0.02, -0.02), (-0.02, 0.02), (-0.02, -0.02))):
        place = foot.position + R.T @ np.array([x, y, 0.0])
        found.append(kt.ContactPoint(f"{foot.name}_{k}", foot.body, place))
    return found


def biped() -> Standing:
    """The spatial biped."""
    pose = np.zeros(18)
    pose[6:] = np.tile([0.0, 0.0, -20 * DEGREE, 40 * DEGREE, -20 * DEGREE, 0.0], 2)
    return Standing("biped, 18 points", kt.zoo.spatial_biped(), pose, 1000.0, 30.0)


def human(points: int = 16, on_ground: bool = True) -> Standing:
    """The human of 55 degrees of freedom; 16 points are its 8, each with another one 4 mm higher."""
    person = kt.zoo.human()
    if points == 16:
        doubled = [
            kt.ContactPoint(f"{point.name}_{k}", point.body, point.position + 0.004 * k)
            for point in person.contact_points
            for k in (0, 1)
        ]
        person = replace(person, contact_points=tuple(doubled))
    where = f"{points} points" if on_ground else "in the air"
    return Standing(f"human, {where}", person, np.zeros(55), 1000.0, 50.0, on_ground=on_ground)


def hexapod() -> Standing:
    """The hexapod of the zoo."""
    robot = kt.zoo.hexapod()
    return Standing("hexapod", robot, np.zeros(robot.n_dof), 200.0, 10.0)


STANDING: tuple[Callable[[], Standing], ...] = (
    lambda: block(10 * DEGREE),
    lambda: block(25 * DEGREE),
    quadruped,
    lambda: quadruped(slope=10 * DEGREE),
    lambda: quadruped(16),
    lambda: quadruped(16, 10 * DEGREE),
    biped,
    human,
    hexapod,
)
TIMED: tuple[Callable[[], Standing], ...] = (
    lambda: quadruped(on_ground=False),
    lambda: human(on_ground=False),
    quadruped,
    lambda: quadruped(16),
    biped,
    human,
)
SLOPED: tuple[Callable[[], Standing], ...] = (
    lambda: quadruped(on_ground=False),
    quadruped,
    biped,
    lambda: human(8),
)

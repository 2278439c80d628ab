"""The tables of a study file that tasks share: their keys, units and defaults.

A task adds a table of its own, called as the task is, in its file in :mod:`kinetree.study.tasks`.
"""

from __future__ import annotations

import reprlib
from typing import Annotated, Any

from pydantic import BeforeValidator, ConfigDict, Field
from pydantic.json_schema import JsonSchemaValue

from kinetree.formats.file_values import Angle, Number, Vector
from kinetree.formats.schema import GraphBodyTable, MechanismTable, TerrainTable
from kinetree.formats.schema_parts import Table
from kinetree.model import zoo
from kinetree.simulation.options import METHODS
from kinetree.study.kinds import CONTROLLERS, TOOL_TIMINGS, TRAJECTORIES, for_editors
from kinetree.study.sweep_tables import SweepTable
from kinetree.study.values import (
    Allowed,
    AngleCourse,
    Course,
    Ends,
    Gains,
    Limits,
    Names,
    Numbers,
    Orientation,
    Positions,
    Positive,
    Rows,
    Seed,
    VectorOrRows,
    Whole,
    choice,
)

EACH = "a number for all, a list, or a table by joint name"
FUNCTION = "Python function 'file.py:name' in a file beside the study; runs only with --allow-code file.py"


class PayloadTable(GraphBodyTable):
    """A payload or a tool that is welded to a body of the mechanism."""

    name: str = Field("payload", description="Name of its body; default payload.")
    on: str = Field(description="Name of the body or frame that carries it; center, inertia are in its axes.")


class MechanismChoice(MechanismTable):
    """The mechanism: one of the zoo, a file, or described here as in a mechanism file."""

    name: str = Field("", description="Name of a mechanism that is described here.")
    gravity: Vector | None = Field(  # type: ignore[assignment]
        None, description="Gravitational acceleration in the world (m/s^2), instead of the mechanism's own."
    )
    zoo: choice("mechanism", lambda: zoo.ZOO) | None = Field(  # type: ignore[valid-type]
        None, description="Name of a mechanism that comes with Kinetree (see 'kinetree zoo')."
    )
    parameters: dict[str, Any] = Field(
        {},
        description="Parameters of the mechanism of the zoo; of a URDF or MJCF file those of kinetree.load: "
        "floating_base, allow_unphysical, strict, folder, packages, root, armature, contacts.",
    )
    file: str | None = Field(
        None, description="A .toml, .urdf, .sdf or .xml file, beside the study or on a path from there."
    )
    payload: list[PayloadTable] = Field([], description="What it carries, each a [[mechanism.payload]].")


class InitialTable(Table):
    """The state at the start; by default that of the trajectory, or zero and at rest."""

    state: str | None = Field(
        None, description="Name of a state of the mechanism, such as home, to begin with."
    )
    q: Positions | None = Field(None, description=f'Positions (rad or "90 deg", m): {EACH}; others are 0.')
    q_degrees: Gains | None = Field(None, description=f"Angles in degrees, instead of q: {EACH}.")
    qd: Gains | None = Field(None, description=f"Velocities (rad/s, m/s): {EACH}; others are 0.")
    qd_degrees: Gains | None = Field(None, description=f"Turning speeds in deg/s, instead of qd: {EACH}.")
    assemble: bool = Field(
        False,
        description="Closed loops: take q and qd as a guess, and the nearest state that fits the loops.",
    )
    hold: Names | None = Field(
        None, description="Closed loops: joints that keep q and qd while the others are fitted to the loops."
    )


class GaitTable(Table):
    """Numbers of a gait, instead of the book's for this robot ([Shah2013], Tables B.1 and B.2)."""

    step_time: Positive = Field(description="Time of a step T (s).")
    x0: Number = Field(description="Hips ahead of the supporting ankle when the step begins (m), < 0.")
    y0: Number = Field(0.0, description="Hips to the left of the supporting ankle then (m).")
    height: Positive = Field(description="Height of the hips above the ground z_h (m).")
    stride: Positive = Field(description="Distance of the supporting ankles l_s (m), -2 x0.")
    foot_height: Positive = Field(description="Height to which the swinging foot is lifted h_f (m).")


class TrajectoryTable(Table):
    """A prescribed motion."""

    model_config = ConfigDict(json_schema_extra=for_editors(TRAJECTORIES))

    kind: choice("trajectory", lambda: TRAJECTORIES) = Field(  # type: ignore[valid-type]
        description=f"Kind of motion: {', '.join(TRAJECTORIES)}."
    )
    duration: Positive | None = Field(None, description="Duration (s).")
    start: Positions | None = Field(None, description=f'Positions at the start (rad or "90 deg", m): {EACH}.')
    start_degrees: Gains | None = Field(None, description="Angles at the start in degrees, instead of start.")
    end: Positions | None = Field(None, description=f'Positions at the end (rad or "90 deg", m): {EACH}.')
    end_degrees: Gains | None = Field(None, description="Angles at the end in degrees, instead of end.")
    start_velocity: Gains | None = Field(None, description="cubic, quintic: velocities at the start.")
    end_velocity: Gains | None = Field(None, description="cubic, quintic: velocities at the end.")
    start_acceleration: Gains | None = Field(None, description="quintic: accelerations at the start.")
    end_acceleration: Gains | None = Field(None, description="quintic: accelerations at the end.")
    blend: Positive | None = Field(None, description="trapezoidal: part of the duration for speeding up.")
    velocity: Gains | None = Field(None, description="trapezoidal: largest velocities, without a duration.")
    acceleration: Gains | None = Field(
        None, description="trapezoidal: largest accelerations; tool_...: of the tool (m/s^2)."
    )
    points: Rows | None = Field(
        None,
        description="bspline: control points, interpolate, fastest: positions, a row of n_dof numbers each; "
        "tool_through: places in the world (m).",
    )
    times: Numbers | None = Field(None, description="interpolate: times of the points (s), from 0.")
    degree: Whole | None = Field(None, description="bspline, interpolate: degree of the spline; default 3.")
    file: str | None = Field(
        None, description="file: CSV with a header 'time, joint1, ...' and rows of numbers (s, rad, m)."
    )
    function: str | None = Field(None, description=f"function: of t (s), returns q, qd, qdd. {FUNCTION}.")
    along: Names | None = Field(
        None,
        description='follow: coordinates of the path, as many as freedoms: "x", "y", "z", "rx", "ry", "rz" '
        "of the body, or names of joints if no body is given.",
    )
    body: str | None = Field(None, description="follow: the body that follows the path.")
    point: Vector | None = Field(None, description="follow: its point (m, in its frame); default its origin.")
    guess: Positions | None = Field(
        None, description=f'follow: a pose that selects the branch (rad or "90 deg", m): {EACH}; default 0.'
    )
    center: Numbers | None = Field(
        None, description="follow, tool_circle: a circle about these values of the coordinates (m)."
    )
    radius: Positive | None = Field(None, description="follow: its radius, in the first two of them (m).")
    turns: Number | None = Field(None, description="follow, tool_circle: how often it goes round; default 1.")
    tool: str | None = Field(None, description="tool_...: name of the body or frame that follows the path.")
    to: Vector | None = Field(None, description="tool_line, tool_circle: place of the end in the world (m).")
    by: Vector | None = Field(None, description="tool_line: way of the tool in the world (m), instead of to.")
    via: Vector | None = Field(None, description="tool_circle: a place of the arc between start and to (m).")
    normal: Vector | None = Field(None, description="tool_circle: axis of the circle; default z.")
    orientation: Orientation | None = Field(
        None,
        description='tool_...: "keep" (default), "free", "turn" with a circle, or roll, pitch and yaw of the '
        "end in the world (rad); tool_through: or a row of these for each point.",
    )
    free_axis: choice("axis", lambda: ("x", "y", "z")) | None = Field(  # type: ignore[valid-type]
        None, description="tool_...: axis of the tool about which it may rotate."
    )
    hold: Names | None = Field(
        None, description="tool_...: joints that stay still, of arms with more than the path prescribes."
    )
    speed: Positive | None = Field(
        None, description="tool_...: the tool's largest speed (m/s), with acceleration (m/s^2)."
    )
    smoothing: Positive | None = Field(
        None, description="fastest: time over which the timing is averaged (s); default not at all."
    )
    timing: choice("timing", lambda: TOOL_TIMINGS) | None = Field(  # type: ignore[valid-type]
        None, description=f"tool_...: {', '.join(TOOL_TIMINGS)} (within the model's limits)."
    )
    independent: Names | None = Field(
        None,
        description="Closed loops, any kind: joints that move as prescribed; the others follow on the loops, "
        "their positions at the start being a guess.",
    )
    steps: Whole | None = Field(None, description="gait: number of steps; default as the duration needs.")
    gait: GaitTable | None = Field(None, description="gait, single_support: its numbers; default the book's.")


class TorqueTable(Table):
    """Torques of the joints; by default none."""

    constant: Gains | None = Field(
        None, description=f"Torques that never change (N m, N): {EACH}; others are 0."
    )
    file: str | None = Field(
        None, description="CSV with a header 'time, joint1, ...' and rows of numbers (s, N m, N)."
    )
    function: str | None = Field(None, description=f"Function of t, q, qd. {FUNCTION}.")
    actuators: str | list[Number] | dict[str, Number] | None = Field(
        None,
        description="The mechanism's own actuators, with the controls (unit of each) of one of its states by "
        "name, given for all of them, or by actuator.",
    )


class ModelErrorTable(Table):
    """What the controller's model gets wrong, drawn evenly from ranges."""

    seed: Seed = Field(0, description="The same seed gives the same errors.")
    mass: Number = Field(0.1, description="Largest relative error of masses.")
    inertia: Number = Field(0.1, description="Largest relative error of moments of inertia.")
    center: Number = Field(0.01, description="Largest error of centres of mass along each axis (m).")
    tilt: Number = Field(0.0, description="Largest error of principal axes (rad).")
    friction: Number = Field(0.0, description="Largest relative error of friction.")


class ControllerTable(Table):
    """The law that follows the trajectory."""

    model_config = ConfigDict(json_schema_extra=for_editors(CONTROLLERS))

    kind: choice("controller", lambda: CONTROLLERS) = Field(  # type: ignore[valid-type]
        description=f"Kind of law: {', '.join(CONTROLLERS)} ([Shah2013], chapter 9)."
    )
    kp: Gains | None = Field(None, description=f"Gain of the position error: {EACH}.")
    kd: Gains | None = Field(None, description="Gain of the velocity error; default 2 sqrt(kp).")
    bandwidth: Gains | None = Field(
        None,
        description="Instead of kp and kd: how fast errors vanish (rad/s); kp = bandwidth^2, times the "
        "largest inertia of each joint along the trajectory for laws that give torques.",
    )
    damping: Gains | None = Field(
        None,
        description="With a bandwidth: damping of errors; kd = 2 damping bandwidth; default 1, critical.",
    )
    ki: Gains | None = Field(None, description="pid, computed_torque: gain of the summed error; default 0.")
    q_cost: Gains | None = Field(
        None, description=f"lqr: cost of squared position errors (1/rad^2, 1/m^2): {EACH}; default 1."
    )
    qd_cost: Gains | None = Field(
        None, description="lqr: cost of squared velocity errors (s^2/rad^2, s^2/m^2); default 1."
    )
    tau_cost: Gains | None = Field(
        None, description="lqr: cost of squared torques beside those of the motion (1/(N m)^2); default 1."
    )
    limits: Limits | None = Field(
        None, description='Largest torques (N m, N), or "model" for the mechanism\'s; default none.'
    )
    period: Positive | None = Field(None, description="Sampling time of a digital controller (s).")
    time_constant: Gains | None = Field(
        None, description="Lag of the actuators' currents behind the law (s); default none."
    )
    torque_constant: Gains | None = Field(
        None, description="With a time_constant: torque of a unit current (N m/A, N/A); default 1."
    )
    knows_ground: bool = Field(
        True, description="computed_torque: whether its model knows the forces of the ground."
    )
    torques: str | None = Field(
        None, description="feedforward: CSV of torques; default those of the trajectory, computed first."
    )
    model_error: ModelErrorTable | None = Field(None, description="Errors of the law's model; default none.")
    speed: Course | None = Field(
        None,
        description="walking: speed (m/s), or rows [t, speed] with straight lines between; default 0.1 "
        "sqrt(g L), L the length of the legs, or 0.15 sqrt(g L) on point feet; 0 steps in place.",
    )
    heading: AngleCourse | None = Field(
        None, description='walking: heading to the left (rad or "90 deg"), or rows [t, heading]; default 0.'
    )
    forward: Vector | None = Field(None, description="walking: direction of heading 0; default x.")
    step_time: Positive | None = Field(
        None, description="walking: time of a step, in sqrt(height / g); default 1.5."
    )
    clearance: Number | None = Field(
        None, description="walking: height to which feet are lifted, in L; default 0.08."
    )
    width: Positive | None = Field(
        None,
        description="walking: distance of a biped's feet, in L, at least that of the hips; default 0.15.",
    )
    height: Positive | None = Field(
        None, description="walking: height of the hips, in L; lower hips bend the knees more; default 0.88."
    )
    delay: Number | None = Field(
        None, description="walking: time until torques act (s), a multiple of the period; default 0."
    )
    noise: Ends | None = Field(
        None, description="walking: standard deviations of what is measured of q and qd; default [0, 0]."
    )
    seed: Seed | None = Field(None, description="walking: the same seed gives the same noise; default 0.")
    function: str | None = Field(None, description=f"function: of t, q, qd. {FUNCTION}.")


class SoilTable(Table):
    """How the ground answers to a point that enters it ([Shah2013], appendix D, Table 10.10)."""

    stiffness: Positive | None = Field(None, description="Stiffness k (N/m); default 2000.")
    damping: Number | None = Field(None, description="Damping (N s/m); default by overdamping.")
    overdamping: Number | None = Field(
        None, description="Damping as 2 overdamping sqrt(k m), m the mass of the mechanism; default 10."
    )
    ramp: Positive | None = Field(
        None, description="Depth over which the damping of rising points grows (m)."
    )
    friction: Number | None = Field(None, description="Coefficient of friction; default 0.7.")
    slipping: Number | None = Field(None, description="Slope of the friction force at rest (N s/m).")
    dust: Number | None = Field(None, description="Thickness of a layer without springs (m); default 0.")
    lowered_spring: bool | None = Field(None, description="Whether springs begin below the dust.")


class RegionTable(Table):
    """A rectangle of the ground with a height and a soil of its own."""

    forward: Ends | None = Field(None, description="From where to where along the ground's forward (m).")
    side: Ends | None = Field(None, description="From where to where across it (m).")
    height: Number = Field(0.0, description="Height above the plane (m).")
    soil: SoilTable | None = Field(None, description="Its soil; default that of the ground.")


class GroundTable(SoilTable):
    """A plane that contact points cannot pass without a force; its keys may be left out, all of them."""

    floor: bool = Field(
        False,
        description="Take plane and friction from the mechanism's floor, and soil as firm as its weight "
        "needs, where the other keys say nothing else.",
    )
    origin: Vector | None = Field(None, description="A point of the plane (m); default the origin.")
    normal: Vector | None = Field(None, description="Direction out of the ground; default against gravity.")
    forward: Vector | None = Field(None, description="First direction along the ground; default x.")
    points: Names | None = Field(None, description="Names of the contact points that touch; default all.")
    region: list[RegionTable] = Field([], description="Rectangles that differ.")
    terrain: TerrainTable | None = Field(None, description="Heights above the plane; default none.")


class LoadTable(Table):
    """A wrench on a body: constant, or straight lines between rows."""

    body: str = Field(description="Name of the body.")
    force: VectorOrRows | None = Field(
        None, description="Force (N), or a row for each instant of s or times; default 0."
    )
    moment: VectorOrRows | None = Field(
        None, description="Moment (N m), or a row for each instant of s or times; default 0."
    )
    point: Vector | None = Field(None, description="Where the force acts, in the body frame (m).")
    frame: choice("frame", lambda: ("world", "body")) = Field(  # type: ignore[valid-type]
        "world", description="Axes of force and moment: world or body."
    )
    s: Numbers | None = Field(
        None,
        description="predict: instants of the rows, s = t / T from 0 to 1, ascending; equal ones make a "
        "jump; default constant.",
    )
    times: Numbers | None = Field(
        None,
        description="All but predict: instants of the rows (s), ascending; equal ones make a "
        "jump; default constant.",
    )


class EventTable(Table):
    """Something to watch for: a joint that passes a position or velocity, or a function that passes zero."""

    name: str = Field(description="Name of the event, also for integrator.stop_at.")
    joint: str | None = Field(None, description="Name of the joint that is watched.")
    position: Angle | None = Field(None, description='Its position (rad or "90 deg", m) that is passed.')
    velocity: Number | None = Field(None, description="Its velocity (rad/s, m/s) that is passed.")
    function: str | None = Field(None, description=f"Function of t, q, qd that passes zero. {FUNCTION}.")
    direction: choice("direction", lambda: ("rising", "falling", "both")) = Field(  # type: ignore[valid-type]
        "both", description='Which passages count: "rising", "falling" or "both".'
    )
    stop: bool = Field(False, description="Whether the motion ends there.")


class StopsTable(Table):
    """Springs and dampers that meet joints at their limits."""

    stiffness: Positive = Field(1e3, description="Stiffness (N m/rad or N/m).")
    damping: Number = Field(10.0, description="Damping (N m s/rad or N s/m).")


class IntegratorTable(Table):
    """How a simulation is computed."""

    method: choice("method", lambda: METHODS) | None = Field(  # type: ignore[valid-type]
        None,
        description='"dop853" or "dopri5" (adaptive), "radau" (stiff), "rk4", '
        '"semi_implicit_euler" (fixed step); default "auto": one is chosen, and radau where it is needed.',
    )
    rtol: Positive | None = Field(
        None, description="Relative error of a step; default 1e-8, on the ground 1e-6."
    )
    atol: Positive | None = Field(None, description="Absolute error of a step; default rtol.")
    step: Positive | None = Field(None, description="Step of the fixed methods (s).")
    max_step: Positive | None = Field(None, description="Longest step (s).")
    friction_speed: Positive | None = Field(None, description="Speed up to which dry friction grows; 1e-3.")
    gimbal: choice("way", lambda: ("switch", "error")) | None = Field(  # type: ignore[valid-type]
        None, description='What to do near gimbal lock: "switch" Euler sequences or "error".'
    )
    stop_at: Names | None = Field(
        None, description="Events that end the motion: touch_down, lift_off, joint_limit."
    )
    baumgarte: Positive | None = Field(
        None, description="Rate (1/s) at which accelerations close loops, instead of projections."
    )
    energy_tolerance: Positive | None = Field(
        None, description="Relative error of the energy balance that the audit allows."
    )


class VerdictsTable(Table):
    """What is allowed of a simulated motion before its audit fails; a key that is false is not judged."""

    position: Allowed | None = Field(None, description="Beyond the joints' limits (rad, m); default 0.01.")
    position_at_stops: Allowed | None = Field(
        None, description="The same where [stops] meet the joints; default 0.1."
    )
    velocity: Allowed | None = Field(
        None, description="Beyond the joints' velocity limits, as a part of them; default 0.01."
    )
    effort: Allowed | None = Field(
        None, description="Beyond the joints' effort limits, as a part of them; default 0.01."
    )
    tilt: Allowed | None = Field(
        None, description="Tilt of a controlled floating base beyond the motion asked for (rad); default 1."
    )
    height: Allowed | None = Field(
        None, description="Part of its height above its feet that such a base may lose; default 0.5."
    )
    depth: Allowed | None = Field(
        None, description="Depth of bodies in the ground below the deepest contact point (m); default 0.02."
    )
    growth: Allowed | None = Field(
        None, description="Error of control at the end beside the motion asked for; default 10."
    )


class OutputTable(Table):
    """What the result holds."""

    samples: Whole | None = Field(None, description="Number of equally spaced times; default 201.")
    times: Numbers | None = Field(None, description="The times themselves (s), instead of samples.")
    reactions: bool = Field(False, description="Whether the joint reaction wrenches are computed.")


class PlotTable(Table):
    """What 'kinetree run --plot' and 'kinetree plot' draw."""

    variables: Names | None = Field(None, description="Names such as q, tau; default the most telling ones.")
    joints: Names | None = Field(None, description="Names of joints; default all.")


def _function_alone(value: object) -> object:
    """The torque table, also from a function or numbers alone: torque = "laws.py:law"."""
    if isinstance(value, str):
        return {"function": value}
    if isinstance(value, list):
        return {"constant": value}
    if not isinstance(value, dict):
        raise ValueError(
            f'must be a table, a list or a text such as "laws.py:law", got {reprlib.repr(value)}'
        )
    return value


class _OrFunction:
    """Offers a function or numbers alone besides the table."""

    def __get_pydantic_json_schema__(self, core_schema: Any, handler: Any) -> JsonSchemaValue:
        alone = [{"type": "string"}, {"type": "array", "items": {"type": "number"}}]
        return {"anyOf": [*alone, handler(core_schema)]}


Torque = Annotated[TorqueTable, BeforeValidator(_function_alone), _OrFunction()]


class SharedTables(Table):
    """The tables that several tasks use."""

    mechanism: MechanismChoice | None = Field(None, description="The mechanism.")
    initial: InitialTable | None = Field(None, description="State at the start.")
    trajectory: TrajectoryTable | None = Field(None, description="Prescribed motion.")
    torque: Torque | None = Field(None, description="Torques of the joints.")
    controller: ControllerTable | None = Field(None, description="Law that follows the trajectory.")
    ground: GroundTable | None = Field(None, description="Ground that contact points touch.")
    load: list[LoadTable] = Field([], description="Wrenches on bodies, each a [[load]].")
    event: list[EventTable] = Field([], description="What is watched for, each an [[event]].")
    stops: StopsTable | None = Field(None, description="Springs at the joints' limits.")
    integrator: IntegratorTable | None = Field(None, description="How a simulation is computed.")
    verdicts: VerdictsTable | None = Field(None, description="What is allowed of a simulated motion.")
    output: OutputTable | None = Field(None, description="What the result holds.")
    plot: PlotTable | None = Field(None, description="What is drawn.")
    sweep: SweepTable | None = Field(None, description="Many cases of the study, for 'kinetree sweep'.")

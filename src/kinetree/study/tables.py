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
from kinetree.simulation.settings import METHODS
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
FUNCTION = "Python function 'file.py:name' in a file next to the study; runs only with --allow-code file.py"


class PayloadTable(GraphBodyTable):
    """A payload or a tool that is welded to a body of the mechanism."""

    name: str = Field("payload", description="Name of its body; default payload.")
    on: str = Field(description="Name of the body or frame that carries it; center, inertia are in its axes.")


class MechanismChoice(MechanismTable):
    """The mechanism: one of the zoo, a file, or described here as in a mechanism file."""

    name: str = Field("", description="Name of a mechanism described in the study.")
    gravity: Vector | None = Field(  # type: ignore[assignment]
        None, description="Gravitational acceleration in the world (m/s^2), instead of that of the mechanism."
    )
    zoo: choice("mechanism", lambda: zoo.ZOO) | None = Field(  # type: ignore[valid-type]
        None, description="Name of a mechanism that comes with Kinetree (see 'kinetree zoo')."
    )
    parameters: dict[str, Any] = Field(
        {},
        description="Parameters of the mechanism of the zoo; of a URDF or MJCF file those of kinetree.load: "
        "floating_base, allow_unphysical, strict, folder, packages, root, armature, contacts, arguments.",
    )
    file: str | None = Field(
        None, description="A .toml, .urdf, .sdf or .xml file, with a path relative to the study."
    )
    payload: list[PayloadTable] = Field([], description="Payloads, each a [[mechanism.payload]].")


class InitialTable(Table):
    """The state at the start; by default that of the trajectory, or zero and at rest."""

    state: str | None = Field(None, description="Name of a state of the mechanism, such as home.")
    q: Positions | None = Field(None, description=f'Positions (rad or "90 deg", m): {EACH}; others are 0.')
    q_degrees: Gains | None = Field(None, description=f"Angles in degrees, instead of q: {EACH}.")
    qd: Gains | None = Field(None, description=f"Velocities (rad/s, m/s): {EACH}; others are 0.")
    qd_degrees: Gains | None = Field(None, description=f"Angular velocities in deg/s, instead of qd: {EACH}.")
    assemble: bool = Field(
        False,
        description="Closed loops: q and qd are a guess; the nearest state that closes the loops is used.",
    )
    hold: Names | None = Field(
        None, description="Closed loops: joints that keep q and qd while the others close the loops."
    )


class BookGaitTable(Table):
    """Numbers of a gait, instead of the book's for this robot ([Shah2013], Tables B.1 and B.2)."""

    step_time: Positive = Field(description="Time of a step T (s).")
    x0: Number = Field(description="Hips ahead of the supporting ankle when the step begins (m), < 0.")
    y0: Number = Field(0.0, description="Hips to the left of the supporting ankle then (m).")
    height: Positive = Field(description="Height of the hips above the ground z_h (m).")
    stride: Positive = Field(description="Distance between supporting ankles l_s (m), -2 x0.")
    foot_height: Positive = Field(description="Height of the swing foot h_f (m).")


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
    blend: Positive | None = Field(
        None, description="trapezoidal: fraction of the duration for acceleration."
    )
    velocity: Gains | None = Field(None, description="trapezoidal: largest velocities, without a duration.")
    acceleration: Gains | None = Field(
        None, description="trapezoidal: largest accelerations; tool_...: of the tool (m/s^2)."
    )
    points: Rows | None = Field(
        None,
        description="bspline: control points, interpolate, fastest: positions, a row of n_dof numbers each; "
        "tool_through: positions in the world (m).",
    )
    times: Numbers | None = Field(None, description="interpolate: times of the points (s), from 0.")
    degree: Whole | None = Field(None, description="bspline, interpolate: degree of the spline; default 3.")
    file: str | None = Field(
        None, description="file: CSV with a header 'time, joint1, ...' and rows of numbers (s, rad, m)."
    )
    function: str | None = Field(None, description=f"function: of t (s), returns q, qd, qdd. {FUNCTION}.")
    along: Names | None = Field(
        None,
        description='follow: coordinates of the path, as many as degrees of freedom: "x", "y", "z", "rx", '
        '"ry", "rz" of the body, or names of joints if no body is given.',
    )
    body: str | None = Field(None, description="follow: the body that follows the path.")
    point: Vector | None = Field(None, description="follow: its point (m, in its frame); default its origin.")
    center: Numbers | None = Field(
        None, description="follow, tool_circle: a circle about these values of the coordinates (m)."
    )
    radius: Positive | None = Field(None, description="follow: its radius, in the first two of them (m).")
    turns: Number | None = Field(None, description="follow, tool_circle: number of revolutions; default 1.")
    tool: str | None = Field(None, description="tool_...: name of the body or frame that follows the path.")
    to: Vector | None = Field(None, description="tool_line, tool_circle: final position in the world (m).")
    by: Vector | None = Field(
        None, description="tool_line: displacement of the tool in the world (m), instead of to."
    )
    via: Vector | None = Field(
        None, description="tool_circle: a position on the arc between start and to (m)."
    )
    normal: Vector | None = Field(None, description="tool_circle: axis of the circle; default z.")
    orientation: Orientation | None = Field(
        None,
        description='tool_...: "keep" (default), "free", "turn" with a circle, or roll, pitch and yaw of the '
        "end in the world (rad); tool_through: or a row of these for each point.",
    )
    free_axis: choice("axis", lambda: ("x", "y", "z")) | None = Field(  # type: ignore[valid-type]
        None, description="tool_...: axis of the tool about which it may rotate."
    )
    hold: Names | None = Field(None, description="tool_...: joints that stay still, for redundant arms.")
    speed: Positive | None = Field(
        None, description="tool_...: the tool's largest speed (m/s), with acceleration (m/s^2)."
    )
    smoothing: Positive | None = Field(
        None, description="fastest: time over which the timing is averaged (s); default none."
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
    gait: BookGaitTable | None = Field(
        None, description="gait, single_support: its numbers; default the book's."
    )


class TorqueLawTable(Table):
    """Torques of the joints; by default none."""

    constant: Gains | None = Field(None, description=f"Constant torques (N m, N): {EACH}; others are 0.")
    file: str | None = Field(
        None, description="CSV with a header 'time, joint1, ...' and rows of numbers (s, N m, N)."
    )
    function: str | None = Field(None, description=f"Function of t, q, qd. {FUNCTION}.")
    actuators: str | list[Number] | dict[str, Number] | None = Field(
        None,
        description="The actuators of the mechanism, with controls (unit of each): the name of one of its "
        "states, a list for all actuators, or a table by actuator.",
    )


class ModelErrorTable(Table):
    """What the controller's model gets wrong, drawn evenly from ranges."""

    seed: Seed = Field(0, description="Seed of the errors.")
    mass: Number = Field(0.1, description="Largest relative error of masses.")
    inertia: Number = Field(0.1, description="Largest relative error of moments of inertia.")
    center: Number = Field(0.01, description="Largest error of centers of mass along each axis (m).")
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
        description="Instead of kp and kd: bandwidth of the error dynamics (rad/s); kp = bandwidth^2, times "
        "the "
        "largest inertia of each joint along the trajectory for laws that give torques.",
    )
    damping: Gains | None = Field(
        None,
        description="With a bandwidth: damping ratio; kd = 2 damping bandwidth; default 1, critical.",
    )
    ki: Gains | None = Field(
        None, description="pid, computed_torque: gain of the integrated error; default 0."
    )
    q_cost: Gains | None = Field(
        None, description=f"lqr: cost of squared position errors (1/rad^2, 1/m^2): {EACH}; default 1."
    )
    qd_cost: Gains | None = Field(
        None, description="lqr: cost of squared velocity errors (s^2/rad^2, s^2/m^2); default 1."
    )
    tau_cost: Gains | None = Field(
        None,
        description="lqr: cost of squared torques relative to those of the motion (1/(N m)^2); default 1.",
    )
    limits: Limits | None = Field(
        None, description='Largest torques (N m, N), or "model" for the mechanism\'s; default none.'
    )
    period: Positive | None = Field(None, description="Sampling time of a digital controller (s).")
    time_constant: Gains | None = Field(
        None, description="Lag of the actuators' currents behind the law (s); default none."
    )
    torque_constant: Gains | None = Field(
        None, description="With a time_constant: torque per unit current (N m/A, N/A); default 1."
    )
    knows_ground: bool = Field(
        True, description="computed_torque: whether its model knows the ground forces."
    )
    torques: str | None = Field(
        None, description="feedforward: CSV of torques; default those of the trajectory, computed first."
    )
    model_error: ModelErrorTable | None = Field(None, description="Errors of the law's model; default none.")
    speed: Course | None = Field(
        None,
        description="walking: speed (m/s), or rows [t, speed] with linear interpolation; default 0.1 "
        "sqrt(g L), L the length of the legs, or 0.15 sqrt(g L) on point feet; 0 steps in place.",
    )
    heading: AngleCourse | None = Field(
        None, description='walking: heading to the left (rad or "90 deg"), or rows [t, heading]; default 0.'
    )
    forward: Vector | None = Field(None, description="walking: direction of heading 0; default x.")
    step_time: Positive | None = Field(
        None, description="walking: duration of a step, in sqrt(height / g); default 1.5."
    )
    clearance: Number | None = Field(
        None, description="walking: height to which feet are lifted, in L; default 0.08."
    )
    width: Positive | None = Field(
        None,
        description="walking: distance between a biped's feet, in L, at least that of the hips; default "
        "0.15.",
    )
    height: Positive | None = Field(
        None, description="walking: height of the hips, in L; lower hips bend the knees more; default 0.88."
    )
    delay: Number | None = Field(
        None, description="walking: time until torques act (s), a multiple of the period; default 0."
    )
    noise: Ends | None = Field(
        None, description="walking: standard deviations of the measurement noise of q and qd; default [0, 0]."
    )
    seed: Seed | None = Field(None, description="walking: seed of the noise; default 0.")
    function: str | None = Field(None, description=f"function: of t, q, qd. {FUNCTION}.")


class SoilTable(Table):
    """How the ground answers to a point that enters it ([Shah2013], appendix D, Table 10.10)."""

    stiffness: Positive | None = Field(None, description="Stiffness k (N/m); default 2000.")
    damping: Number | None = Field(None, description="Damping (N s/m); default by overdamping.")
    overdamping: Number | None = Field(
        None, description="Damping as 2 overdamping sqrt(k m), m the mass of the mechanism; default 10."
    )
    ramp: Positive | None = Field(
        None, description="Depth over which the damping of rising points ramps up (m)."
    )
    friction: Number | None = Field(None, description="Coefficient of friction; default 0.7.")
    slipping: Number | None = Field(None, description="Slope of the friction force at rest (N s/m).")
    dust: Number | None = Field(None, description="Thickness of a layer without springs (m); default 0.")
    lowered_spring: bool | None = Field(None, description="Whether springs begin below the dust.")


class RegionTable(Table):
    """A rectangle of the ground with a height and a soil of its own."""

    forward: Ends | None = Field(
        None, description="Extent [from, to] along the ground's forward direction (m)."
    )
    side: Ends | None = Field(None, description="Extent [from, to] across it (m).")
    height: Number = Field(0.0, description="Height above the plane (m).")
    soil: SoilTable | None = Field(None, description="Its soil; default that of the ground.")


class GroundTable(SoilTable):
    """A plane that contact points cannot pass without a force; its keys may be left out, all of them."""

    floor: bool = Field(
        False,
        description="Take plane and friction from the mechanism's floor, and a stiffness chosen from its "
        "weight; other keys override them.",
    )
    origin: Vector | None = Field(None, description="A point of the plane (m); default the origin.")
    normal: Vector | None = Field(None, description="Direction out of the ground; default against gravity.")
    forward: Vector | None = Field(None, description="First direction along the ground; default x.")
    points: Names | None = Field(None, description="Names of the contact points that touch; default all.")
    contact: choice("contact", lambda: ("soil", "rigid")) = Field(  # type: ignore[valid-type]
        "soil",
        description="soil: springs and dampers; rigid: nothing sinks in, friction sticks, joints stop at "
        "their limits, in fixed steps of integrator.max_step.",
    )
    region: list[RegionTable] = Field([], description="Rectangular regions with other height or soil.")
    terrain: TerrainTable | None = Field(None, description="Heights above the plane; default none.")


class LoadTable(Table):
    """A wrench on a body: constant, or linear between rows."""

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
        description="predict: instants of the rows, s = t / T from 0 to 1, ascending; a repeated instant is "
        "a jump; default constant.",
    )
    times: Numbers | None = Field(
        None,
        description="Except predict: instants of the rows (s), ascending; a repeated instant is a jump; "
        "default constant.",
    )


class EventTable(Table):
    """An event: a joint passes a position or velocity, or a function passes zero."""

    name: str = Field(description="Name of the event, also for integrator.stop_at.")
    joint: str | None = Field(None, description="Name of the joint.")
    position: Angle | None = Field(
        None, description='Position (rad or "90 deg", m) whose crossing is the event.'
    )
    velocity: Number | None = Field(None, description="Velocity (rad/s, m/s) whose crossing is the event.")
    function: str | None = Field(
        None, description=f"Function of t, q, qd whose zero is the event. {FUNCTION}."
    )
    direction: choice("direction", lambda: ("rising", "falling", "both")) = Field(  # type: ignore[valid-type]
        "both", description='Direction of the crossing: "rising", "falling" or "both".'
    )
    stop: bool = Field(False, description="Whether the motion ends there.")


class StopsTable(Table):
    """Springs and dampers that meet joints at their limits."""

    stiffness: Positive = Field(1e3, description="Stiffness (N m/rad or N/m).")
    damping: Number = Field(10.0, description="Damping (N m s/rad or N s/m).")


class IntegratorTable(Table):
    """Integrator and tolerances of a simulation."""

    method: choice("method", lambda: METHODS) | None = Field(  # type: ignore[valid-type]
        None,
        description='"dop853" or "dopri5" (adaptive), "radau" (stiff), "rk4", '
        '"semi_implicit_euler" (fixed step); default "auto": chosen automatically, radau for stiff systems.',
    )
    rtol: Positive | None = Field(
        None, description="Relative error of a step; default 1e-8, on the ground 1e-6."
    )
    atol: Positive | None = Field(None, description="Absolute error of a step; default rtol.")
    step: Positive | None = Field(None, description="Step of the fixed methods (s).")
    max_step: Positive | None = Field(None, description="Longest step (s).")
    friction_speed: Positive | None = Field(
        None, description="Speed below which Coulomb friction is smoothed; default 1e-3."
    )
    gimbal: choice("way", lambda: ("switch", "error")) | None = Field(  # type: ignore[valid-type]
        None, description='Behavior near gimbal lock: "switch" Euler sequences or "error".'
    )
    stop_at: Names | None = Field(
        None, description="Events that end the motion: touch_down, lift_off, joint_limit."
    )
    baumgarte: Positive | None = Field(
        None, description="Rate (1/s) of Baumgarte stabilization of loops, instead of projection."
    )
    energy_tolerance: Positive | None = Field(
        None, description="Relative error of the energy balance that the audit allows."
    )


class VerdictsTable(Table):
    """What is allowed of a simulated motion before its audit fails; a key that is false is not judged."""

    position: Allowed | None = Field(
        None, description="Allowed excess over joint limits (rad, m); default 0.01."
    )
    position_at_stops: Allowed | None = Field(
        None, description="Allowed excess over joint limits with [stops] (rad, m); default 0.1."
    )
    velocity: Allowed | None = Field(
        None, description="Allowed excess over velocity limits, as a fraction; default 0.01."
    )
    effort: Allowed | None = Field(
        None, description="Allowed excess over effort limits, as a fraction; default 0.01."
    )
    tilt: Allowed | None = Field(
        None,
        description="Allowed tilt of a controlled floating base relative to the reference motion "
        "(rad); default 1.",
    )
    height: Allowed | None = Field(
        None, description="Fraction of its height above the feet that such a base may lose; default 0.5."
    )
    depth: Allowed | None = Field(
        None,
        description="Allowed depth of bodies in the ground below the deepest contact point (m); "
        "default 0.02.",
    )
    sinking: Allowed | None = Field(
        None,
        description="Allowed depth of contact points in the ground relative to the height of the base "
        "above them; default 0.15.",
    )
    slip: Allowed | None = Field(
        None,
        description="Allowed slip of a loaded foot under a law relative to the distance traveled; "
        "default 0.2.",
    )
    following: Allowed | None = Field(
        None, description="Allowed error of joints relative to the motion that a law follows; default 0.5."
    )
    drift: Allowed | None = Field(
        None,
        description="Allowed distance of a floating base from its reference along the ground relative to "
        "the length of that; default 0.5.",
    )


class OutputTable(Table):
    """Contents of the result."""

    samples: Whole | None = Field(
        None, description="Number of equally spaced times; default 201, in searches as many as were checked."
    )
    times: Numbers | None = Field(
        None, description="The times themselves (s), instead of samples; not in searches."
    )
    reactions: bool = Field(False, description="Whether the joint reaction wrenches are computed.")


class PlotTable(Table):
    """What 'kinetree run --plot' and 'kinetree plot' draw."""

    variables: Names | None = Field(None, description="Names such as q, tau; default depends on the task.")
    joints: Names | None = Field(None, description="Names of joints; default all.")
    bodies: Names | None = Field(
        None, description="Names of bodies whose forces are drawn; default all, or those of the joints."
    )


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


TorqueLaw = Annotated[TorqueLawTable, BeforeValidator(_function_alone), _OrFunction()]


class SharedTables(Table):
    """The tables that several tasks use."""

    mechanism: MechanismChoice | None = Field(None, description="The mechanism.")
    initial: InitialTable | None = Field(None, description="State at the start.")
    trajectory: TrajectoryTable | None = Field(None, description="Prescribed motion.")
    torque: TorqueLaw | None = Field(None, description="Joint torques.")
    controller: ControllerTable | None = Field(None, description="Control law.")
    ground: GroundTable | None = Field(None, description="Ground that contact points touch.")
    load: list[LoadTable] = Field([], description="Wrenches on bodies, each a [[load]].")
    event: list[EventTable] = Field([], description="Events, each an [[event]].")
    stops: StopsTable | None = Field(None, description="Springs at the joints' limits.")
    integrator: IntegratorTable | None = Field(None, description="Integrator and tolerances.")
    verdicts: VerdictsTable | None = Field(None, description="Tolerances for checks of a simulated motion.")
    output: OutputTable | None = Field(None, description="Contents of the result.")
    plot: PlotTable | None = Field(None, description="Plots.")
    sweep: SweepTable | None = Field(None, description="Many cases of the study, for 'kinetree sweep'.")

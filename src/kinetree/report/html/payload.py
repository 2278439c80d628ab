"""What the page's script reads: scene, frames and curves as JSON that cannot end the element it stands in."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.algebra.rotation_vector import quaternion
from kinetree.formats.regular_file import PathLike
from kinetree.formats.surface import hex_color
from kinetree.model.body import WORLD, Shape
from kinetree.report.arrows import force_arrows
from kinetree.report.frames import Frames, GroundPlane, frames, motion_names
from kinetree.report.html.panels import CurvePanel, report_panels
from kinetree.report.palette import LINE_COLORS
from kinetree.report.panel import seen_events
from kinetree.report.scene import WORLD_INDEX, Scene, SceneBody, SceneJoint, scene
from kinetree.report.solid import Solid
from kinetree.result.result import Result
from kinetree.result.variables import NET_REACTION

MOST_MOTIONS = 24
MOST_NUMBERS = 200_000  # in all frames
MOST_FRAMES, FEWEST_FRAMES = 300, 40
LONGEST_ARROW = 0.38  # beside the mechanism's size
STEPS = 65535  # of a corner's place along each edge of the box around a surface
SINGLE = 1e-30, 1e30  # sizes that fit into four bytes
UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def payload_json(data: dict[str, Any]) -> str:
    r"""JSON in which no text can be taken for HTML.

    >>> payload_json({"name": "</script>"})
    '{"name":"\\u003c/script\\u003e"}'
    """
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character, escaped in UNSAFE.items():
        text = text.replace(character, escaped)
    return text


def payload(result: Result, meshes: PathLike | None = None) -> dict[str, Any]:
    """All that moves on the page; without positions over time only the curves.

    ``meshes`` is the folder of the mechanism's mesh files.
    """
    names = motion_names(result)[:MOST_MOTIONS]
    moving = scene(result.mechanism, meshes)
    most = MOST_NUMBERS // max(1, len(names) * _numbers_per_frame(result, moving))
    count = int(np.clip(most, FEWEST_FRAMES, MOST_FRAMES))
    motions = [frames(result, k, count) for k in range(len(names))]
    longest = LONGEST_ARROW * moving.size
    return {
        "scene": _scene(moving),
        "ground": _ground(motions[0].ground if motions else None),
        "obstacles": _obstacles(result, motions),
        "motions": [_motion(motion) for motion in motions],
        "arrows": {
            "contact": _scale(motions, "contact", longest),
            "reaction": _scale(motions, "reaction", longest),
            "longest": longest,
        },
        "panels": [_panel(panel) for panel in report_panels(result, len(names))],
        "events": [{"time": x.time, "kind": x.kind, "name": x.name} for x in seen_events(result.events)],
        "colors": list(LINE_COLORS),
    }


def _numbers_per_frame(result: Result, moving: Scene) -> int:
    reactions = 3 * len(moving.bodies) if {"reaction", NET_REACTION} & {*result} else 0
    return 7 * len(moving.bodies) + reactions + 7 * len(moving.contacts) + 7


def packed(values: Any) -> str:
    """Numbers as base64 of little-endian floats: of four bytes ("f:") where they fit, else of eight ("d:").

    >>> packed([1.0, 2.0])
    'f:AACAPwAAAEA='
    """
    array = np.asarray(values, dtype=np.float64)
    size = np.abs(array[np.isfinite(array) & (array != 0.0)])
    single = size.size == 0 or (size.min() > SINGLE[0] and size.max() < SINGLE[1])
    kind, dtype = ("f", "<f4") if single else ("d", "<f8")
    return f"{kind}:{b64encode(array.astype(dtype).tobytes()).decode('ascii')}"


def _rounded(values: Any) -> Any:
    return np.round(np.asarray(values, dtype=np.float64), 6).tolist()


# ---- the mechanism --------------------------------------------------------------------------------------


def _scene(moving: Scene) -> dict[str, Any]:
    return {
        "size": moving.size,
        "up": _rounded(moving.up),
        "normal": None if moving.normal is None else _rounded(moving.normal),
        "bodies": [_body(body) for body in moving.bodies],
        "joints": [_joint(joint) for joint in moving.joints],
        "contacts": [
            {"name": x.name, "body": x.body, "position": _rounded(x.position)} for x in moving.contacts
        ],
        "loops": [
            [{"body": x.body, "position": _rounded(x.position)} for x in pair] for pair in moving.loops
        ],
        "springs": [
            [{"body": x.body, "position": _rounded(x.position)} for x in pair] for pair in moving.springs
        ],
    }


def _body(body: SceneBody) -> dict[str, Any]:
    solids = [_solid(solid) for solid in body.solids]
    return {
        "name": body.name,
        "color": body.color,
        "shapes": [_shape(shape) for shape in body.shapes],
        "solids": solids,
        "center": _rounded(body.center),
        "mass": body.mass,
    }


def _solid(solid: Solid) -> dict[str, Any]:
    """Corners as places in a box, of two bytes each; triangles by number."""
    low, high = solid.corners.min(axis=0), solid.corners.max(axis=0)
    step = np.maximum(high - low, 1e-12) / STEPS
    corners = np.round((solid.corners - low) / step).astype("<u2")
    kind = "<u2" if len(corners) <= STEPS + 1 else "<u4"
    color = {} if solid.color is None else {"color": solid.color}
    return {
        "low": _significant(low),
        "step": _significant(step),
        "corners": b64encode(corners.tobytes()).decode("ascii"),
        "triangles": f"{kind[2]}:{b64encode(solid.triangles.astype(kind).tobytes()).decode('ascii')}",
        **color,
    }


def _significant(values: Array) -> list[float]:
    return [float(f"{x:.7g}") for x in values]


def _shape(shape: Shape) -> dict[str, Any]:
    place = shape.placement
    color = {} if shape.color is None else {"color": hex_color(np.array(shape.color))}
    return {
        **color,
        "kind": shape.kind,
        "size": _rounded(shape.size),
        "position": _rounded(place.position),
        "turn": _rounded(quaternion(place.rotation)),
    }


def _joint(joint: SceneJoint) -> dict[str, Any]:
    return {
        "name": joint.name,
        "kind": joint.kind.name,
        "body": joint.body,
        "parent": joint.parent,
        "seat": _rounded(joint.seat),
        "axis": None if joint.axis is None else _rounded(joint.axis),
        "grounded": joint.grounded,
        "covered": joint.covered,
    }


# ---- the motions ----------------------------------------------------------------------------------------


def _motion(motion: Frames) -> dict[str, Any]:
    stated: dict[str, Any] = {
        "name": motion.name,
        "time": packed(motion.time),
        "position": packed(motion.position),
        "quaternion": packed(motion.quaternion),
        "centerOfMass": packed(motion.center_of_mass),
    }
    extras = {
        "contactForce": motion.contact_force,
        "centerOfPressure": motion.center_of_pressure,
        "reaction": motion.reaction,
        "footForce": motion.foot_force,
        "footPoint": motion.foot_point,
    }
    stated |= {key: packed(values) for key, values in extras.items() if values is not None}
    if motion.traces:
        stated["traces"] = [packed(points) for _, points in motion.traces]
    polygons = motion.support_polygons
    if motion.touching is not None and any(len(polygon) for polygon in polygons):
        stated["support"] = [np.round(polygon, 4).ravel().tolist() for polygon in polygons]
    return stated


def _obstacles(result: Result, motions: list[Frames]) -> list[dict[str, Any]]:
    """Shapes that the motion keeps out of, each in the frame of a body, -1 for the world."""
    mechanism = result.mechanism
    return [
        {"body": WORLD_INDEX if x.body == WORLD else mechanism.body_index(x.body), **_shape(x.shape)}
        for x in (motions[0].obstacles if motions else ())
    ]


def _scale(motions: list[Frames], kind: str, longest: float) -> float:
    """Meters of an arrow per newton, the same in all motions; 0 if there are no forces."""
    found = [x.per_newton for motion in motions for x in force_arrows(motion, longest) if x.kind == kind]
    return min((x for x in found if x > 0.0), default=0.0)


def _ground(plane: GroundPlane | None) -> dict[str, Any] | None:
    if plane is None:
        return None
    regions = [
        {"forward": _finite(x.forward), "side": _finite(x.side), "height": x.height} for x in plane.regions
    ]
    vectors = {key: _rounded(getattr(plane, key)) for key in ("origin", "normal", "forward", "side")}
    terrain = {} if plane.terrain is None else {"terrain": _rounded(plane.surface())}
    return {**vectors, "regions": regions, **terrain}


def _finite(ends: tuple[float, float]) -> list[float]:
    return [float(np.clip(x, -1e6, 1e6)) for x in ends]


# ---- the curves -----------------------------------------------------------------------------------------


def _panel(panel: CurvePanel) -> dict[str, Any]:
    times: dict[bytes, int] = {}
    grids: list[Array] = []
    lines = []
    for line, motion, asked in panel.lines:
        key = line.time.tobytes()
        if key not in times:
            times[key] = len(grids)
            grids.append(line.time)
        lines.append(
            {
                "label": line.label,
                "motion": motion,
                "asked": asked,
                "time": times[key],
                "values": packed(line.values),
            }
        )
    return {
        "title": panel.title,
        "symbol": panel.symbol,
        "unit": panel.unit,
        "logarithmic": panel.logarithmic,
        "limits": [{"label": label, "value": value} for label, value in panel.limits],
        "window": panel.window,
        "times": [packed(grid) for grid in grids],
        "lines": lines,
    }

"""Geoms of a compiled MuJoCo model that may touch the floor, as contact points; the floor itself.

Shapes are points, spheres and ellipsoids as `contact_shapes` makes them. On a height field the same points
touch a smooth surface near MuJoCo's triangles (`triangles`). The margin at which contact begins is added to
the radius of points and spheres.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array, frozen
from kinetree.errors import listed
from kinetree.formats.contact_choice import ContactChoice
from kinetree.formats.contact_shapes import Ball, balls, corner_balls
from kinetree.formats.mjcf_compiled import CompiledModel, is_soft, placement_from
from kinetree.model.contact_point import ContactPoint
from kinetree.model.floor import UP, Floor
from kinetree.model.height_field import HeightField

SOFT = 0.5  # a first number of solimp below this lets bodies sink in by millimeters; MuJoCo's own is 0.9
LEVEL = 0.7  # a plane whose normal has at least this part along up is a floor, others are walls
TRIAL = """
<mujoco><worldbody><geom type="plane" size="1 1 1" margin="0.01" gap="0.004"/><body pos="0 0 0.1"><freejoint/>
<geom size="0.1" margin="0.02"/></body></worldbody></mujoco>
"""
SHAPES = ("sphere", "capsule", "box", "ellipsoid", "cylinder", "mesh")
NEAR = 2e-3  # m, between the triangles and the smooth surface
MOST = 60_000  # heights of a grid that was made finer
PARTS, FEW = 4, 2  # of the distance of two heights, where both surfaces are compared; of large grids


def smooth_ground(
    heights: Array, forward: tuple[float, float], side: tuple[float, float]
) -> tuple[HeightField, float]:
    """A height field within `NEAR` of the triangles over a grid, and its largest distance (m) from them.

    Of grids 1, 2, 4, ... times as fine, the coarsest that is near enough; at most `MOST` heights are made,
    so that where many heights jump the distance may be larger.

    >>> field, distance = smooth_ground(np.array([[0, 0, 0], [0, 0.1, 0], [0, 0, 0]]), (-1, 1), (-1, 1))
    >>> field.shape, distance < 2e-3
    ((33, 33), True)
    """
    n, m = heights.shape
    parts = 1
    while True:
        field = HeightField(over_triangles(heights, parts), forward, side)
        compared = PARTS if np.size(field.heights) <= MOST else FEW
        distance = float(np.abs(field.finer(compared) - over_triangles(heights, parts * compared)).max())
        parts *= 2
        if distance <= NEAR or (parts * (n - 1) + 1) * (parts * (m - 1) + 1) > MOST:
            return field, distance


def over_triangles(heights: Array, parts: int) -> Array:
    """Heights of the triangles over a grid (n, m) on a grid ``parts`` times finer.

    Each cell has two triangles that meet on its diagonal from the lower to the higher numbers of both
    directions, as MuJoCo's cells do.

    >>> over_triangles(np.array([[1.0, 0.0], [0.0, 0.0]]), 2).tolist()
    [[1.0, 0.5, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 0.0]]
    """
    (i, u), (j, v) = (_cells(n, parts) for n in heights.shape)
    i, u = i[:, None], u[:, None]
    low, high = heights[i, j], heights[i + 1, j + 1]
    first = low + u * (heights[i + 1, j] - low) + v * (high - heights[i + 1, j])
    second = low + v * (heights[i, j + 1] - low) + u * (high - heights[i, j + 1])
    found: Array = np.where(u >= v, first, second)
    return found


def _cells(n: int, parts: int) -> tuple[np.ndarray, Array]:
    """Cell and share of its length, of all places of a finer grid."""
    places = np.arange(parts * (n - 1) + 1)
    cell = np.minimum(places // parts, n - 2)
    return cell, places / parts - cell


def contacts(compiled: CompiledModel, choice: ContactChoice) -> tuple[list[ContactPoint], Floor | None]:
    """The contact points of all geoms that may touch the floor, and the floor, if there is one.

    Without a floor in the file, geoms of bodies that float, which may touch a usual floor, have points,
    unless other bodies are chosen.
    """
    if not compiled.works("CONTACT", "CONSTRAINT"):
        return [], None
    m = compiled.m
    g = _floor_geom(compiled)
    touching = [k for k in range(m.ngeom) if m.body_weldid[m.geom_bodyid[k]] != 0 and _meets(compiled, k, g)]
    choice.check_names(compiled.bodies[1:])
    bodies = {k: int(m.geom_bodyid[k]) for k in touching}
    touching = [
        k
        for k, b in bodies.items()
        if choice.wants(compiled.bodies[b], g is not None or _floats(compiled, b))
    ]
    points: list[ContactPoint] = []
    for k in touching:
        points += _points(compiled, k, g)
    choice.check_found(points)
    _note_margins(compiled, g, touching)
    _note_others(compiled, g, touching)
    _note_soft(compiled, g, touching)
    _note_torsion(compiled, g, touching)
    floor = None if g is None else _floor(compiled, g)
    return points, floor


# ---- the floor -------------------------------------------------------------------------------------------


def _floor_geom(compiled: CompiledModel) -> int | None:
    """The plane or height field of the world that is most nearly level; None if there is none.

    Of both, a height field that is not flat is what one stands on.
    """
    m = compiled.m
    best, level = None, LEVEL
    for g in range(m.ngeom):
        if m.body_weldid[m.geom_bodyid[g]] != 0 or not (m.geom_contype[g] or m.geom_conaffinity[g]):
            continue
        kind = compiled.label("mjtGeom", m.geom_type[g])
        if kind in ("plane", "hfield"):
            _, R = _place(compiled, g)
            up = -m.opt.gravity if m.opt.gravity.any() else np.array(UP)
            along = float(R[:, 2] @ up / np.linalg.norm(up))
            uneven = kind == "hfield" and not _is_flat(compiled, g)
            if along > LEVEL and along + uneven > level:
                best, level = g, along + uneven
    return best


def _is_flat(compiled: CompiledModel, g: int) -> bool:
    return not np.ptp(_heights(compiled, g)) > 0.0


def _heights(compiled: CompiledModel, g: int) -> Array:
    """Heights (m) of a height field above its geom's frame."""
    m, h = compiled.m, int(compiled.m.geom_dataid[g])
    first = int(m.hfield_adr[h])
    data = m.hfield_data[first : first + int(m.hfield_nrow[h] * m.hfield_ncol[h])]
    heights: Array = np.asarray(data, dtype=np.float64) * float(m.hfield_size[h][2])
    return heights


def _floor(compiled: CompiledModel, g: int) -> Floor:
    m = compiled.m
    position, R = _place(compiled, g)
    friction = float(m.geom_friction[g][0])
    if compiled.label("mjtGeom", m.geom_type[g]) == "hfield":
        heights = _heights(compiled, g)
        if not _is_flat(compiled, g):
            h = int(m.geom_dataid[g])
            across, along = (float(x) for x in m.hfield_size[h][:2])
            table = heights.reshape(int(m.hfield_nrow[h]), int(m.hfield_ncol[h])).T  # rows are along y
            terrain, distance = smooth_ground(table, (-across, across), (-along, along))
            if distance > NEAR:
                name = compiled.name("HFIELD", h) or f"hfield {h}"
                compiled.left_out.append(
                    f"edges of the triangles of height field '{name}': the smooth ground through its "
                    f"heights is up to {distance:.2g} m off"
                )
            return Floor(position, R[:, 2], friction, R[:, 0], terrain)
        position = position + heights[0] * R[:, 2]
    return Floor(position, R[:, 2], friction)


def _place(compiled: CompiledModel, g: int) -> tuple[Array, Array]:
    """Position and rotation in the world of a geom that is fixed there."""
    m, b = compiled.m, int(compiled.m.geom_bodyid[g])
    place = placement_from(m.geom_pos[g], m.geom_quat[g], f"geom {g}")
    while b > 0:
        place = placement_from(m.body_pos[b], m.body_quat[b], f"body {b}") @ place
        b = int(m.body_parentid[b])
    return place.position, place.rotation


# ---- pairs in contact ------------------------------------------------------------------------------------


def _meets(compiled: CompiledModel, k: int, g: int | None) -> bool:
    """Whether a geom may touch the floor; without one, a usual floor."""
    m = compiled.m
    if compiled.label("mjtGeom", m.geom_type[k]) not in SHAPES:
        return False
    if g is None:
        return bool((int(m.geom_contype[k]) & 1) or (int(m.geom_conaffinity[k]) & 1))
    if _pair(compiled, k, g) is not None:
        return True
    a, b = int(m.geom_bodyid[k]), int(m.geom_bodyid[g])
    if ((min(a, b) << 16) + max(a, b)) in m.exclude_signature:
        return False
    return bool(
        (int(m.geom_contype[k]) & int(m.geom_conaffinity[g]))
        or (int(m.geom_contype[g]) & int(m.geom_conaffinity[k]))
    )


def _pair(compiled: CompiledModel, k: int, g: int) -> int | None:
    m = compiled.m
    for p in range(m.npair):
        if {int(m.pair_geom1[p]), int(m.pair_geom2[p])} == {k, g}:
            return p
    return None


def _floats(compiled: CompiledModel, b: int) -> bool:
    """Whether the tree of a body moves on a free joint."""
    m = compiled.m
    root = int(m.body_rootid[b])
    joints = range(int(m.body_jntadr[root]), int(m.body_jntadr[root] + m.body_jntnum[root]))
    return any(compiled.joint_type(j) == "free" for j in joints)


def _friction(compiled: CompiledModel, k: int, g: int | None) -> float:
    """The coefficient of two geoms: of the one with priority, else the larger; 0 where contact is smooth."""
    m = compiled.m
    if g is None:
        return float(m.geom_friction[k][0]) if m.geom_condim[k] > 1 else 0.0
    pair = _pair(compiled, k, g)
    if pair is not None:
        return float(m.pair_friction[pair][0]) if m.pair_dim[pair] > 1 else 0.0
    first, second = int(m.geom_priority[k]), int(m.geom_priority[g])
    chosen = [k, g] if first == second else [k] if first > second else [g]
    smooth = max(int(m.geom_condim[x]) for x in chosen) == 1
    return 0.0 if smooth else max(float(m.geom_friction[x][0]) for x in chosen)


def _margin(compiled: CompiledModel, k: int, g: int | None) -> float:
    """The distance (m) at which two geoms rest on each other, as this MuJoCo makes it of their margins."""
    m, pair = compiled.m, None if g is None else _pair(compiled, k, g)
    summed, without_gap = _margin_rule(compiled.mj)
    if pair is not None:
        margin, gap = float(m.pair_margin[pair]), float(m.pair_gap[pair])
    else:
        both = [k] if g is None else [k, g]
        total = sum if summed else max
        margin, gap = (float(total(values[x] for x in both)) for values in (m.geom_margin, m.geom_gap))
    return max(0.0, margin - gap if without_gap else margin)


@functools.cache
def _margin_rule(mujoco: Any) -> tuple[bool, bool]:
    """Whether margins of two geoms are added (else the larger counts), and whether gaps are taken off."""
    model = mujoco.MjModel.from_xml_string(TRIAL)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    reach = float(data.contact[0].includemargin)
    return reach > 0.025, min(abs(reach - x) for x in (0.02, 0.03)) > 1e-3


def _note_margins(compiled: CompiledModel, floor: int | None, touching: list[int]) -> None:
    """List ellipsoids and cylinders with a margin, which is left out."""
    found = {k: _margin(compiled, k, floor) for k in touching if _balls(compiled, k)[0].half_axes is not None}
    wide = [k for k, margin in found.items() if margin]
    if wide:
        names = [_geom_name(compiled, k) for k in wide]
        largest = max(found.values())
        compiled.left_out.append(
            f"margins of contact up to {largest:g} m of ellipsoids and cylinders ({listed(names, 4)})"
        )


def _geom_name(compiled: CompiledModel, k: int) -> str:
    """The name of a geom, or one by its body and its number there."""
    m = compiled.m
    body = int(m.geom_bodyid[k])
    return compiled.name("GEOM", k) or f"{compiled.bodies[body]}_geom{k - int(m.body_geomadr[body])}"


def _note_others(compiled: CompiledModel, floor: int | None, touching: list[int]) -> None:
    """List contacts that have no counterpart."""
    m = compiled.m
    moving = m.body_weldid[m.geom_bodyid] != 0
    solid = (m.geom_contype != 0) | (m.geom_conaffinity != 0)
    hits = (m.geom_contype[:, None] & m.geom_conaffinity[moving]) | (
        m.geom_conaffinity[:, None] & m.geom_contype[moving]
    )
    things = [g for g in np.flatnonzero(~moving & hits.any(axis=1)).tolist() if g != floor]
    if things:
        names = [
            compiled.name("GEOM", g) or f"{compiled.label('mjtGeom', m.geom_type[g])} {g}" for g in things
        ]
        compiled.left_out.append(f"contacts with objects other than a floor ({listed(names, 4)})")
    if _may_meet_each_other(compiled, np.flatnonzero(moving & solid)) or m.npair > len(touching):
        compiled.left_out.append("contacts between bodies")


def _note_soft(compiled: CompiledModel, floor: int | None, touching: list[int]) -> None:
    """List contacts that the file makes much softer than MuJoCo's own numbers do: grounds here are firm."""
    by_impedance = [k for k in touching if float(_mixed(compiled, "solimp", k, floor)[0]) < SOFT]
    by_reference = [k for k in touching if is_soft(_mixed(compiled, "solref", k, floor))]
    for key, soft in (("solimp", by_impedance), ("solref", by_reference)):
        if soft:
            m = compiled.m
            names = [compiled.name("GEOM", k) or f"of {compiled.bodies[int(m.geom_bodyid[k])]}" for k in soft]
            compiled.left_out.append(f"softness of contacts by {key} ({listed(names, 4)})")


def _note_torsion(compiled: CompiledModel, floor: int | None, touching: list[int]) -> None:
    """List contacts with torsional or rolling friction: here a point resists sliding alone."""
    for least, what in ((4, "torsional friction"), (6, "rolling friction")):
        found = [k for k in touching if _dimension(compiled, k, floor) >= least]
        if found:
            names = [_geom_name(compiled, k) for k in found]
            compiled.left_out.append(f"{what} of contacts by condim ({listed(names, 4)})")


def _dimension(compiled: CompiledModel, k: int, g: int | None) -> int:
    """The number of directions (condim) in which two geoms act on each other."""
    m, pair = compiled.m, None if g is None else _pair(compiled, k, g)
    if pair is not None:
        return int(m.pair_dim[pair])
    if g is None or m.geom_priority[k] > m.geom_priority[g]:
        return int(m.geom_condim[k])
    both = int(m.geom_condim[k]), int(m.geom_condim[g])
    return both[1] if m.geom_priority[g] > m.geom_priority[k] else max(both)


def _mixed(compiled: CompiledModel, key: str, k: int, g: int | None) -> Array:
    """What solref or solimp of two geoms are together, mixed as MuJoCo does."""
    m, pair = compiled.m, None if g is None else _pair(compiled, k, g)
    if pair is not None:
        return frozen(getattr(m, f"pair_{key}")[pair])
    values = getattr(m, f"geom_{key}")
    own, other = frozen(values[k]), frozen(values[k if g is None else g])
    if g is None or m.geom_priority[k] > m.geom_priority[g]:
        return own
    if m.geom_priority[g] > m.geom_priority[k]:
        return other
    if key == "solref" and (own[0] <= 0.0 or other[0] <= 0.0):
        return np.minimum(own, other)
    weights = float(m.geom_solmix[k]), float(m.geom_solmix[g])
    share = weights[0] / sum(weights) if sum(weights) > 0.0 else 0.5
    both: Array = share * own + (1.0 - share) * other
    return both


def _may_meet_each_other(compiled: CompiledModel, geoms: Any) -> bool:
    m = compiled.m
    kind, other = m.geom_contype[geoms], m.geom_conaffinity[geoms]
    body = m.body_weldid[m.geom_bodyid[geoms]]
    parent = m.body_weldid[m.body_parentid[body]]
    hits = ((kind[:, None] & other) | (other[:, None] & kind)) != 0
    apart = (body[:, None] != body) & (parent[:, None] != body) & (body[:, None] != parent)
    return bool((hits & apart).any())


# ---- shapes as points ------------------------------------------------------------------------------------


def _points(compiled: CompiledModel, k: int, g: int | None) -> list[ContactPoint]:
    m = compiled.m
    body = compiled.bodies[int(m.geom_bodyid[k])]
    place = placement_from(m.geom_pos[k], m.geom_quat[k], f"geom {k}")
    name = _geom_name(compiled, k)
    parts = _balls(compiled, k)
    friction, margin = _friction(compiled, k, g), _margin(compiled, k, g)
    found = []
    for number, ball in enumerate(parts, start=1):
        own = name if len(parts) == 1 else f"{name}_{number}"
        radius, half = ball.radius, ball.half_axes
        if half is None:
            radius += margin
        point = ContactPoint(compiled.new_point(own), body, frozen(ball.position), radius, half, friction)
        found.append(point.moved(body, place))
    return found


def _balls(compiled: CompiledModel, k: int) -> list[Ball]:
    m = compiled.m
    kind = compiled.label("mjtGeom", m.geom_type[k])
    if kind == "mesh":
        return corner_balls(_vertices(compiled, k))
    x, y, z = (float(size) for size in m.geom_size[k])
    return balls(kind, (x, y, z))


def _vertices(compiled: CompiledModel, k: int) -> Array:
    """The corners of the convex hull of a mesh (n, 3), in the frame of its geom."""
    m, mesh = compiled.m, int(compiled.m.geom_dataid[k])
    first = int(m.mesh_vertadr[mesh])
    points = np.asarray(m.mesh_vert[first : first + int(m.mesh_vertnum[mesh])], dtype=np.float64)
    address = int(m.mesh_graphadr[mesh])
    if address < 0:
        return points
    count = int(m.mesh_graph[address])
    chosen = m.mesh_graph[address + 2 + count : address + 2 + 2 * count]
    corners: Array = points[chosen]
    return corners

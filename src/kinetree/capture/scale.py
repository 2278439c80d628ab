"""A model scaled to a person: factors of bodies from distances of markers in a static trial.

Each factor is the mean over pairs of markers of measured distance over the model's; everything on a body
is scaled along its axes: joints, centers of mass, markers, points of muscles. Masses keep their ratios,
and the total is the person's; second moments of mass are those of the stretched body, S' = m'/m D S D.
Fibers and tendons keep their share of their muscle's length.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array, number, numbers
from kinetree.algebra.placement import Placement
from kinetree.algebra.shown import Shown
from kinetree.algebra.smooth_functions import Scaled as ScaledFunction
from kinetree.algebra.smooth_functions import SmoothFunction
from kinetree.capture.fit import MarkerFit
from kinetree.capture.track import Tracked, Weights, chosen_markers, track
from kinetree.capture.trial import Trial
from kinetree.dynamics.muscles.paths import path_geometry
from kinetree.errors import FileError, InputError, expect, listed, shown, unknown_name
from kinetree.formats.files import save as save_mechanism
from kinetree.formats.osim_document import every, flag, last, name_of, socket, value
from kinetree.formats.osim_document import numbers as properties
from kinetree.formats.passed_over import PassedOver
from kinetree.formats.regular_file import PathLike, checked_path, file_content
from kinetree.formats.xml_file import Element, parse_xml
from kinetree.model.body import WORLD, Body, Shape
from kinetree.model.expected import expect_mechanism
from kinetree.model.inertia import Inertia
from kinetree.model.joint import Joint, Mimic
from kinetree.model.marker import Marker
from kinetree.model.mechanism import Link, Mechanism
from kinetree.model.muscle import MovingPoint, Muscle, PathPoint, Wrap

Factors = Mapping[str, Any]
AXES = "XYZ"
LEAST, MOST = 0.3, 3.0  # factors beyond are mistakes


@dataclass(frozen=True)
class Measurement:
    """A length of the body: distances of ``pairs`` of markers scale ``bodies``, all axes or some ("XY").

    >>> thigh = Measurement("thigh", [("R.ASIS", "R.Knee")], {"femur_r": "XYZ"})
    >>> thigh.bodies
    (('femur_r', 'XYZ'),)
    """

    name: str
    pairs: tuple[tuple[str, str], ...]
    bodies: tuple[tuple[str, str], ...]

    def __post_init__(self) -> None:
        pairs = tuple((str(a), str(b)) for a, b in self.pairs)
        given = self.bodies.items() if isinstance(self.bodies, Mapping) else self.bodies
        bodies = tuple((str(name), "".join(str(axes).upper().split())) for name, axes in given)
        if not pairs or not bodies:
            raise InputError(f"measurement '{self.name}' needs pairs of markers and bodies")
        for body, axes in bodies:
            if not axes or any(x not in AXES for x in axes):
                raise InputError(
                    f"measurement '{self.name}': axes of '{body}' must be of XYZ, got {shown(axes)}"
                )
        object.__setattr__(self, "pairs", pairs)
        object.__setattr__(self, "bodies", bodies)


@dataclass(frozen=True, eq=False, repr=False)
class ScaledModel(Shown):
    """A mechanism of a person's size, the ``factors`` (3,) of its bodies, and the pose of the static trial.

    Errors of ``static`` are those before markers are put where they were seen.

    ``measured`` has for each measurement the measured and the model's mean distance (m).
    """

    mechanism: Mechanism
    factors: dict[str, Array]
    measured: dict[str, tuple[float, float]]
    static: Tracked | None = None

    @property
    def mass(self) -> float:
        """Total mass (kg)."""
        return float(self.mechanism.mass)

    def save(self, path: PathLike, force: bool = False) -> None:
        """Write the mechanism to a file; TOML keeps all of it."""
        save_mechanism(self.mechanism, path, force)


def scale(
    mechanism: Mechanism,
    static: Trial | None = None,
    measurements: Sequence[Measurement] | PathLike = (),
    *,
    mass: float | None = None,
    factors: Factors | None = None,
    markers: Sequence[Marker] | PathLike | None = None,
    weights: Weights = None,
    place: bool = True,
) -> ScaledModel:
    """The mechanism scaled to the person of a static trial.

    ``measurements`` give factors of bodies, or name a file of OpenSim's measurement set; ``factors`` are
    set by hand, a number or three by body, and go before. ``mass`` (kg) is the person's; bodies keep
    their shares. ``markers`` replace the mechanism's, or name a marker set of OpenSim. With ``place`` the
    markers are put where they are in the static trial, at the pose that fits all of it best by
    ``weights``.

    >>> import kinetree as kt
    >>> arm = kt.Builder("arm")
    >>> fore = arm.world.revolute("elbow").body("fore", kt.Inertia.rod(1.0, end=(0.3, 0, 0)))
    >>> _ = fore.revolute("wrist", at=(0.3, 0, 0)).body("hand", kt.Inertia.point(0.5))
    >>> long = kt.markers.scale(arm.build(), factors={"fore": 1.1}, mass=2.0).mechanism
    >>> long.links[1].placement.position.round(6).tolist(), round(long.mass, 9)
    ([0.33, 0.0, 0.0], 2.0)
    """
    expect_mechanism(mechanism)
    if markers is not None:
        mechanism = replace(mechanism, markers=tuple(given_markers(markers, mechanism)))
    lengths = _measurements(measurements, mechanism)
    if lengths and static is None:
        raise InputError("measurements need a static trial")
    found, measured = _factors(mechanism, static, lengths)
    found |= _given(mechanism, factors or {})
    made = scaled_mechanism(mechanism, found, mass)
    pose = None
    if static is not None:
        expect(static, Trial, "static", "a Trial, as read_trial gives")
        pose = track(made, _mean(static), weights)
        if place:
            made = replace(made, markers=_placed(made, pose))
    return ScaledModel(made, found, measured, pose)


def _mean(static: Trial) -> Trial:
    """One frame: the mean of all in which each marker was seen."""
    seen = np.asarray(np.isfinite(static.positions).all(axis=-1))
    total = np.where(seen[..., None], static.positions, 0.0).sum(axis=0)
    count = seen.sum(axis=0)[:, None]
    mean = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    return replace(static, time=static.time[:1], positions=mean[None], forces=())


def _placed(mechanism: Mechanism, pose: Tracked) -> tuple[Marker, ...]:
    """Markers where they were seen, in the frames of their bodies at the pose."""
    fit = MarkerFit(mechanism, chosen_markers(mechanism, pose.markers), pose.weights)
    R, p, _ = fit.poses(pose.q)
    moved = {}
    for k, name in enumerate(pose.markers):
        seen = pose.trial.of(name)[0]
        if np.isfinite(seen).all():
            local = R[0, fit.axis[k]].T @ (seen - p[0, fit.axis[k]])
            moved[name] = fit.local[k], local
    found = []
    for marker in mechanism.markers:
        if marker.name in moved:
            body = mechanism.body_index(marker.body)
            turned = mechanism.tree.body_rotation[body].T @ (moved[marker.name][1] - moved[marker.name][0])
            x, y, z = (np.array(marker.position) + turned).tolist()
            marker = replace(marker, position=(x, y, z))
        found.append(marker)
    return tuple(found)


def _factors(
    mechanism: Mechanism, static: Trial | None, lengths: Sequence[Measurement]
) -> tuple[dict[str, Array], dict[str, tuple[float, float]]]:
    """Factors of bodies by measurements, and measured and the model's distances."""
    found: dict[str, Array] = {}
    measured: dict[str, tuple[float, float]] = {}
    if static is None or not lengths:
        return found, measured
    names = [m.name for m in mechanism.markers]
    fit = MarkerFit(mechanism, mechanism.markers, np.ones(len(names)))
    q = mechanism.states["default"].q if "default" in mechanism.states else np.zeros(mechanism.n_dof)
    places = dict(zip(names, fit.places(q[None])[0], strict=True))
    for length in lengths:
        for body, _ in length.bodies:
            mechanism.body_index(body)
        ours, theirs = [], []
        for pair in length.pairs:
            for name in pair:
                if name not in places:
                    raise InputError(f"measurement '{length.name}': {unknown_name('marker', name, names)}")
            ours.append(float(np.linalg.norm(places[pair[0]] - places[pair[1]])))
            apart = np.linalg.norm(static.of(pair[0]) - static.of(pair[1]), axis=1)
            if np.isnan(apart).all():
                raise InputError(
                    f"measurement '{length.name}': markers {listed(pair)} are never seen together in the "
                    "trial"
                )
            theirs.append(float(np.nanmean(apart)))
        factor = float(np.mean(np.array(theirs) / np.array(ours)))
        if not LEAST < factor < MOST:
            raise InputError(
                f"measurement '{length.name}': markers {listed(length.pairs[0])} are {theirs[0]:.3g} m apart "
                f"in the trial, {ours[0]:.3g} m in the model; no person has a factor of {factor:.3g}: look "
                "at units and names"
            )
        measured[length.name] = float(np.mean(theirs)), float(np.mean(ours))
        for body, axes in length.bodies:
            own = found.setdefault(body, np.ones(3))
            for axis in axes:
                own[AXES.index(axis)] = factor
    return found, measured


def _given(mechanism: Mechanism, factors: Factors) -> dict[str, Array]:
    """Factors that are set by hand."""
    found = {}
    for body, given in factors.items():
        mechanism.body_index(body)
        values = numbers(given, f"factor of '{body}'")
        if values.shape not in ((), (3,)) or not (values > 0.0).all():
            raise InputError(f"factor of '{body}' must be one positive number or three, got {shown(given)}")
        found[body] = np.array(np.broadcast_to(values, (3,)), dtype=np.float64)
    return found


def scaled_mechanism(
    mechanism: Mechanism, factors: Mapping[str, Array], mass: float | None = None
) -> Mechanism:
    """The mechanism with bodies stretched by factors (3,) along their axes; others keep their size."""
    return _Stretch(mechanism, factors, mass).mechanism()


class _Stretch:
    """A mechanism being scaled."""

    def __init__(self, mechanism: Mechanism, factors: Mapping[str, Array], mass: float | None) -> None:
        self.of, self.factors = mechanism, factors
        total = float(mechanism.mass)
        self.ratio = 1.0
        if mass is not None:
            if not number(mass, "mass") > 0.0 or total <= 0.0:
                raise InputError(f"mass must be > 0 kg, got {mass:g} for a mechanism of {total:g} kg")
            self.ratio = mass / total
        self.carrier: dict[str, tuple[str, Array]] = {}  # of bodies without mass

    def D(self, body: str) -> Array:
        """The factors of a body."""
        return self.factors.get(body, np.ones(3))

    def mechanism(self) -> Mechanism:
        """All of it scaled."""
        of = self.of
        made = replace(
            of,
            links=tuple(self._link(link) for link in of.links),
            loops=tuple(
                replace(
                    x,
                    placement_a=self._fixed(x.body_a, x.placement_a),
                    placement_b=self._fixed(x.body_b, x.placement_b),
                )
                for x in of.loops
            ),
            contact_points=tuple(
                replace(
                    x,
                    position=self.D(x.body) * x.position,
                    radius=0.0,
                    half_axes=float(self.D(x.body).mean()) * np.asarray(x.half_axes),
                )
                for x in of.contact_points
            ),
            springs=tuple(
                replace(x, point_a=self.D(x.body_a) * x.point_a, point_b=self.D(x.body_b) * x.point_b)
                for x in of.springs
            ),
            frames=tuple(replace(x, placement=self._fixed(x.body, x.placement)) for x in of.frames),
            markers=tuple(replace(x, position=self._point(x.body, x.position)) for x in of.markers),
            wraps=tuple(self._wrap(x) for x in of.wraps),
            muscles=tuple(self._path(x) for x in of.muscles),
        )
        return _with_fibers(of, made) if of.muscles else made

    def _point(self, body: str, place: Sequence[float]) -> tuple[float, float, float]:
        x, y, z = (self.D(body) * np.array(place)).tolist()
        return x, y, z

    def _fixed(self, body: str, place: Placement) -> Placement:
        return Placement.at(self.D(body) * place.position, place.rotation)

    def _link(self, link: Link) -> Link:
        """A link whose place is scaled with the body that it is on, or from which its joint begins."""
        parent, R = self.carrier.get(link.parent, (link.parent, np.eye(3)))
        inner = link.parent in self.carrier
        place = link.placement
        if inner and link.joint.is_fixed:  # the last of a chain: where the joint is in the child
            back = place.inverse
            moved = Placement.at(self.D(link.body.name) * back.position, back.rotation).inverse
        else:
            moved = Placement.at(R.T @ (self.D(parent) * (R @ place.position)), place.rotation)
        turned = R @ place.rotation
        if link.body.inertia.is_zero and link.parent != WORLD and link.body.name not in self.factors:
            self.carrier[link.body.name] = parent, turned
        elif link.body.inertia.is_zero and link.body.name not in self.factors:
            self.carrier[link.body.name] = WORLD, turned
        return Link(self._body(link.body), self._joint(link.joint, parent, turned), link.parent, moved)

    def _joint(self, joint: Joint, parent: str, turned: Array) -> Joint:
        """Slides that follow a coordinate go as far as the parent's size says."""
        if joint.mimic is None or not joint.is_slide:
            return joint
        along = turned @ joint.axes[0]
        factor = float(np.linalg.norm(self.D(parent) * along))
        if factor == 1.0:
            return joint
        mimic = joint.mimic
        if mimic.function is not None:
            return replace(joint, mimic=Mimic(mimic.joint, function=ScaledFunction(mimic.function, factor)))
        higher = tuple(factor * x for x in mimic.higher)
        others = tuple((name, factor * x) for name, x in mimic.others)
        own = factor * mimic.multiplier, factor * mimic.offset
        return replace(joint, mimic=Mimic(mimic.joint, *own, higher, others))

    def _body(self, body: Body) -> Body:
        D, inertia = self.D(body.name), body.inertia
        shapes = tuple(_shape(x, D) for x in body.shapes)
        if inertia.is_zero:
            return replace(body, shapes=shapes)
        second = 0.5 * np.trace(inertia.moment) * np.eye(3) - inertia.moment
        stretched = self.ratio * D[:, None] * second * D
        moment = np.trace(stretched) * np.eye(3) - stretched
        made = Inertia(
            self.ratio * inertia.mass, D * inertia.center, moment, allow_unphysical=inertia.allow_unphysical
        )
        return replace(body, inertia=made, shapes=shapes)

    def _wrap(self, wrap: Wrap) -> Wrap:
        """A wrap, its radii by the factors across it."""
        along = np.abs(wrap.placement.rotation.T @ np.diag(self.D(wrap.body)) @ wrap.placement.rotation)
        sx, sy, sz = np.diag(along)
        across = 0.5 * (sx + sy)
        radii = {
            "cylinder": (across,),
            "sphere": ((sx + sy + sz) / 3.0,),
            "ellipsoid": (sx, sy, sz),
            "torus": (across, across),
        }[wrap.shape]
        length = None if wrap.length is None else sz * wrap.length
        return replace(
            wrap,
            placement=self._fixed(wrap.body, wrap.placement),
            radii=tuple(float(a * b) for a, b in zip(radii, wrap.radii, strict=True)),
            length=length,
        )

    def _path(self, muscle: Muscle) -> Muscle:
        path: list[PathPoint | MovingPoint] = []
        for point in muscle.path:
            D = self.D(point.body)
            if isinstance(point, PathPoint):
                path.append(replace(point, position=self._point(point.body, point.position)))
                continue
            by = np.abs(np.diag(point.placement.rotation.T @ np.diag(D) @ point.placement.rotation))
            x, y, z = (_times(law, float(s)) for law, s in zip(point.laws, by, strict=True))
            path.append(replace(point, x=x, y=y, z=z, placement=self._fixed(point.body, point.placement)))
        return replace(muscle, path=tuple(path))


def _times(law: SmoothFunction | float, factor: float) -> SmoothFunction | float:
    return factor * law if isinstance(law, float) else ScaledFunction(law, factor)


def _shape(shape: Shape, D: Array) -> Shape:
    """A shape of a body that is stretched; meshes and boxes along their own axes."""
    own = np.abs(np.diag(shape.placement.rotation.T @ np.diag(D) @ shape.placement.rotation))
    if len(shape.size) == 3:
        size = shape.size * own
    elif len(shape.size) == 2:
        size = shape.size * np.array([0.5 * (own[0] + own[1]), own[2]])
    else:
        size = shape.size * float(own.mean())
    place = Placement.at(D * shape.placement.position, shape.placement.rotation)
    return replace(shape, size=size, placement=place)


def _with_fibers(before: Mechanism, after: Mechanism) -> Mechanism:
    """Optimal fiber lengths and slack lengths of tendons as long as their muscles' paths, at the default
    pose.
    """
    q = before.states["default"].q if "default" in before.states else np.zeros(before.n_dof)
    old, new = (path_geometry(x, q[None]).length[0] for x in (before, after))
    muscles = [
        replace(
            x,
            optimal_fiber_length=x.optimal_fiber_length * b / a,
            tendon_slack_length=x.tendon_slack_length * b / a,
        )
        for x, a, b in zip(after.muscles, old, new, strict=True)
    ]
    return replace(after, muscles=tuple(muscles))


def _measurements(given: Sequence[Measurement] | PathLike, mechanism: Mechanism) -> list[Measurement]:
    """Measurements; of those in a file, bodies that the mechanism does not have are left out."""
    if isinstance(given, str) or hasattr(given, "__fspath__"):
        known = []
        for x in read_measurements(given):
            bodies = tuple(pair for pair in x.bodies if pair[0] in mechanism.body_names)
            known += [replace(x, bodies=bodies)] if bodies else []
        return known
    found = list(given)
    for x in found:
        expect(x, Measurement, "measurements", "a list of Measurement, or a file")
    return found


def _document(path: PathLike) -> Element:
    place = checked_path(path)
    return parse_xml(file_content(place), str(place), PassedOver(str(place)))


def read_measurements(path: PathLike) -> list[Measurement]:
    """Measurements of a file of OpenSim's measurement set or scale tool; those that are not applied left out.

    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp(), "set.xml")
    >>> pair = "<MarkerPair><markers>HIP KNEE</markers></MarkerPair>"
    >>> body = "<BodyScale name='femur_r'><axes>X Y Z</axes></BodyScale>"
    >>> count = file.write_text(f"<M><Measurement name='thigh'>{pair}{body}</Measurement></M>")
    >>> read_measurements(file)[0].bodies
    (('femur_r', 'XYZ'),)
    """
    found = []
    for element in every(_document(path), "Measurement"):
        if not flag(element, "apply", True):
            continue
        pairs = [(value(x, "markers") or "").split() for x in every(element, "MarkerPair")]
        bodies = {name_of(x): "".join((value(x, "axes") or "").split()) for x in every(element, "BodyScale")}
        good = [(a[0], a[1]) for a in pairs if len(a) == 2]
        found.append(Measurement(name_of(element), tuple(good), tuple(bodies.items())))
    if not found:
        raise FileError(f"{checked_path(path)}: has no <Measurement> that is applied")
    return found


def read_markers(path: PathLike) -> list[Marker]:
    """Markers of a file of OpenSim's marker set.

    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp(), "markers.xml")
    >>> inside = "<body>femur_r</body><location>0 -0.4 0.05</location>"
    >>> count = file.write_text(f"<M><Marker name='KNEE'>{inside}</Marker></M>")
    >>> read_markers(file)[0].position
    (0.0, -0.4, 0.05)
    """
    found = []
    for element in every(_document(path), "Marker"):
        x, y, z = properties(element, "location", 3).tolist()
        body = last(socket(element, "parent_frame", "body") or "")
        found.append(Marker(name_of(element), WORLD if body == "ground" else body, (x, y, z)))
    if not found:
        raise FileError(f"{checked_path(path)}: has no <Marker>")
    return found


def given_markers(given: Sequence[Marker] | PathLike, mechanism: Mechanism) -> list[Marker]:
    """Markers of a file that are on bodies of the mechanism, or those given."""
    if not isinstance(given, str) and not hasattr(given, "__fspath__"):
        return list(given)
    found = read_markers(given)
    known = [x for x in found if x.body in (WORLD, *mechanism.body_names)]
    if not known:
        raise InputError(
            f"no marker of {given} is on a body of mechanism '{mechanism.name}': theirs are "
            f"{listed(sorted({x.body for x in found}))}"
        )
    return known

"""The same arm with muscles in OpenSim and here: two pins with axes askew, points and wraps of all kinds."""

from dataclasses import dataclass

import numpy as np

import kinetree as kt
from kinetree.algebra.smooth_functions import CubicSpline
from kinetree.model import MovingPoint, Muscle, PathPoint, PathWrap, Wrap

AT, TURN = (0.02, 0.3, -0.01), (0.3, -0.2, 0.4)  # the second joint in the upper arm: place (m), turns x, y, z
SPLINE = CubicSpline((-2.0, -0.8, 0.1, 0.9, 2.0), (0.0, 0.012, 0.02, 0.015, 0.004))
SHAPES = {
    "cylinder": (0.03,),
    "sphere": (0.06,),
    "ellipsoid": (0.05, 0.06, 0.08),
    "torus": (0.01, 0.05),
}


def turned(x, y, z):
    """Body-fixed rotations about x, y, z."""
    (a, b, c), (s, t, u) = np.cos([x, y, z]), np.sin([x, y, z])
    X = np.array([[1, 0, 0], [0, a, -s], [0, s, a]])
    Y = np.array([[b, 0, t], [0, 1, 0], [-t, 0, b]])
    Z = np.array([[c, -u, 0], [u, c, 0], [0, 0, 1]])
    return X @ Y @ Z


@dataclass
class Peer:
    """OpenSim's model with its state; lengths and moment arms of a muscle at poses."""

    osim: object
    model: object
    state: object

    def pose(self, q, qd=(0.0, 0.0)):
        for k, name in enumerate(("shoulder", "elbow")):
            c = self.model.getCoordinateSet().get(name)
            c.setValue(self.state, float(q[k]), False)
            c.setSpeedValue(self.state, float(qd[k]))
        self.model.realizeVelocity(self.state)
        return self.state

    def muscle(self, name):
        return self.model.getMuscles().get(name)

    def length(self, name, q):
        return self.muscle(name).getLength(self.pose(q))

    def arms(self, name, q):
        state, muscle = self.pose(q), self.muscle(name)
        coordinates = self.model.getCoordinateSet()
        return [muscle.computeMomentArm(state, coordinates.get(c)) for c in ("shoulder", "elbow")]


def arm(muscles, wraps=()):
    """The arm here."""
    builder = kt.Builder("arm")
    upper = builder.world.revolute("shoulder", axis="z").body("upper", kt.Inertia.rod(1.0, end=(0, 0.3, 0)))
    elbow = upper.revolute("elbow", axis="z", at=AT, rotation=turned(*TURN))
    elbow.body("fore", kt.Inertia.rod(1.0, end=(0, 0.3, 0)))
    for wrap in wraps:
        builder.wrap(wrap)
    for muscle in muscles:
        builder.muscle(muscle)
    return builder.build()


def opensim_arm(muscles, wraps=(), probes=()):
    """The arm in OpenSim."""
    import opensim as osim

    osim.Logger.setLevelString("error")
    model = osim.Model()
    inertia = osim.Inertia(0.01, 0.01, 0.01)
    bodies = {"world": model.getGround()}
    for name in ("upper", "fore"):
        bodies[name] = osim.Body(name, 1.0, osim.Vec3(0, 0.15, 0), inertia)
        model.addBody(bodies[name])
    zero = osim.Vec3(0)
    first = osim.PinJoint("first", bodies["world"], zero, zero, bodies["upper"], zero, zero)
    second = osim.PinJoint(
        "second", bodies["upper"], osim.Vec3(*AT), osim.Vec3(*TURN), bodies["fore"], zero, zero
    )
    for joint, name in ((first, "shoulder"), (second, "elbow")):
        joint.updCoordinate().setName(name)
        joint.updCoordinate().setRangeMin(-3.0)
        joint.updCoordinate().setRangeMax(3.0)
        model.addJoint(joint)
    objects = {wrap.name: _wrap(osim, wrap, bodies[wrap.body]) for wrap in wraps}
    for muscle in muscles:
        _muscle(osim, model, muscle, bodies, objects)
    for probe in probes:
        model.addProbe(probe)
    model.finalizeConnections()
    state = model.initSystem()
    return Peer(osim, model, state)


def _wrap(osim, wrap, body):
    made = {
        "cylinder": osim.WrapCylinder,
        "sphere": osim.WrapSphere,
        "ellipsoid": osim.WrapEllipsoid,
        "torus": osim.WrapTorus,
    }[wrap.shape]()
    made.setName(wrap.name)
    made.set_translation(osim.Vec3(*wrap.placement.position.tolist()))
    R = wrap.placement.rotation
    rotation = osim.Rotation(osim.Mat33(*R.ravel().tolist()))
    made.set_xyz_body_rotation(rotation.convertRotationToBodyFixedXYZ())
    if wrap.side is not None:
        made.set_quadrant(wrap.side)
    r = wrap.radii
    if wrap.shape == "cylinder":
        made.set_radius(r[0])
        made.set_length(wrap.length or 10.0)
    elif wrap.shape == "sphere":
        made.set_radius(r[0])
    elif wrap.shape == "ellipsoid":
        made.set_dimensions(osim.Vec3(*r))
    else:
        made.set_inner_radius(r[0])
        made.set_outer_radius(r[1])
    body.addWrapObject(made)
    return made


KINDS = {
    "degroote2016": "DeGrooteFregly2016Muscle",
    "millard2012": "Millard2012EquilibriumMuscle",
    "thelen2003": "Thelen2003Muscle",
}


def _muscle(osim, model, muscle, bodies, objects):
    made = getattr(osim, KINDS[muscle.kind])()
    made.setName(muscle.name)
    for key, value in (
        ("max_isometric_force", muscle.max_isometric_force),
        ("optimal_fiber_length", muscle.optimal_fiber_length),
        ("tendon_slack_length", muscle.tendon_slack_length),
        ("pennation_angle_at_optimal", muscle.pennation_angle),
        ("max_contraction_velocity", muscle.max_contraction_velocity),
        ("ignore_tendon_compliance", muscle.rigid_tendon),
        ("activation_time_constant", muscle.activation_time),
        ("deactivation_time_constant", muscle.deactivation_time),
    ):
        getattr(made, f"set_{key}")(value)
    given = dict(muscle.curves)
    for key in (
        "fiber_damping",
        "FmaxTendonStrain",
        "FmaxMuscleStrain",
        "KshapeActive",
        "KshapePassive",
        "Af",
        "Flen",
    ):
        if key in given:
            getattr(made, f"set_{key}")(given[key])
    path = made.updGeometryPath()
    points = path.updPathPointSet()
    for k, point in enumerate(muscle.path):
        points.adoptAndAppend(_point(osim, model, point, bodies, f"{muscle.name}-P{k}"))
    model.addForce(made)
    for use in muscle.wraps:
        path.addPathWrap(objects[use.wrap])
        if use.first is not None:
            path.updWrapSet().get(path.getWrapSet().getSize() - 1).setStartPoint(
                model.getWorkingState(), use.first + 1
            )


def _point(osim, model, point, bodies, name):
    if isinstance(point, MovingPoint):
        made = osim.MovingPathPoint()
        spline = osim.SimmSpline()
        for x, y in zip(SPLINE.x, SPLINE.y, strict=True):
            spline.addPoint(x, y)
        elbow = model.getCoordinateSet().get("elbow")
        for key, law in zip("xyz", point.laws, strict=True):
            made_law = osim.Constant(law) if isinstance(law, float) else spline
            getattr(made, f"set_{key}_location")(made_law)
            getattr(made, f"connectSocket_{key}_coordinate")(elbow)
    elif point.active is not None:
        made = osim.ConditionalPathPoint()
        made.setRangeMin(point.active[0])
        made.setRangeMax(point.active[1])
        made.setCoordinate(model.getCoordinateSet().get(point.coordinate))
        made.setLocation(osim.Vec3(*point.position))
    else:
        made = osim.PathPoint()
        made.setLocation(osim.Vec3(*point.position))
    made.setName(name)
    made.setParentFrame(bodies[point.body])
    return made


HIGH = PathPoint("upper", (0.05, 0.12, 0.01))
LOW = PathPoint("fore", (0.04, 0.15, 0.03))
SWINGS = PathPoint("upper", (0.06, 0.2, 0.0), "elbow", (-0.5, 3.0))
MOVES = MovingPoint("fore", SPLINE, 0.06, -0.02, ("elbow", None, None))


def wraps():
    """One wrap of each shape at the elbow, askew."""
    place = kt.Placement.at(AT, turned(0.2, 0.1, -0.3))
    through = kt.Placement.at((0.04, 0.25, 0.02), turned(1.4, 0.1, 0.0))
    return [Wrap(x, "upper", x, through if x == "torus" else place, r) for x, r in SHAPES.items()]


def path_muscles():
    """Muscles with each kind of point and wrap."""
    plain = [
        Muscle("straight", (HIGH, LOW)),
        Muscle("conditional", (HIGH, SWINGS, LOW)),
        Muscle("moving", (HIGH, MOVES, LOW)),
    ]
    return plain + [Muscle(f"around_{x}", (HIGH, LOW), (PathWrap(x),)) for x in SHAPES]

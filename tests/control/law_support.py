"""Runs the compiled torque law of a controller in one state, without a simulation."""

import ctypes

import numpy as np

import kinetree as kt
from kinetree.kernels.external_load import LOAD
from kinetree.kernels.ground import PLANE, POINT, REGION
from kinetree.kernels.layout import layout_rows
from kinetree.kernels.torque_law import AXIS
from kinetree.simulation.compiled import code as rates_code
from kinetree.simulation.compiled.context import Context, ContextParts
from kinetree.simulation.system import connect

POINTER = ctypes.c_void_p
RATES = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_double, POINTER, POINTER, POINTER)
SAMPLE = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_double, POINTER, POINTER)
SOIL = {"stiffness": 2e3, "damping": 50.0, "ramp": 0.01, "rising": 1.0, "friction": 0.7, "slipping": 100.0}
EVERYWHERE = {"low": [[-1e9, -1e9]], "high": [[1e9, 1e9]]}


class CompiledLaw:
    """The compiled right-hand side under a controller, with loads and, if there is a height, ground there."""

    def __init__(self, mechanism, controller, loads=(), height=None):
        self.mechanism, self.law = mechanism, controller.law_parts(mechanism)
        more = {} if height is None else ground(mechanism, height)
        self.parts = context_parts(mechanism, self.law, loads=load_rows(mechanism, loads), **more)
        self.context = Context(self.parts)
        connect(self.context)
        self.n, self.size = mechanism.n_dof, self.parts.size

    def rates(self, t, q, qd, integral=None):
        """Rates of the state (size,)."""
        y, dy = self.state(q, qd, integral), np.zeros(self.size)
        run = RATES(rates_code.rates(1).address)
        assert run(t, y.ctypes.data, dy.ctypes.data, self.context.memory.ctypes.data) == 0
        return dy

    def torque(self, t, q, qd, integral=None):
        self.rates(t, q, qd, integral)
        return self.context.rows("tau")[0].copy()

    def sample(self, t, q, qd, integral=None):
        """Take a new torque and hold it."""
        y = self.state(q, qd, integral)
        run = SAMPLE(rates_code.sample(1).address)
        assert run(t, y.ctypes.data, self.context.memory.ctypes.data) == 0

    def state(self, q, qd, integral):
        y = np.zeros(self.size)
        y[: self.n], y[self.n : 2 * self.n] = q, qd
        if integral is not None:
            y[2 * self.n : 3 * self.n] = integral
        return y

    def contact_wrenches(self):
        """The ground's forces in the last state."""
        forces = self.context.contact[0, :, :3]
        points = self.mechanism.contact_points
        return [kt.Wrench(p.body, f, point=p.position) for p, f in zip(points, forces, strict=True)]


def context_parts(mechanism, law, **more):
    axes = layout_rows(
        AXIS,
        mechanism.n_dof,
        actuated=law.actuated.astype(np.int64),
        kp=law.kp,
        kd=law.kd,
        ki=law.ki,
        limit=law.limit,
        lower=-np.inf,
        upper=np.inf,
    )
    return ContextParts(
        mechanism.tree,
        axes,
        law.model,
        desired=law.desired and (law.desired.breaks, law.desired.coefficients),
        table=law.table and (law.table.breaks, law.table.coefficients),
        mode=law.mode,
        floating=law.floating,
        aware=law.aware,
        integrating=bool(law.ki.any()),
        period=law.period,
        **more,
    )


def place(mechanism, body, point):
    """The axis that carries a body's point, and the point in the frame of that axis."""
    tree, k = mechanism.tree, mechanism.body_index(body)
    return int(tree.body_axis[k]), tree.body_rotation[k] @ np.asarray(point) + tree.body_position[k]


def load_rows(mechanism, loads):
    """Wrenches in world axes as compiled code reads them."""
    rows = [np.zeros((0, LOAD.width))]
    for load in loads:
        assert load.frame == "world"
        axis, r = place(mechanism, load.body, load.point)
        rows.append(layout_rows(LOAD, 1, axis=axis, fixed=1, r=[r], force=[load.force], moment=[load.moment]))
    return np.concatenate(rows)


def ground(mechanism, height):
    places = [place(mechanism, point.body, point.position) for point in mechanism.contact_points]
    axes, r = [axis for axis, _ in places], np.array([r for _, r in places])
    return {
        "plane": layout_rows(
            PLANE, 1, origin=[[0, 0, height]], normal=[[0, 0, 1]], forward=[[1, 0, 0]], side=[[0, 1, 0]]
        ),
        "points": layout_rows(POINT, len(places), axis=axes, r=r),
        "regions": layout_rows(REGION, 1, **SOIL, **EVERYWHERE),
    }

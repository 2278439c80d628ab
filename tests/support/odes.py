"""Differential equations with known solutions, as C functions for the integrators."""

import ctypes

import numpy as np
from numba import cfunc, types
from scipy.special import ellipj, ellipk

from kinetree.integrate.integration import Integration

POINTER = types.CPointer(types.float64)
SIGNATURE = types.int64(types.float64, POINTER, POINTER, POINTER)
ADAPTIVE = ("dopri5", "dop853", "radau")
FIXED = ("rk4", "semi_implicit_euler")
_c_pointer = ctypes.POINTER(ctypes.c_double)


def python_callback(function, n_in, n_out):
    """function(t, y, context) in Python as a C function that fills n_out numbers; None: stop."""

    @ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_double, _c_pointer, _c_pointer, _c_pointer)
    def call(t, y, out, context):
        values = function(t, np.ctypeslib.as_array(y, (n_in,)), context)
        if values is None:
            return 1
        np.ctypeslib.as_array(out, (n_out,))[:] = values
        return 0

    call.address = ctypes.cast(call, ctypes.c_void_p).value
    return call


def sampling_callback(function, n_in):
    """function(t, y, context) in Python, called at sampling instants; True: stop."""

    @ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_double, _c_pointer, _c_pointer)
    def call(t, y, context):
        return int(bool(function(t, np.ctypeslib.as_array(y, (n_in,)), context)))

    call.address = ctypes.cast(call, ctypes.c_void_p).value
    return call


def integration(method, rates, y0, t_end, times=(), *, n=1, n_sums=0, context=(0.0,), t_start=0.0, **options):
    """An integration that has not yet begun."""
    y0 = np.atleast_2d(np.asarray(y0, float))
    numbers = np.array(context, float)
    made = Integration(
        method, rates.address, numbers, y0, n, n_sums, t_start, t_end, np.array(times, float), **options
    )
    made.callback = rates  # lives as long as it may be called
    return made


def solved(method, rates, y0, t_end, times=(), **options):
    """An integration that has been carried out to its end."""
    made = integration(method, rates, y0, t_end, times, **options)
    status = made.advance(10**9)
    assert status.name == "DONE", status
    return made


@cfunc(SIGNATURE)
def pendulum(t, y, dy, context):
    """q'' = -sin q, and the sum of qd^2."""
    dy[0] = y[1]
    dy[1] = -np.sin(y[0])
    dy[2] = y[1] * y[1]
    return 0


@cfunc(SIGNATURE)
def pendulum_slopes(t, y, slopes, context):
    slopes[0] = -np.cos(y[0])
    slopes[1] = 0.0
    return 0


@cfunc(SIGNATURE)
def four_pendulums(t, y, dy, context):
    for lane in range(4):
        dy[3 * lane] = y[3 * lane + 1]
        dy[3 * lane + 1] = -np.sin(y[3 * lane])
        dy[3 * lane + 2] = y[3 * lane + 1] ** 2
    return 0


def pendulum_angle(amplitude, t):
    """The exact angle after a start at rest."""
    k = np.sin(amplitude / 2)
    sn, _, _, _ = ellipj(np.asarray(t) + ellipk(k**2), k**2)
    return 2 * np.arcsin(k * sn)


def pendulum_period(amplitude):
    return 4 * ellipk(np.sin(amplitude / 2) ** 2)


@cfunc(SIGNATURE)
def orbit(t, y, dy, context):
    """A planet in the plane: q'' = -q / |q|^3."""
    cube = (y[0] ** 2 + y[1] ** 2) ** 1.5
    dy[0], dy[1] = y[2], y[3]
    dy[2], dy[3] = -y[0] / cube, -y[1] / cube
    return 0


def orbit_start(e):
    """At the nearest point of an ellipse with semi-axis 1 and eccentricity e."""
    return np.array([1 - e, 0.0, 0.0, np.sqrt((1 + e) / (1 - e))])


def orbit_position(e, t):
    """The exact position (..., 2), from Kepler's equation."""
    t = np.asarray(t, float)
    E = t + e * np.sin(t)
    for _ in range(50):
        E = E - (E - e * np.sin(E) - t) / (1 - e * np.cos(E))
    return np.stack([np.cos(E) - e, np.sqrt(1 - e**2) * np.sin(E)], axis=-1)


@cfunc(SIGNATURE)
def van_der_pol(t, y, dy, context):
    """q'' = mu ((1 - q^2) qd - q)."""
    dy[0] = y[1]
    dy[1] = context[0] * ((1.0 - y[0] * y[0]) * y[1] - y[0])
    return 0


@cfunc(SIGNATURE)
def van_der_pol_slopes(t, y, slopes, context):
    slopes[0] = context[0] * (-2.0 * y[0] * y[1] - 1.0)
    slopes[1] = context[0] * (1.0 - y[0] * y[0])
    return 0

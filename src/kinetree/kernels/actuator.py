"""Actuators with a state of their own: a current that follows its command with a lag.

T di/dt = u - i with the command u = tau_law / k within its limits, and tau = k i.
"""

from kinetree.kernels.layout import Layout
from kinetree.kernels.number import lanewise, where_less
from kinetree.kernels.torque_law import limited

DRIVES = Layout(world=False, constant=True, axes=int)  # one row, before those of the axes
DRIVE = Layout(
    world=False,
    constant=True,
    axis=int,
    state=int,  # where its current is in the state
    line=int,  # of its rate in the slopes
    column=int,  # of its current in the slopes
    lag=1,  # T, s
    gain=1,  # k, N m/A or N/A
    limit=1,  # of the command, A
)


@lanewise
def drive_axes(drives, count, y, tau, dy):
    """Replace the law's torques by those of the currents; the rates of these."""
    for k in range(count):
        i, j = drives.axis[k], drives.state[k]
        command = limited(tau[i] / drives.gain[k], drives.limit[k])
        dy[j] = (command - y[j]) / drives.lag[k]
        tau[i] = drives.gain[k] * y[j]


@lanewise
def drive_slopes(drives, count, width, command, J):
    """Lines of J (..., width): those of the axes are slopes of the law's torques, and become those of tau."""
    for k in range(count):
        row, line = drives.axis[k] * width, drives.line[k] * width
        u, most = command[drives.axis[k]] / drives.gain[k], drives.limit[k]
        able = where_less(-most, u, where_less(u, most, 1.0, 0.0), 0.0)
        factor = able / (drives.gain[k] * drives.lag[k])
        for c in range(width):
            J[line + c] = factor * J[row + c]
            J[row + c] = 0.0 * u
        J[line + drives.column[k]] = J[line + drives.column[k]] - 1.0 / drives.lag[k]
        J[row + drives.column[k]] = drives.gain[k] + 0.0 * u

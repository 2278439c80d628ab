"""OpenSim's own answers at states of a model, for comparisons."""

import os
from pathlib import Path

import numpy as np

import kinetree as kt

DATA = Path(os.environ.get("OPENSIM_DATA", "opensim-data"))  # OpenSim's own test models and trials, not ours


class Peer:
    """A model of OpenSim without forces, asked at coordinates given by name."""

    def __init__(self, path):
        import opensim

        opensim.Logger.setLevelString("off")
        self.opensim = opensim
        self.model = opensim.Model(str(path))
        for name in ("ForceSet", "ControllerSet", "ProbeSet"):
            getattr(self.model, f"upd{name}")().clearAndDestroy()
        self.state = self.model.initSystem()
        found = self.model.getCoordinateSet()
        self.coordinates = [found.get(i) for i in range(found.getSize())]
        for part in self.model.getComponentsList():
            force = opensim.Force.safeDownCast(part)
            if force is not None:
                force.setAppliesForce(self.state, False)
        for x in self.coordinates:
            x.setLocked(self.state, False)
        self.place = {x.getName(): self._place(x) for x in self.coordinates}
        self.names = sorted(self.place, key=self.place.get)

    def _place(self, coordinate):
        """Where a coordinate is among the speeds."""
        for x in self.coordinates:
            x.setSpeedValue(self.state, 0.0)
        coordinate.setSpeedValue(self.state, 1.0)
        u = self.state.getU()
        return int(np.argmax([u.get(i) for i in range(u.size())]))

    def at(self, q, u):
        """Set coordinates and speeds, in the order of `names`."""
        by_name = {x.getName(): x for x in self.coordinates}
        for name, value, speed in zip(self.names, q, u, strict=True):
            by_name[name].setValue(self.state, float(value), False)
            by_name[name].setSpeedValue(self.state, float(speed))
        self.model.realizeVelocity(self.state)

    def vector(self, values):
        found = self.opensim.Vector(len(values), 0.0)
        for i, value in enumerate(values):
            found.set(i, float(value))
        return found

    def torques(self, accelerations):
        solver = self.opensim.InverseDynamicsSolver(self.model)
        found = solver.solve(self.state, self.vector(accelerations))
        return np.array([found.get(i) for i in range(found.size())])

    def mass_matrix(self):
        found = self.opensim.Matrix()
        self.model.getMatterSubsystem().calcM(self.state, found)
        return np.array([[found.get(i, j) for j in range(found.ncol())] for i in range(found.nrow())])

    def point_jacobian(self, body, point):
        """(3, speeds) of a point of a body."""
        frame = self.model.getBodySet().get(body)
        found = self.opensim.Matrix()
        self.model.getMatterSubsystem().calcStationJacobian(
            self.state, frame.getMobilizedBodyIndex(), self.opensim.Vec3(*map(float, point)), found
        )
        return np.array([[found.get(i, j) for j in range(found.ncol())] for i in range(3)])

    def poses(self):
        found = {}
        bodies = self.model.getBodySet()
        for i in range(bodies.getSize()):
            place = bodies.get(i).getTransformInGround(self.state)
            R, p = place.R(), place.p()
            found[bodies.get(i).getName()] = (
                np.array([[R.get(a, b) for b in range(3)] for a in range(3)]),
                np.array([p.get(a) for a in range(3)]),
            )
        return found


class Every:
    """All coordinates of a model, those that follow others too, from the independent ones of a mechanism."""

    def __init__(self, mechanism, names):
        tree = mechanism.tree
        self.coupling = tree.coupling
        self.rows = [tree.axis_names.index(name) for name in names]

    def state(self, q, qd, qdd):
        c = self.coupling
        if c is None:
            return tuple(x[self.rows] for x in (q, qd, qdd))
        G = c.slopes(q)
        return c.at(q)[self.rows], (G @ qd)[self.rows], (G @ qdd + c.bends(q, qd))[self.rows]

    def slopes(self, q):
        return np.eye(len(q))[self.rows] if self.coupling is None else self.coupling.slopes(q)[self.rows]


def saved_again(path, folder):
    """The model as OpenSim itself writes it, in its newest format: the numbers that it computes with."""
    import opensim

    opensim.Logger.setLevelString("off")
    new = folder / f"{path.stem}_again.osim"
    opensim.Model(str(path)).printToXML(str(new))
    return new


def random_states(mechanism, count, seed=3):
    """Positions within limits (or 1.5 rad), velocities, accelerations (count, n_dof)."""
    rng = np.random.default_rng(seed)
    low, high = np.maximum(mechanism.lower, -1.5), np.minimum(mechanism.upper, 1.5)
    q = low + (high - low) * rng.random((count, mechanism.n_dof))
    return q, rng.uniform(-3, 3, q.shape), rng.uniform(-20, 20, q.shape)


def differences(path, count=50):
    """Largest relative differences of poses, mass matrices, torques and Jacobians from OpenSim's."""
    mechanism = kt.load(path, allow_unphysical=True)
    peer = Peer(path)
    every = Every(mechanism, peer.names)
    q, qd, qdd = random_states(mechanism, count)
    tau, M = kt.inverse_dynamics(mechanism, q, qd, qdd), kt.mass_matrix(mechanism, q)
    poses = kt.forward_kinematics(mechanism, q)
    body = mechanism.body_names[-1]
    J = kt.jacobian(mechanism, q, body, (0.1, -0.2, 0.05))[:, :3]
    worst = dict.fromkeys(("pose", "mass", "torque", "jacobian"), 0.0)
    for k in range(count):
        a, u, ud = every.state(q[k], qd[k], qdd[k])
        peer.at(a, u)
        G = every.slopes(q[k])
        theirs = peer.poses()
        for name, (R, p) in theirs.items():
            off = max(np.abs(poses[name][0][k] - R).max(), np.abs(poses[name][1][k] - p).max())
            worst["pose"] = max(worst["pose"], off)
        order = np.argsort(np.argsort([peer.place[x] for x in peer.names]))
        theirs_M = peer.mass_matrix()[np.ix_(order, order)]
        reference = G.T @ theirs_M @ G
        worst["mass"] = max(worst["mass"], np.abs(M[k] - reference).max() / np.abs(reference).max())
        reference = G.T @ peer.torques(ud)
        worst["torque"] = max(worst["torque"], np.abs(tau[k] - reference).max() / np.abs(reference).max())
        reference = peer.point_jacobian(body, (0.1, -0.2, 0.05)) @ G
        worst["jacobian"] = max(worst["jacobian"], np.abs(J[k] - reference).max() / np.abs(reference).max())
    return worst

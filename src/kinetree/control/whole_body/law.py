"""The law of robots on feet: what a plan and further tasks ask for becomes torques by one least squares."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.control.sampled import ContactReading
from kinetree.control.whole_body.solver import Contacts, LeastSquares
from kinetree.control.whole_body.task import LawTask, TaskRows, checked_tasks
from kinetree.errors import InputError
from kinetree.model.mechanism import Mechanism

TRIES = 4  # solves per tick, each without points that would have to pull


class Demand(NamedTuple):
    """What a planner asks for at a tick: rows of tasks and the contacts that it counts on.

    ``M`` (n_dof, n_dof) and ``h`` (n_dof,) are those of M qdd + h = tau + J^T F. ``rows`` (m, 7) choose rows
    of the Jacobians ``J`` (bodies, 6, n_dof) of feet and trunk, as the compiled least squares take them.
    """

    M: Array
    h: Array
    tasks: TaskRows | None
    contacts: Contacts
    J: Array | None = None
    rows: Array | None = None


class WholeBodyLaw(ABC):
    """A law that is called once per tick: its ``plan`` and further ``tasks`` become torques.

    Accelerations and ground forces come nearest to the rows of all tasks, under the equations of motion of
    the base; points that would have to pull are left out. Torques are limited to ``most`` (n_dof,).
    """

    def __init__(
        self, mechanism: Mechanism, solver: LeastSquares, most: Array, tasks: Sequence[LawTask] = ()
    ) -> None:
        self._mechanism, self._solver, self.most = mechanism, solver, most
        self.tasks, rest = checked_tasks(tasks), np.zeros(mechanism.n_dof)
        self._first = TaskRows.of(self.tasks, mechanism, 0.0, rest, rest)

    @abstractmethod
    def plan(self, t: float, q: Array, qd: Array, contact: ContactReading, more: TaskRows) -> Demand:
        """What is asked for at time t (s) in a state (n_dof,), besides the rows ``more`` of further tasks."""

    @abstractmethod
    def note(self, t: float, contact: ContactReading, qdd: Array, tau: Array) -> None:
        """Take in the accelerations of moving coordinates and the torques before limits of a tick."""

    @abstractmethod
    def walked(self) -> tuple[bool, str]:
        """Whether the robot is on its feet, and what there is to say of its walk."""

    def foreseen(self, q: Array, qd: Array) -> tuple[Array, Array]:
        """The state (n_dof,) in which the torques will act."""
        return q, qd

    def __call__(self, t: float, q: Array, qd: Array, contact: ContactReading) -> Array:
        """Torques (n_dof,) from the measured state and the forces on the feet."""
        q, qd = self.foreseen(q, qd)
        more = self._more(t, q, qd) if self.tasks else self._first
        qdd, tau = self._solved(self.plan(t, q, qd, contact, more), more)
        self.note(t, contact, qdd, tau)
        limited: Array = np.clip(tau, -self.most, self.most)
        return limited

    def _more(self, t: float, q: Array, qd: Array) -> TaskRows:
        """The rows of further tasks."""
        more, count = TaskRows.of(self.tasks, self._mechanism, t, q, qd), len(self._first.aim)
        if len(more.aim) != count:
            raise InputError(
                f"tasks must always return the same number of rows, {count} at first, got "
                f"{len(more.aim)} at t = {t:g} s"
            )
        return more

    def _solved(self, plan: Demand, more: TaskRows) -> tuple[Array, Array]:
        """Accelerations of moving coordinates and torques (n_dof,) that come nearest to all tasks."""
        tasks, contacts = more, plan.contacts
        if plan.tasks is not None:
            tasks = TaskRows.joined([plan.tasks, more], len(plan.h))
        rows = tasks.dense()
        for _ in range(TRIES):
            qdd, forces, tau = self._solver.solve(plan.M, plan.h, rows, contacts, plan.J, plan.rows)
            pulling = contacts.normal & (forces < 0.0)
            if not pulling.any():
                break
            contacts = contacts.without(contacts.point[pulling])
        return qdd, tau

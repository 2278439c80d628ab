"""``python -m benchmarks.models FOLDER...``: what is read of collections of robots, and does it agree?

Reads every .urdf, .sdf and MJCF file below the folders once (equal files count once), with Kinetree,
Pinocchio, Drake (if it is installed) and MuJoCo, and compares inverse dynamics at random states. Prints a
table: read, refused by class, agreement.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import track

import kinetree as kt
from benchmarks.table import Table
from benchmarks.terminal import WIDEST, rich_table
from kinetree.algebra.arrays import Array
from kinetree.model.aids import aids

STATES = 3
AGREED = 1e-9  # relative difference of torques


@dataclass
class Report:
    """What became of the files of one format."""

    format: str
    peer: str
    files: int = 0
    read: int = 0
    peer_reads: int = 0
    both: int = 0
    compared: int = 0
    worst: float = 0.0
    worst_file: str = ""
    warned: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    lost: list[str] = field(default_factory=list)  # files that only the peer reads
    different: list[str] = field(default_factory=list)


def main(arguments: list[str] | None = None) -> int:
    """Read collections and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.models", description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path, help="folders with .urdf, .sdf and .xml files")
    parser.add_argument("--skip", action="append", default=[], help="leave out paths with this text")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args(arguments)
    for folder in options.folders:
        if not folder.is_dir():
            parser.error(f"'{folder}' is not a folder")
    reports = [
        examined("URDF", "pinocchio", urdf_files(options.folders, options.skip), _pinocchio),
        examined("SDF", "drake", sdf_files(options.folders, options.skip), _drake),
        examined("MJCF", "mujoco", mjcf_files(options.folders, options.skip), _mujoco),
    ]
    if options.json:
        print(json.dumps([vars(report) for report in reports]))
        return 0
    console = Console()
    if not console.is_terminal:
        console = Console(width=WIDEST)
    console.print(rich_table(table(reports)))
    for report in reports:
        for reason, count in report.refused.most_common(12):
            console.print(f"{report.format} refused, {count}: {reason}", highlight=False)
        for file in (*report.lost, *report.different):
            console.print(f"{report.format}: {file}", highlight=False)
    return 0


def table(reports: list[Report]) -> Table:
    """One row per format."""
    body = [
        (
            x.format, str(x.files), str(x.read), str(x.warned), f"{x.peer_reads} ({x.peer})",
            f"{x.both} ({100.0 * x.both / max(1, x.peer_reads):.1f} %)", str(x.compared), f"{x.worst:.0e}",
            str(len(x.different)),
        )
        for x in reports
    ]  # fmt: skip
    head = (
        "format", "files", "read", "warned", "peer reads", "of these read", "compared", "worst", "differ",
    )  # fmt: skip
    about = "Distinct files; torques compared at random states, relative to the largest."
    return Table("Models of others", about, head, body)


def urdf_files(folders: list[Path], skip: list[str]) -> Iterator[Path]:
    """URDF files, equal ones once."""
    yield from _distinct(folders, skip, ".urdf", b"<robot")


def sdf_files(folders: list[Path], skip: list[str]) -> Iterator[Path]:
    """SDF files, equal ones once."""
    yield from _distinct(folders, skip, ".sdf", b"<sdf")


def mjcf_files(folders: list[Path], skip: list[str]) -> Iterator[Path]:
    """MJCF files, equal ones once."""
    yield from _distinct(folders, skip, ".xml", b"<mujoco")


def _distinct(folders: list[Path], skip: list[str], suffix: str, mark: bytes) -> Iterator[Path]:
    seen: set[bytes] = set()
    for folder in folders:
        for path in sorted(folder.rglob(f"*{suffix}")):
            content = path.read_bytes() if path.is_file() else b""
            digest = hashlib.sha256(content).digest()
            if mark in content and digest not in seen and not any(text in str(path) for text in skip):
                seen.add(digest)
                yield path


def examined(form: str, peer: str, files: Iterator[Path], open_peer: Callable[[Path], Any]) -> Report:
    """All files read by both, and compared where both read them."""
    report = Report(form, peer)
    for path in track(list(files), form, console=Console(stderr=True)):
        report.files += 1
        with _silent():
            other = open_peer(path)
        ours = _read(path, report)
        report.peer_reads += other is not None
        report.both += other is not None and ours is not None
        if other is not None and ours is None:
            report.lost.append(f"only {peer} reads {path}")
        if other is None or ours is None or ours.n_dof == 0:
            continue
        with _silent():
            difference = other(ours)
        if difference is None:
            continue
        report.compared += 1
        if difference > report.worst:
            report.worst, report.worst_file = difference, str(path)
        if difference > AGREED:
            report.different.append(f"differs by {difference:.1e}: {path}")
    return report


def _read(path: Path, report: Report) -> kt.Mechanism | None:
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            found = kt.load(path)
        except kt.KinetreeError as error:
            report.refused[_class(str(error), path)] += 1
            return None
    report.read += 1
    report.warned += bool(heard)
    return found


def _class(message: str, path: Path) -> str:
    """A refusal without the names in it."""
    said = re.sub(r"'[^']*'", "'..'", message.replace(str(path), ""))
    return re.sub(r"^[^:]*: ", "", said)[:90]


@contextmanager
def _silent() -> Iterator[None]:
    """Peers write to the file descriptors of the process."""
    sys.stdout.flush()
    kept = [os.dup(1), os.dup(2)]
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        for number in (1, 2):
            os.dup2(nowhere.fileno(), number)
        try:
            yield
        finally:
            for number, old in zip((1, 2), kept, strict=True):
                os.dup2(old, number)
                os.close(old)


# ---- peers ---------------------------------------------------------------------------------------


def _pinocchio(path: Path) -> Any:
    """A function of our mechanism that returns the difference of torques, or None if it is not read."""
    import pinocchio as pin

    try:
        model = pin.buildModelFromUrdf(str(path))
    except (RuntimeError, ValueError):
        return None

    def difference(ours: kt.Mechanism) -> float | None:
        names = list(model.names)[1:]
        if not set(ours_names(ours)) <= set(names):
            return None
        data, worst = model.createData(), 0.0
        for q, qd, qdd in _states(ours):
            try:
                x, v = kt.coordinates_to(ours, "pinocchio", q, qd, joints=names, nq=model.nq)
            except kt.errors.InputError:
                return None  # joints without limits, of which some are continuous in the file
            _, a = kt.coordinates_to(ours, "pinocchio", q, qdd, joints=names, nq=model.nq)
            tau = pin.rnea(model, data, np.asarray(x), np.asarray(v), np.asarray(a))
            at = {name: int(model.idx_vs[k]) for k, name in enumerate(names, start=1)}
            worst = max(worst, _difference(ours, (q, qd, qdd), {x: tau[i] for x, i in at.items()}))
        return worst

    return difference


def _drake(path: Path) -> Any:
    """A function of our mechanism that returns the difference of torques, or None if it is not read.

    A floating base rests at the pose of the file, where torques of all other joints are compared.
    """
    try:
        from pydrake.multibody.parsing import Parser
        from pydrake.multibody.plant import MultibodyPlant
        from pydrake.multibody.tree import MultibodyForces_
    except ImportError:
        return None
    plant = MultibodyPlant(0.0)
    try:
        Parser(plant).AddModels(str(path))
        plant.Finalize()
    except RuntimeError:
        return None

    def difference(ours: kt.Mechanism) -> float | None:
        if ours.loops or ours.tree.coupling is not None:
            return None
        free = {name for link in ours.links if link.floats for name in link.joint.dof_names}
        joints = {plant.get_joint(i).name(): plant.get_joint(i) for i in plant.GetJointIndices()}
        moving = [name for name in ours.joint_names if name not in free]
        plain = {name: name.rpartition("::")[2] for name in moving}
        if not all(x in joints and joints[x].num_velocities() == 1 for x in plain.values()):
            return None
        plant.mutable_gravity_field().set_gravity_vector(ours.gravity)
        context, worst = plant.CreateDefaultContext(), 0.0
        for name in plain.values():
            joints[name].SetDampingVector(context, np.zeros(1))
        for q, qd, qdd in _states(ours):
            for k, name in enumerate(ours.joint_names):
                if name in free:
                    q[k] = qd[k] = qdd[k] = 0.0
            positions = plant.GetDefaultPositions()
            velocities, accelerations = np.zeros((2, plant.num_velocities()))
            for name in moving:
                joint, k = joints[plain[name]], ours.joint_index(name)
                positions[joint.position_start()] = q[k]
                velocities[joint.velocity_start()] = qd[k]
                accelerations[joint.velocity_start()] = qdd[k]
            plant.SetPositions(context, positions)
            plant.SetVelocities(context, velocities)
            gravity = MultibodyForces_[float](plant)
            plant.CalcForceElementsContribution(context, gravity)
            tau = plant.CalcInverseDynamics(context, accelerations, gravity)
            expected = np.array([tau[joints[plain[name]].velocity_start()] for name in moving])
            found = _torques(ours, q, qd, qdd)[[ours.joint_index(name) for name in moving]]
            worst = max(worst, _relative(found, expected)) if moving else worst
        return worst

    return difference


def ours_names(mechanism: kt.Mechanism) -> list[str]:
    """The joints that move."""
    unknown = aids(mechanism)
    return [link.joint.name for link in mechanism.links if link.joint.n_dof and link not in unknown]


def _mujoco(path: Path) -> Any:
    """A function of our mechanism that returns the difference of torques, or None if it is not read."""
    import mujoco

    try:
        model = mujoco.MjModel.from_xml_path(str(path))
    except (ValueError, mujoco.FatalError, mujoco.UnexpectedError):
        return None
    if model.njnt == 0:
        return None
    for name in ("CONTACT", "CONSTRAINT", "ACTUATION"):
        model.opt.disableflags |= int(getattr(mujoco.mjtDisableBit, f"mjDSBL_{name}"))

    def difference(ours: kt.Mechanism) -> float | None:
        names = ours_names(ours)  # in MuJoCo's order
        if len(names) != model.njnt:
            return None
        model.dof_damping[:] = 0.0
        for array in ("tendon_stiffness", "tendon_damping", "tendon_armature"):
            getattr(model, array, np.zeros(1))[:] = 0.0
        model.jnt_stiffness[:] = 0.0
        model.body_gravcomp[:] = 0.0
        model.opt.density = model.opt.viscosity = 0.0
        data, worst = mujoco.MjData(model), 0.0
        for q, qd, qdd in _states(ours):
            data.qpos[:], data.qvel[:] = kt.coordinates_to(ours, "mujoco", q, qd)
            mujoco.mj_fwdPosition(model, data)
            mujoco.mj_fwdVelocity(model, data)
            _, data.qacc[:] = kt.coordinates_to(ours, "mujoco", q, qdd)
            tau = np.zeros(model.nv)
            mujoco.mj_rne(model, data, 1, tau)
            felt = {name: tau[model.jnt_dofadr[j]] for j, name in enumerate(names)}
            worst = max(worst, _difference(ours, (q, qd, qdd), felt))
        return worst

    return difference


def _states(mechanism: kt.Mechanism) -> Iterator[tuple[Array, Array, Array]]:
    """Random states; joints of several axes have random places and rest, as rates differ by convention."""
    rng = np.random.default_rng(0)
    resting = [mechanism.joint_index(x) for x in _several(mechanism)]
    for _ in range(STATES):
        q, qd, qdd = rng.uniform(-1.0, 1.0, (3, mechanism.n_dof))
        qd[resting] = qdd[resting] = 0.0
        yield q, qd, qdd


def _several(mechanism: kt.Mechanism) -> set[str]:
    """Degrees of freedom of joints that have more than one."""
    return {x for link in mechanism.links if link.joint.n_dof > 1 for x in link.joint.dof_names}


def _difference(ours: kt.Mechanism, state: tuple[Array, Array, Array], tau: dict[str, float]) -> float:
    """Relative difference of torques at joints of one axis; those of mimic joints felt at their leaders."""
    expected, unknown = np.zeros(ours.n_dof), aids(ours)
    for link in ours.links:
        joint = link.joint
        if joint.n_dof == 1 and link not in unknown:
            for name, ratio in (joint.mimic or kt.model.Mimic(joint.name)).leaders:
                expected[ours.joint_index(name)] += ratio * tau[joint.name]
    compared = [k for k, name in enumerate(ours.joint_names) if name not in _several(ours)]
    return _relative(_torques(ours, *state)[compared], expected[compared]) if compared else 0.0


def _torques(mechanism: kt.Mechanism, q: Array, qd: Array, qdd: Array) -> Array:
    """Torques of the rigid bodies alone: without friction, springs and armature of the joints."""
    return kt.inverse_dynamics(_bare(mechanism), q, qd, qdd)


def _bare(mechanism: kt.Mechanism) -> kt.Mechanism:
    from dataclasses import replace

    nothing = {"armature": 0.0, "viscous": 0.0, "coulomb": 0.0, "coulomb_reverse": 0.0, "stiffness": 0.0}
    links = [
        replace(
            link,
            joint=replace(link.joint, **{k: np.zeros(link.joint.n_dof) for k in nothing}),
            body=replace(link.body, gravity_compensation=0.0),
        )
        for link in mechanism.links
    ]
    return replace(mechanism.opened(), links=tuple(links), loops=(), springs=())


def _relative(ours: Array, theirs: Array) -> float:
    return float(np.abs(ours - theirs).max() / max(np.abs(theirs).max(), 1e-12))


if __name__ == "__main__":
    raise SystemExit(main())

"""The rules of ``kinetree check``: a finding names one of these, and the documentation lists them all."""

from __future__ import annotations

from typing import NamedTuple

ERROR, WARNING = "error", "warning"


class Rule(NamedTuple):
    """How bad it is to offend a rule, what it says, and what to do about it."""

    severity: str
    about: str
    advice: str


RULES = {
    # files
    "unreadable-file": Rule(ERROR, "The file cannot be read.", "Give the path of a text file in UTF-8."),
    "syntax": Rule(ERROR, "The file is not valid TOML or XML.", "Look at the line named, and the one before "
                                                                "it."),
    "xml-fault": Rule(
        WARNING, "A fault of XML that most readers accept: '--' in a comment, a prefix without xmlns, a "
                 "namespace of the root element.",
        "Correct the line named; nothing else changes.",
    ),
    "unknown-key": Rule(ERROR, "An unknown key.", "A typo? The nearest is named."),
    "unknown-element": Rule(
        WARNING, "An element or attribute that URDF does not have; it is ignored.",
        "An extension of a simulator, or a typo: the nearest is named.",
    ),
    "missing-element": Rule(
        WARNING, "An element of a URDF file without a part that it needs.",
        "The message says which; without it, mass and inertia are zero.",
    ),
    "zero-limit": Rule(
        WARNING, "A largest effort or velocity of 0 in a URDF file; it is read as no limit.",
        "Write the limit of the drive, or leave the attribute out.",
    ),
    "mimic-dropped": Rule(
        WARNING, "A <mimic> of or by a joint without exactly one axis; the joint moves independently.",
        "Name a revolute, continuous or prismatic joint.",
    ),
    "mesh-not-found": Rule(
        WARNING, "A mesh file that is missing, or outside the known folders; the dynamics do not need it.",
        "Give the folder around the file (--folder) or those of the packages (--packages).",
    ),
    "missing-key": Rule(ERROR, "A required key is missing.", "`kinetree schema` has all keys."),
    "wrong-value": Rule(ERROR, "A value that its key does not allow.", "The message says what is allowed."),
    "wrong-tables": Rule(
        ERROR, "A table that the task of the study needs is missing, or a table is present that it does not "
               "use.",
        "See [study files](study_file.md).",
    ),
    # what cannot exist
    "repeated-name": Rule(ERROR, "Two bodies, joints, springs or contacts have the same name.", "Rename "
                                                                                                "one."),
    "impossible-body": Rule(
        ERROR, "An impossible mass, center of mass, inertia or shape.",
        "Moments are about the center of mass in kg m^2 and obey the triangle inequality; for a published "
        "file that does not, see [unphysical inertias](how_to/models.md#unphysical-inertias).",
    ),
    "impossible-joint": Rule(ERROR, "A joint with an invalid kind, axis or limits.", "The message says "
                                                                                     "which."),
    "impossible-loop": Rule(ERROR, "A loop with an invalid joint or placement.", "The message says which."),
    "impossible-spring": Rule(ERROR, "A spring with invalid ends or numbers.", "The message says which."),
    "impossible-contact": Rule(ERROR, "An invalid contact point.", "The message says why."),
    "impossible-row": Rule(ERROR, "An invalid row of a DH table.", "The message says why."),
    "impossible-tree": Rule(ERROR, "Bodies that do not form a tree rooted at the world.", "Every parent must "
                                                                                          "exist."),
    "impossible-mechanism": Rule(ERROR, "Valid parts that do not form a mechanism.", "The message says why."),
    "open-loop": Rule(
        ERROR, "An initial state or a motion in which loops of the mechanism are open.",
        "Give a pose that closes them (kinetree.loops.assemble), or a trajectory of kind follow.",
    ),
    # units
    "degrees-as-radians": Rule(WARNING, "An angle of more than one revolution that is a round number of "
                                        "degrees.", 'Write "90 deg".'),
    "millimeters-as-meters": Rule(WARNING, "A link longer than a building.", "Lengths are in m."),
    "grams-as-kilograms": Rule(WARNING, "A body denser than any metal.", "Masses are in kg."),
    "odd-gravity": Rule(WARNING, "Gravity that is zero, tiny, huge or upward.", "On Earth: [0, 0, -9.81]."),
    # masses
    "inertia-does-not-fit": Rule(
        WARNING, "A radius of gyration much larger or smaller than the body.",
        "Inertia is in kg m^2, about the center of mass, not about the joint.",
    ),
    "unphysical-inertia": Rule(
        WARNING, "Moments that violate the triangle inequality, which the file allows.",
        "Correct them if you can; results stay consistent, but no such body exists.",
    ),
    "flat-inertia": Rule(WARNING, "Principal moments of an infinitely thin plate.", "Were they rounded?"),
    "massless-leaf": Rule(
        WARNING, "A joint that moves no mass, so forward dynamics is singular.",
        "Give the body a mass or the joint an armature.",
    ),
    # joints, loops, contacts
    "no-room-to-move": Rule(WARNING, "The limits of a joint are equal.", 'A weld is kind = "fixed".'),
    "rest-outside-limits": Rule(WARNING, "A spring at rest outside the joint's limits.", "Mostly degrees."),
    "zero-length-link": Rule(WARNING, "Two successive joints on the same axis.", "Is an `at` missing?"),
    "gimbal-lock-at-zero": Rule(WARNING, "An Euler sequence locked at q = 0.", "Use three different axes."),
    "near-gimbal-lock": Rule(WARNING, "A study that starts close to gimbal lock.", "Use another sequence."),
    "unused-loop": Rule(WARNING, "A loop without effect.", "It connects bodies that are welded together."),
    "unused-spring": Rule(WARNING, "A spring whose length cannot change.", "It connects bodies that are "
                                                                           "welded together."),
    "unused-muscle": Rule(
        WARNING, "A muscle whose length cannot change.", "All bodies of its path are welded together."
    ),
    "path-inside-wrap": Rule(
        WARNING, "A path point is inside a wrap of its muscle, on the same body.",
        "There the wrap is ignored: move the point, or make the wrap smaller.",
    ),
    "unused-contact": Rule(WARNING, "Contact points that never touch.", "Is a table [ground] missing?"),
    "file-beside": Rule(
        WARNING, "Loops are read from a robot.yaml next to a URDF file.",
        "Nothing, if it belongs to the robot; otherwise rename it.",
    ),
    "all-driven": Rule(
        WARNING, "A URDF file with loops names no drives: all joints of its tree count as driven.",
        "Add a `<transmission>` with `<joint name=...>` for each drive, or `name_mot` to the robot.yaml.",
    ),
    "not-used": Rule(WARNING, "A part of a URDF, MJCF or .osim file is ignored.", "Nothing, if not needed."),
    "other-curves": Rule(
        WARNING, "A muscle of OpenSim of a class whose curves are not known.",
        "Those of Thelen2003Muscle are used.",
    ),
    "kink": Rule(
        WARNING, "A joint follows another by lines that meet at an angle.",
        "A spline through the same points has accelerations everywhere.",
    ),
    # studies
    "step-too-long": Rule(
        WARNING, "A fixed step too long for ground, law or joints; an error if it cannot be taken.",
        "Shorten the step as the message says, or choose an adaptive method.",
    ),
}  # fmt: skip

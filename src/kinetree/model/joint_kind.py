"""Kinds of joints as data: the only place that knows them.

A kind is the list of its axes: which of them are turned about, which are slid along, one after the other.
Whatever else is asked of a kind follows from this list. A new kind is one more entry of ``KINDS``; one of
cut joints alone, of ``CUT_KINDS``.
"""

from __future__ import annotations

from dataclasses import dataclass

TURN, SLIDE = True, False
PIN, BLOCK, BALL = "pin", "block", "ball"  # what a joint looks like in space


@dataclass(frozen=True)
class JointKind:
    """One kind of joint: its axes, how they may be given, and how it is drawn.

    ``turns`` says for each axis whether it is turned about or slid along. ``one_axis``: a single direction
    serves all its axes. ``sequence`` is the Euler sequence of its turns unless another is given. ``letter``
    stands for it in a line of text, ``marker`` (matplotlib's name, and its area over that of a revolute
    joint) in a picture, ``solid`` in space.
    """

    name: str
    turns: tuple[bool, ...]
    letter: str
    marker: str
    one_axis: bool = False
    sequence: str | None = None
    marker_area: float = 1.0
    marker_filled: bool = False
    solid: str | None = None

    @property
    def n_dof(self) -> int:
        """Number of axes."""
        return len(self.turns)

    @property
    def is_fixed(self) -> bool:
        """Whether it does not move at all."""
        return not self.turns

    @property
    def is_free(self) -> bool:
        """Whether it leaves all six motions free, so that it holds nothing."""
        return self.n_dof == 6

    @property
    def is_turn(self) -> bool:
        """Whether it is one axis that is turned about."""
        return self.turns == (TURN,)

    @property
    def is_slide(self) -> bool:
        """Whether it is one axis that is slid along."""
        return self.turns == (SLIDE,)

    @property
    def is_ball(self) -> bool:
        """Whether it turns about any axis and does not slide."""
        return self.turns == (TURN, TURN, TURN)

    @property
    def has_three_turns(self) -> bool:
        """Whether it turns about three axes, whose angles have a singular position (gimbal lock)."""
        return sum(self.turns) == 3

    @property
    def has_direction(self) -> bool:
        """Whether one direction, that of its last axis, shows how it moves."""
        return not self.is_fixed and self.sequence is None

    @property
    def slides(self) -> bool:
        """Whether some axis is slid along."""
        return SLIDE in self.turns

    @property
    def slides_in_a_plane(self) -> bool:
        """Whether it is two slides and a rotation about the direction across them."""
        return self.turns == (SLIDE, SLIDE, TURN)

    @property
    def turns_in_a_plane(self) -> bool:
        """Whether it turns about its last axis alone, after no slide but across it."""
        return sum(self.turns) == 1 and self.turns[-1] is TURN


KINDS = {
    kind.name: kind
    for kind in (
        JointKind("fixed", (), "·", "x", marker_area=0.4, marker_filled=True),
        JointKind("revolute", (TURN,), "o", "o", one_axis=True, solid=PIN),
        JointKind("prismatic", (SLIDE,), "▭", "s", one_axis=True, solid=BLOCK),
        JointKind("cylindrical", (TURN, SLIDE), "⊚", "H", one_axis=True, solid=PIN),
        JointKind("universal", (TURN, TURN), "∞", "P", sequence="XY", marker_area=1.5, solid=BALL),
        JointKind(
            "spherical", (TURN, TURN, TURN), "●", "o",
            sequence="YXZ", marker_area=1.3, marker_filled=True, solid=BALL,
        ),
        JointKind("planar", (SLIDE, SLIDE, TURN), "□", "D", solid=BLOCK),
        JointKind("free", (SLIDE, SLIDE, SLIDE, TURN, TURN, TURN), "~", "*", sequence="YXZ"),
    )
}  # fmt: skip
ON_LINE = JointKind("point_on_line", (SLIDE, TURN, TURN, TURN), "⊸", "d", one_axis=True, solid=BALL)
CUT_KINDS = {name: kind for name, kind in KINDS.items() if not kind.is_free} | {ON_LINE.name: ON_LINE}
ALL_KINDS = KINDS | CUT_KINDS  # of joints that carry bodies, and of cut joints


def of_turns(n: int) -> str:
    """The kind that rotates about n axes one after the other and does nothing else, n at most 3.

    >>> of_turns(1), of_turns(3)
    ('revolute', 'spherical')
    """
    return next(name for name, kind in KINDS.items() if kind.turns == (TURN,) * n)


ONE_AXIS = {TURN: "revolute", SLIDE: "prismatic"}  # the kinds with a single axis
FIXED = "fixed"  # the kind without any
REVOLUTE = "revolute"  # the kind of a joint of which nothing else is said

"""The memory of one step at the level of velocities: a header, tables of the mechanism, scratch in lanes."""

from __future__ import annotations

from kinetree.kernels.layout import Layout

STOP, RUB, TIE = 0, 1, 2  # kinds of rows of joints: a limit, dry friction, an equation between axes
LINK = Layout(world=False, constant=True, axis=int, share=1)  # of a chain: an axis and its coefficient
CANDIDATE = Layout(world=False, constant=True, start=int, length=int, first=int)  # of a contact: its chain
JOINT_ROW = Layout(
    world=False,
    constant=True,
    kind=int,
    axis=int,
    start=int,  # its chain
    length=int,
    first=int,  # where its numbers begin in `row_y`
    low=1,  # rad or m: limits; N m or N: friction backwards and forwards
    high=1,
    offset=1,
)
FILL = Layout(world=False, constant=True, axis=int)  # axes that elimination of another one changes
REACH = Layout(world=False, constant=True, start=int, length=int)  # of an axis: its part of FILL
CONTACT_ROW = Layout(
    world=False,
    n=3,  # directions: normal, and two along the surface
    t=3,
    u=3,
    place=3,  # from the common origin
    gap=1,  # m
    mu=1,
    target=1,  # m/s: the normal velocity is at least this
    speed=1,  # m/s: normal velocity before the step
    G=6,  # mobility of the place: nn, nt, nu, tt, tu, uu
    I=6,  # its inverse
    size=1,  # mean of its diagonal, 1/kg
    lam=3,  # N s: impulse along n, t, u
    old=3,
    d=3,
    C=6,
)
BOUND_ROW = Layout(
    world=False, sign=1, target=1, low=1, high=1, g=1, lam=1, old=1, d=1, C=1
)  # low <= lam <= high: an impulse that acts unless the speed is beyond the target
TRIPLE = Layout(world=False, y=3)
LIST = Layout(world=False, k=int)
KEPT = Layout(world=False, start=int, length=int, first=int)  # of a law: its chain, where its numbers begin
SETTINGS = (
    "dt",  # s
    "half",  # s: from where forces are taken to the end of the step
    "tolerance",  # m/s
    "slope",  # share of a gap that is closed in a step
    "push",  # m/s: how fast what is inside is pushed out at most
    "turn_push",  # rad/s or m/s: the same of limits of joints
    "margin",  # m: contacts nearer than this are candidates
    "restitution",
    "bounce",  # m/s: what touches more slowly does not bounce
    "stiffness",  # of Newton's law of projection, relative to 1 / mobility
    "loose",  # m/s: what is solved to this does not get more than the first cycles
    "fastest",  # rad/s or m/s: beyond it a state has blown up
)
COUNTS = (
    "n",
    "nq",
    "n_points",
    "n_pairs",
    "n_boxes",
    "n_contacts",
    "n_rows",
    "n_regions",
    "n_triples",
    "uneven",
    "varied",
    "midpoint",
    "sweeps",
    "cycles",
    "late",
)
TABLES = ("tree", "joints", "points", "bodies", "boxes", "regions", "plane", "terrain", "sought",
          "links", "candidates", "joint_rows", "fill", "reach", "kin", "near_kin")  # fmt: skip
SCRATCH = ("own", "work", "q", "v", "q_old", "v_old", "bias", "bias_mid", "mid", "x", "tau", "aim", "kp",
           "kd", "pairs", "root", "inverse_root", "z", "z_free", "z_old", "b", "y", "column", "row_y",
           "contacts", "rows", "H", "active", "near", "touched", "marks", "pushed")  # fmt: skip
OF_SLOPES = ("slopes", "first_q", "first_v", "second_q", "second_v", "middle", "answer", "kept", "test",
             "force", "inverse", "firm", "goal_q", "goal_v", "counts")  # fmt: skip
STATE = ("state_q", "state_v", "state_l", "state_row", "state_audit", "state_force", "state_gap")
STEP = Layout(
    world=False, constant=True, **dict.fromkeys((*COUNTS, *TABLES, *SCRATCH, *OF_SLOPES, *STATE), int),
    **dict.fromkeys(SETTINGS, 1),
)  # fmt: skip
AUDIT = ("time", "steps", "unsolved", "residual", "worst_residual", "depth", "gain", "cause")
TIME, STEPS, UNSOLVED, RESIDUAL, WORST, DEPTH, GAIN, CAUSE = range(len(AUDIT))
SOLVED = 1e-3  # m/s: a residual above this counts as unsolved

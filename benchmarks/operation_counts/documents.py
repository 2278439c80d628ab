"""What [Mohan2007] and [Shah2013] say their algorithms cost, and others theirs."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import kinetree as kt
from benchmarks.operation_counts.mechanisms import chain, legs
from benchmarks.operation_counts.operations import NONE, Ops


class Rule(NamedTuple):
    """Operations of a joint with eps axes: first + (eps - 1) further; and of the rest."""

    first: Ops
    further: Ops
    rest: Ops

    def joint(self, eps: int) -> Ops:
        """One joint."""
        return self.first + self.further.times(eps - 1)

    def total(self, n1: int, n2: int, n3: int) -> Ops:
        """n1, n2, n3 joint variables in joints with 1, 2 and 3 degrees of freedom."""
        joints = ((n1, 1), (n2 // 2, 2), (n3 // 3, 3))
        return sum((self.joint(eps).times(count) for count, eps in joints), self.rest)


DOCUMENT = {  # [Shah2013], Tables 6.10 and 7.5
    "inverse": Rule(Ops(94, 82), Ops(22, 14), Ops(-81, -75)),
    "forward, phi given": Rule(Ops(135, 131), Ops(63, 53), Ops(-116, -123)),
    "floating inverse": Rule(Ops(164, 156), Ops(62, 46), Ops(60, 66)),
    "forward": Rule(Ops(209, 201), Ops(70, 59), Ops(60, 72)),
}
TABLE_6_8 = {
    "t": (Ops(8, 5), Ops(4, 3)),
    "t-dot": (Ops(27, 20), Ops(10, 7)),
    "varpi": (Ops(6, 9), NONE),
    "w*": (Ops(33, 30), NONE),
    "w to parent": (Ops(20, 18), Ops(8, 4)),
}
TABLE_6_9 = {
    "Psi": (Ops(5, 0), Ops(4, 0)),
    "phi^": (Ops(0, 1), Ops(0, 1)),
    "phi~": (Ops(1, 0), Ops(1, 0)),
    "M^ - Psi^ Psi^T": (Ops(15, 15), Ops(10, 10)),
    "eta": (Ops(5, 6), Ops(4, 5)),
    "M^ to parent": (Ops(64, 78), Ops(24, 23)),
    "eta to parent": (Ops(20, 12), Ops(8, 4)),
    "mu to child": (Ops(20, 12), Ops(8, 4)),
    "qdd": (Ops(5, 6), Ops(4, 5)),
    "mu": (Ops(0, 1), Ops(0, 1)),
}
TABLE_7_3 = {
    "t": (Ops(8, 5), Ops(4, 3)),
    "t-dot": (Ops(27, 20), Ops(10, 7)),
    "A_k0": (Ops(8, 7), Ops(4, 2)),
    "varpi": (Ops(6, 9), NONE),
    "w*": (Ops(33, 36), NONE),
    "kappa~": (Ops(6, 6), Ops(6, 6)),
    "w to parent": (Ops(20, 18), Ops(8, 4)),
    "M~ to parent": (Ops(34, 40), Ops(16, 10)),
    "q~_0": (Ops(16, 8), Ops(8, 4)),
    "tau": (Ops(6, 7), Ops(6, 7)),
}
SLENDER = {  # [Mohan2007], section 4.1: per link of a long chain
    "1": Ops(4, 0),
    "2": Ops(4, 0),
    "3": Ops(9, 2),
    "4": Ops(0, 1),
    "5": Ops(80, 91),
    "6, 7": NONE,
    "8": Ops(5, 0),
    "9": Ops(16, 18),
    "10": Ops(14, 8),
    "11": Ops(14, 10),
    "12": Ops(1, 0),
    "13": Ops(4, 6),
    "14": Ops(22, 14),
    "15": NONE,
}
SLENDER_TOTAL = (Ops(173, 150), Ops(-128, -133))
Cost = Callable[[int], float]


class Printed(NamedTuple):
    """A row of [Mohan2007], Table 1: multiplications, additions, break-even points n* and n+ as printed."""

    M: Cost
    A: Cost
    formula: tuple[str, str]
    fewer_multiplications: int
    fewer_operations: int


def _linear(m: tuple[int, int], a: tuple[int, int], *printed: int) -> Printed:
    def cost(slope: int, rest: int) -> Cost:
        return lambda n: slope * n + rest

    formulas = f"{m[0]}n {m[1]:+d}", f"{a[0]}n {a[1]:+d}"
    return Printed(cost(*m), cost(*a), formulas, *printed)


TABLE_1 = {  # [Mohan2007]: forward dynamics of serial robots; the last is of O(n^3)
    "Mohan and Saha 2007": _linear((173, -128), (150, -133), 10, 12),
    "Saha 2003": _linear((191, -284), (187, -325), 10, 14),
    "Featherstone 1983": _linear((199, -198), (174, -173), 12, 14),
    "Valasek": _linear((226, -343), (206, -345), 13, 15),
    "Brandl et al.": _linear((250, -222), (220, -198), 14, 16),
    "Walker and Orin 1982": Printed(
        lambda n: n**3 / 6 + 23 / 2 * n**2 + 115 / 3 * n - 47,
        lambda n: n**3 / 6 + 7 * n**2 + 233 / 6 * n - 46,
        ("n³/6 + 23n²/2 + 115n/3 - 47", "n³/6 + 7n² + 233n/6 - 46"),
        10,
        12,
    ),
}
SLOW = "Walker and Orin 1982"
MOST_LINKS = 60


def break_even(M: Cost, A: Cost) -> tuple[int, int, int]:
    """From how many links on it needs fewer M than Walker and Orin; fewer M and fewer A; fewer in all."""
    slow = TABLE_1[SLOW]

    def first(better: Callable[[int], bool]) -> int:
        return 1 + max(n for n in range(MOST_LINKS) if n == 0 or not better(n))

    return (
        first(lambda n: M(n) <= slow.M(n)),
        first(lambda n: M(n) <= slow.M(n) and A(n) <= slow.A(n)),
        first(lambda n: M(n) + A(n) <= slow.M(n) + slow.A(n)),
    )


BIPED_LEG, QUADRUPED_LEG, HEXAPOD_LEG = (
    ("spherical", "revolute", "universal"),
    ("universal", "revolute"),
    ("revolute", "revolute"),
)
FIXED = {  # name: mechanism of the document, n1, n2, n3, the same tree with general numbers
    "gripper": (kt.zoo.gripper, (4, 0, 0), [*chain(["revolute"] * 3), ("revolute", 0)]),
    "industrial robot": (kt.zoo.kuka_kr5, (6, 0, 0), chain(["revolute"] * 6)),
    "biped": (
        kt.zoo.biped_fixed,
        (2, 4, 6),
        chain(["universal", "revolute", "spherical", "spherical", "revolute", "universal"]),
    ),
}
FLOATING = {
    "biped": (kt.zoo.spatial_biped, (2, 4, 6), legs(2, BIPED_LEG)),
    "quadruped": (kt.zoo.quadruped, (4, 8, 0), legs(4, QUADRUPED_LEG)),
    "hexapod": (kt.zoo.hexapod, (12, 0, 0), legs(6, HEXAPOD_LEG)),
}
LITERATURE: dict[str, dict[str, Callable[[int], float]]] = {  # M + A, as [Mohan2007] and [Shah2013] list them
    "inverse": {
        "Balafoutis and Patel 1991": lambda n: 93 * n - 69 + 81 * n - 65,
        "Angeles et al. 1989": lambda n: 105 * n - 109 + 90 * n - 105,
        "Saha 1999": lambda n: 120 * n - 44 + 97 * n - 55,
        "Featherstone 1987": lambda n: 130 * n - 68 + 101 * n - 56,
    },
    "forward, phi given": {
        "Mohan and Saha 2007": lambda n: 173 * n - 128 + 150 * n - 133,
        "Saha 2003": lambda n: 191 * n - 284 + 187 * n - 325,
        "Featherstone 1983": lambda n: 199 * n - 198 + 174 * n - 173,
        "Lilly and Orin 1991": lambda n: n**3 / 3 + 18.5 * n**2 + 547 / 6 * n - 102,
    },
    "floating inverse": {
        "Balafoutis and Patel 1991": lambda n: (
            104 * n + 11.5 * n**2 - 111 + 113.5 * n + 5.5 * n**2 - 119 + 126
        ),
        "Featherstone 1987": lambda n: 161 * n + 10 * n**2 - 109 + 141 * n + 6 * n**2 - 102 + 126,
    },
    "forward": {
        "McMillan and Orin 1998": lambda n: 224 * n + 158 + 205 * n + 131,
        "Stejskal and Valasek 1996": lambda n: 226 * n + 158 + 206 * n + 131,
    },
}

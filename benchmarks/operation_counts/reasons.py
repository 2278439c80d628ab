"""Why a count differs from that of the documents: sentences for the tables."""

from __future__ import annotations

WHY = {
    "inverse": "the same",
    "forward, phi given": "M^ is turned without the products of sine and cosine; the zero rows that "
    "elimination leaves inside a joint are used",
    "floating inverse": "the same for M~; kappa has a zero component; no external loads are subtracted; the "
    "arm to the base is shifted along two axes only",
    "forward": "as with phi given; w* joins eta once. The book's own rows for further axes are 63M 53A "
    "(Table 6.9) and 14M 9A for t and t', 77M 62A and not 70M 59A",
}
WHY_STEPS = {
    "inverse": {},
    "forward, phi given": {
        "Psi": "the book gives the zero component to the wrong axes of a joint; the sum is the same",
        "M^ - Psi^ Psi^T": "likewise",
        "eta": "likewise",
        "qdd": "likewise",
        "M^ to parent": "u = b_1 s + 2 f_12 c instead of the four products of A.11; c u - f_21 instead of "
        "f_12 + d_2; zero rows inside a joint",
    },
    "floating inverse": {
        "A_k0": "shifts along x and z instead of a general vector",
        "w*": "the 6A of external loads are only done when there are any",
        "kappa~": "the force of kappa = M~ p has no component along a revolute axis",
        "M~ to parent": "u instead of the four products of A.11",
        "tau": "likewise, kappa has five components",
    },
}
WHY_TOTAL = {
    "inverse biped": "the first joint is universal; the book's 13M 7A for a link at the world hold for one "
    "axis",
    "floating inverse biped": "the second leg needs one more constant screw to the base; base: see below",
    "floating inverse quadruped": "likewise three legs",
    "floating inverse hexapod": "likewise five legs",
    "forward biped": "likewise",
    "forward quadruped": "likewise",
    "forward hexapod": "likewise",
}
WHY_SLENDER = {
    "1": "neither a_i nor Q_i is formed: a vector or matrix is turned and shifted about z, then about x",
    "2": "likewise",
    "3": "C_4 c^2 = C_4 - C_4 s^2",
    "5": "two planar screws ([Shah2013], A.7), zero row and column of M-bar; 9A for the rod's own of 15A",
    "9": "the row and column of the axis vanish",
    "10": "A^T eta whole (20M 12A) and one difference; the document splits it over steps 10 and 11 and "
    "leaves out the 3A of a x eta",
    "11": "see step 10",
    "13": "psi has five components besides the one: along z the force does not vanish",
    "14": "two planar screws",
    "15": "the sum with theta-ddot, which the document does not count",
}
WHY_BASE = {
    "floating inverse": "the book's base has t_0 = qd_0 and t'_0 = [0; -g]; with Euler angles both and "
    "varpi are computed, w* is that of any link, and qdd_0 follows by P_0^-1. Its 36M 36A multiply with "
    "an inverse that is not counted; here the equations are solved",
    "forward": "likewise; the base is a joint of six axes, which are eliminated one by one",
}

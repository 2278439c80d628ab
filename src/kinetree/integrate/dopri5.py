"""Coefficients of Dormand and Prince's 5(4) pair and of its dense output of order 4.

Hairer, Norsett, Wanner: Solving ordinary differential equations I, 2nd edition, II.5 table 5.2 and II.6.
"""

from __future__ import annotations

# c, then a_ij of the stages 2 ... 6; stage 7 is the new point itself
STAGES = (
    (1 / 5, (1 / 5,)),
    (3 / 10, (3 / 40, 9 / 40)),
    (4 / 5, (44 / 45, -56 / 15, 32 / 9)),
    (8 / 9, (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729)),
    (1.0, (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656)),
)
B = (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84)
ERROR = (71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40)  # order 5 minus 4

# the term of theta^2 (1 - theta)^2 in the dense output
D = (
    -12715105075 / 11282082432,
    0.0,
    87487479700 / 32700410799,
    -10690763975 / 1880347072,
    701980252875 / 199316789632,
    -1453857185 / 822651844,
    69997945 / 29380423,
)

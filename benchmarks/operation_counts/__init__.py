"""Operations of the DeNOC algorithms beside those that [Mohan2007] and [Shah2013] count: tables and curves.

    python -m benchmarks.operation_counts [folder]

writes operation_counts.md and operation_counts.png (the curves of [Shah2013], Figs. 6.15, 6.16, 7.30 and
7.31) into the folder, by default the current one. Nothing is estimated: the algorithms run on numbers that
count what is done with them. M are multiplications and divisions, A additions and subtractions. As in the
documents the angle theta of a joint is given: adding its constant part to q is not counted.
"""

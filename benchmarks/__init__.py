"""Kinetree beside its peers: how long the same answers take, in one run on one machine.

``python -m benchmarks`` from the root of the repository. Libraries that bring threads of their own are held
to one here, before any of them is imported.
"""

import os

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

"""Fewer passes of the compiler make code with the same results, to rounding."""

import os
import subprocess
import sys

import numpy as np
import pytest

RESULTS = """
import sys
sys.modules["coverage"] = None
from numba.core.compiler import Compiler
from kinetree.engine import pipeline
if sys.argv[1] == "numba":
    pipeline.InnerCompiler = pipeline.OuterCompiler = Compiler
import numpy as np, kinetree as kt
tree, random = kt.zoo.random_tree(3, 9), np.random.default_rng(4)
for shape in ((tree.n_dof,), (8, tree.n_dof)):
    q, qd, qdd = random.normal(size=(3, *shape))
    for found in (kt.inverse_dynamics(tree, q, qd, qdd), kt.kinetic_energy(tree, q, qd)):
        print(*np.ravel(found))
"""


@pytest.mark.skipif(os.environ.get("KINETREE_INTERPRET") == "1", reason="nothing is compiled")
def test_results_are_those_of_all_of_numbas_passes(tmp_path):
    def results(passes):
        done = subprocess.run(
            [sys.executable, "-c", RESULTS, passes],
            env=dict(os.environ, KINETREE_CACHE_DIR=str(tmp_path / passes)),
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return np.array(done.stdout.split(), float)

    ours, theirs = results("ours"), results("numba")
    assert ours.size > 50
    assert np.abs(ours - theirs).max() <= 1e-13 * np.abs(theirs).max()

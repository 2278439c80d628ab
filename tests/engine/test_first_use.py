"""Many threads that ask for the same thing first: what one of them makes is not taken from another."""

import os
import subprocess
import sys

import pytest

PREPARED = """
import sys, threading
from concurrent.futures import ThreadPoolExecutor
import numpy as np, kinetree as kt
sys.setswitchinterval(1e-6)
CALLS = {
    "one": lambda m, x: kt.inverse_dynamics(m, x, x, x),
    "matrices": lambda m, x: kt.inverse_dynamics_derivatives(m, x, x, x).dtau_dq,
    "mass": lambda m, x: kt.mass_matrix(m, x),
}
call, batch = CALLS[sys.argv[1]], eval(sys.argv[2])
wrong = []

def ask(k):
    gate.wait()
    for _ in range(5):
        if not np.array_equal(call(mechanism, x), expected):
            wrong.append(k)

for seed in range(20):
    mechanism = kt.zoo.random_tree(seed, 6)
    x = np.linspace(0.1, 0.9, mechanism.n_dof) * np.ones((*batch, 1))
    expected = call(kt.zoo.random_tree(seed, 6), x) if seed else None
    if seed == 0:  # machine code itself is raced for too
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda k: call(mechanism, x), range(16)))
        continue
    gate = threading.Barrier(8)
    threads = [threading.Thread(target=ask, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
print("wrong", len(wrong))
"""


@pytest.mark.parametrize(("call", "batch"), [("one", ()), ("one", (8,)), ("matrices", (8,)), ("mass", (2,))])
def test_threads_that_come_first_together(call, batch):
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", PREPARED, call, repr(batch)],
            env=dict(os.environ, PYTHONDONTWRITEBYTECODE="1"),
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.split() == ["wrong", "0"]

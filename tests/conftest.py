"""What every test may ask for."""

import zlib

import numpy as np
import pytest

from support.cases import CASES


@pytest.fixture
def rng(request):
    """Random numbers whose seed comes from the test's own id; a failing test shows the seed."""
    seed = zlib.crc32(request.node.nodeid.encode())
    request.node.add_report_section("setup", "random numbers", f"numpy.random.default_rng({seed})")
    return np.random.default_rng(seed)


@pytest.fixture(params=CASES)
def robot(request, rng):
    """Random mechanisms of every joint kind, one after the other."""
    return CASES[request.param](rng)

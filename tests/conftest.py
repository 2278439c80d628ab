"""What every test may ask for."""

import contextlib
import os
import zlib

import numpy as np
import pytest

from kinetree.study.warmup import pieces
from support.cases import CASES

os.environ.setdefault("KINETREE_NOTICE", "0")  # tests look at what commands print, wherever code is compiled


@pytest.fixture(scope="session", autouse=True)
def compiled_together(request, tmp_path_factory):
    """Workers that run all tests share the work of compiling: each piece is made by one of them.

    Whoever creates the file of a piece makes it, the large ones first; all others find it on disk. Without
    this every worker would make most pieces for itself. A run of some tests compiles what these need.
    """
    config = request.config
    if hasattr(config, "workerinput") and list(config.args) == config.getini("testpaths"):
        claims = tmp_path_factory.getbasetemp().parent / "compiled"
        claims.mkdir(exist_ok=True)
        for k, (_, compile_piece) in reversed(list(enumerate(pieces()))):
            with contextlib.suppress(FileExistsError):
                (claims / str(k)).touch(exist_ok=False)
                compile_piece()


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

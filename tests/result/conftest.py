"""A saved result that several tests read or damage."""

import numpy as np
import pytest

from kinetree.model import zoo
from kinetree.result import netcdf
from support.results import random_result


@pytest.fixture(scope="module")
def content():
    return netcdf.result_bytes(random_result(zoo.quadruped(), np.random.default_rng(7)))


@pytest.fixture
def saved(tmp_path, content):
    path = tmp_path / "run.nc"
    path.write_bytes(content)
    return path

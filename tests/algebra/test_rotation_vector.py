"""Rotation vectors against SciPy, at every angle."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from kinetree.algebra.rotation_vector import rotation_vector


@pytest.mark.parametrize("angle", [0.0, 1e-12, 1e-7, 1e-3, 1.0, 3.0, np.pi - 1e-7])
def test_is_the_inverse_of_the_exponential(rng, angle):
    axis = rng.standard_normal((40, 3))
    vectors = angle * axis / np.linalg.norm(axis, axis=1, keepdims=True)
    R = Rotation.from_rotvec(vectors).as_matrix().reshape(8, 5, 3, 3)
    assert np.allclose(rotation_vector(R).reshape(-1, 3), vectors, rtol=0, atol=4e-15)


def test_half_a_turn_has_an_axis_of_either_sign(rng):
    axis = rng.standard_normal((30, 3))
    axis /= np.linalg.norm(axis, axis=1, keepdims=True)
    found = rotation_vector(2 * axis[:, :, None] * axis[:, None, :] - np.eye(3))
    assert np.allclose(np.abs(np.einsum("ij,ij->i", found, axis)), np.pi, atol=1e-14)

"""Poses, mass matrices, torques and Jacobians beside OpenSim's own, where it and models are installed."""

from pathlib import Path

import numpy as np
import pytest

import kinetree as kt
from support.opensim_peer import DATA, Every, Peer, differences, random_states, saved_again

pytest.importorskip("opensim")
pytestmark = [pytest.mark.peers, pytest.mark.filterwarnings("ignore::kinetree.KinetreeWarning")]
LEG = Path(__file__).parents[1] / "data" / "osim" / "leg.osim"
MODELS = [
    "id/arm26.osim",
    "id/subject01.osim",
    "moco2d/2D_gait.osim",
    "scale/gait2354_simbody.osim",
    "walking/subject01_gait2392_scaled.osim",
]


def test_a_file_of_our_own_is_read_as_opensim_reads_it():
    assert max(differences(LEG, 10).values()) < 1e-9


@pytest.mark.parametrize("name", MODELS)
def test_models_are_read_as_opensim_reads_them(name, tmp_path):
    """Saved again by OpenSim, whose upgrade of old files rounds numbers to seven digits."""
    if not (DATA / name).is_file():
        pytest.skip("the model is not here")
    assert max(differences(saved_again(DATA / name, tmp_path), 10).values()) < 1e-9


def test_lengths_of_muscles_along_points_equal_opensims():
    import opensim

    peer_model = opensim.Model(str(LEG))
    state = peer_model.initSystem()
    mechanism = kt.load(LEG)
    knee = peer_model.getCoordinateSet().get("knee_angle")
    straight = [x for x in mechanism.muscles if x.name == "hamstrings"]
    assert straight and straight[0].bodies == ("pelvis", "tibia")
    knee.setValue(state, -0.5, True)
    peer_model.realizePosition(state)
    assert peer_model.getMuscles().get("hamstrings").getLength(state) > 0.3


def test_with_several_turns_of_one_coordinate_torques_are_the_rates_of_momentum():
    """There OpenSim's own differ (docs/opensim.md); momentum is judged from its positions alone."""
    model = DATA / "Rajagopal2015.osim"
    if not model.is_file():
        pytest.skip("the model is not here")
    m = kt.load(model)
    q, qd, qdd = (x[0] for x in random_states(m, 1))
    h, steps = 1e-3, np.arange(-3, 4)
    path = q + h * steps[:, None] * qd + 0.5 * (h * steps[:, None]) ** 2 * qdd
    peer, com = Peer(model), []
    every = Every(m, peer.names)
    for x in path:
        a, u, _ = every.state(x, 0 * x, 0 * x)
        peer.at(a, u)
        place = peer.model.calcMassCenterPosition(peer.state)
        com.append([place.get(i) for i in range(3)])
    second = np.array([2, -27, 270, -490, 270, -27, 2]) / 180 @ np.array(com) / h**2
    tau = kt.inverse_dynamics(m, q, qd, qdd)
    force = tau[[m.joint_index(f"pelvis_t{x}") for x in "xyz"]]
    assert force == pytest.approx(m.mass * (second - m.gravity), rel=1e-6)

"""The cost of muscles as the objective of a study."""

import numpy as np
import pytest

import kinetree as kt

STUDY = """
[study]
task = "predict"
[mechanism]
zoo = "muscle_arm"
[predict]
objective = "terms"
duration = [0.6, 0.6]
segments = 4
tolerance = 1e-3
start = { q = [0.2, 0.8] }
end = { q = [0.5, 1.2] }
[[predict.muscle_cost]]
exponent = 3.0
"""


def test_a_study_minimizes_the_cost_that_python_has(tmp_path):
    (tmp_path / "reach.toml").write_text(STUDY)
    found = kt.run(str(tmp_path / "reach.toml"))
    problem = kt.Problem(
        kt.zoo.muscle_arm(),
        objective=kt.terms.MuscleCost(exponent=3.0),
        constraints=[
            kt.terms.Boundary("start", [0.2, 0.8], [0, 0]),
            kt.terms.Boundary("end", [0.5, 1.2], [0, 0]),
        ],
        duration=0.6,
        segments=4,
    )
    own = kt.predict(problem, tolerance=1e-3)
    assert found.passed and own.solved
    assert found["objective_history"].values[-1] == pytest.approx(own.objective, rel=1e-3)
    np.testing.assert_allclose(found.q.values, own.at(found.time.values)[0], atol=1e-2)

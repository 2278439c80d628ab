"""Prices of active bounds, in changes that they hold for."""

import pytest

from kinetree.motion.outcome.active import ActiveBound


@pytest.mark.parametrize(
    "unit, price, said",
    [
        ("N m", -0.002, "1 N m more would save 2 ms"),
        ("m", -1.9, "1 cm more would save 19 ms"),  # a meter would be another motion
        ("rad", -1.0, "1 degree more would save 17.5 ms"),
    ],
)
def test_lengths_are_priced_by_the_centimeter_and_angles_by_the_degree(unit, price, said):
    bound = ActiveBound("limit", "hand", "upper", 1.0, unit, (0.1,), 0.5, price)
    assert bound.worth(is_time=True) == said

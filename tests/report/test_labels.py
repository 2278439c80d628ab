"""Labels in pictures: beside what they name, on the page, not over each other."""

import numpy as np
import pytest
from matplotlib.text import Text

import kinetree as kt
from kinetree.report.draw import figure_of
from kinetree.report.label_places import label_places


def overlaps(low, size):
    """Pairs of boxes that share an area."""
    high = low + size
    return [
        (a, b)
        for a in range(len(low))
        for b in range(a)
        if (np.minimum(high[a], high[b]) - np.maximum(low[a], low[b]) > 1e-9).all()
    ]


@pytest.mark.parametrize("count", [1, 12, 40])
def test_labels_do_not_cover_each_other_or_leave_the_page(count, rng):
    page = (430.0, 430.0)
    anchors = rng.normal((215, 215), 60, (count, 2)).clip(0, 430)
    sizes = np.column_stack([rng.uniform(20, 90, count), np.full(count, 9.0)])
    low = label_places(anchors, sizes, page, anchors)
    assert not overlaps(low, sizes)
    assert (low >= 0).all() and (low + sizes <= np.array(page)).all()
    away = np.maximum(np.maximum(low - anchors, anchors - low - sizes), 0)
    assert np.linalg.norm(away, axis=1).max() < 175


def test_a_label_at_the_edge_stays_on_the_page():
    low = label_places(np.array([[99.0, 1.0]]), np.array([[60.0, 9.0]]), (100.0, 100.0), np.zeros((0, 2)))
    assert (low >= 0).all() and (low <= [[40, 91]]).all()


@pytest.mark.parametrize("name", ["kuka_kr5", "spatial_biped", "human", "stewart", "chain"])
def test_names_of_joints_are_apart_in_pictures(name):
    mechanism = kt.zoo.chain(12) if name == "chain" else getattr(kt.zoo, name)()
    figure = figure_of(mechanism, labels=True)
    figure.canvas.draw()
    known = set(mechanism.joint_names) | {link.joint.name for link in mechanism.links}
    texts = [
        x for x in figure.findobj(Text) if x.get_text() and x.get_text().replace(",", " ").split()[0] in known
    ]
    assert len(texts) > 3
    (ax,) = figure.axes
    places = np.array([[*x.get_position_3d(), 1.0] for x in texts]) @ ax.get_proj().T
    low = ax.transData.transform(
        places[:, :2] / places[:, 3:]
    )  # they are written to the right and up from there
    size = np.array([x.get_window_extent().size for x in texts])
    assert not overlaps(low, size)
    assert (low >= 0).all() and (low + size <= figure.bbox.size).all()

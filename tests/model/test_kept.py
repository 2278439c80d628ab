"""What is derived from a tree and kept with it."""

import copy
import pickle
import threading
from dataclasses import replace

import numpy as np

import kinetree as kt
from kinetree.model.kept import once_per_tree


def test_values_are_made_once_for_each_tree():
    made = []

    @once_per_tree
    def count(tree):
        """How many axes."""
        made.append(tree)
        return [tree.n]

    arm, other = kt.zoo.gripper().tree, kt.zoo.puma().tree
    assert count(arm) is count(arm) and count(arm) == [4]
    assert count(other) == [6] and made == [arm, other]
    assert count.__doc__ == "How many axes."


def test_a_value_that_is_nothing_is_kept_too():
    made = []
    nothing = once_per_tree(lambda tree: made.append(1))
    tree = kt.zoo.gripper().tree
    assert nothing(tree) is None and nothing(tree) is None and made == [1]


def test_all_threads_get_the_value_of_the_first():
    barrier, found = threading.Barrier(4), []

    @once_per_tree
    def slow(tree):
        barrier.wait(10)  # all threads make a value
        return object()

    tree = kt.zoo.gripper().tree
    threads = [threading.Thread(target=lambda: found.append(slow(tree))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4 and len(set(found)) == 1


def test_copies_pickles_and_changed_trees_derive_again():
    arm, rest = kt.zoo.kuka_kr5(), np.zeros(6)
    tau = kt.inverse_dynamics(arm, rest, rest, rest)
    assert arm.tree.kept.calls and arm.tree.kept.values
    for made in (pickle.loads(pickle.dumps(arm)), copy.deepcopy(arm)):
        assert not made.tree.kept.calls and not made.tree.kept.values
        assert np.array_equal(kt.inverse_dynamics(made, rest, rest, rest), tau)
    weightless = replace(arm.tree, gravity=np.zeros(3))
    assert not weightless.kept.calls and not weightless.kept.values

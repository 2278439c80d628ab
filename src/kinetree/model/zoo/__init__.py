"""The documents' mechanisms, and mechanisms of any size; shared by tests, examples and measurements."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any

from kinetree.errors import InputError, unknown_name
from kinetree.model.mechanism import Mechanism
from kinetree.model.zoo.arms import (
    gripper,
    kuka_kr5,
    muscle_arm,
    puma,
    two_link,
    two_link_point_masses,
    two_link_prismatic,
    ur5,
)
from kinetree.model.zoo.closed import delta, four_bar, robotic_leg, stewart, three_rrr
from kinetree.model.zoo.generated import andrews_squeezer, chain, flyball_governor, random_tree
from kinetree.model.zoo.human import human
from kinetree.model.zoo.legged import (
    biped_fixed,
    hexapod,
    humanoid,
    planar_biped,
    quadruped,
    spatial_biped,
)
from kinetree.model.zoo.linkages import (
    bricard,
    five_bar,
    jansen_leg,
    jansen_walker,
    n_four_bar,
    scissor_lift,
    slider_crank,
)

ZOO: dict[str, Callable[..., Mechanism]] = {
    make.__name__: make
    for make in (
        two_link,
        two_link_prismatic,
        two_link_point_masses,
        puma,
        gripper,
        kuka_kr5,
        ur5,
        muscle_arm,
        biped_fixed,
        planar_biped,
        spatial_biped,
        quadruped,
        hexapod,
        humanoid,
        human,
        four_bar,
        robotic_leg,
        three_rrr,
        slider_crank,
        five_bar,
        n_four_bar,
        scissor_lift,
        jansen_leg,
        jansen_walker,
        bricard,
        stewart,
        delta,
        andrews_squeezer,
        flyball_governor,
        chain,
        random_tree,
    )
}


def names() -> dict[str, str]:
    """The mechanisms by name, each with one line about it; all can be made without parameters.

    >>> import kinetree as kt
    >>> kt.zoo.names()["gripper"]
    'Planar tree with four revolute joints: a palm that carries a finger of two links and one of one link.'
    """
    return {name: (make.__doc__ or "").splitlines()[0] for name, make in ZOO.items()}


def by_name(name: str, **parameters: Any) -> Mechanism:
    """The mechanism of a name, with the parameters of its function.

    >>> by_name("chain", n=3)
    Mechanism('chain', 3 bodies, 3 degrees of freedom)
    """
    if not isinstance(name, str) or name not in ZOO:
        raise InputError(unknown_name("mechanism", name, ZOO))
    known = signature(ZOO[name]).parameters
    for key in parameters:
        if key not in known:
            raise InputError(unknown_name(f"parameter of {name}", key, known))
    return ZOO[name](**parameters)


__all__ = [
    "ZOO",
    "andrews_squeezer",
    "biped_fixed",
    "bricard",
    "by_name",
    "chain",
    "delta",
    "five_bar",
    "flyball_governor",
    "four_bar",
    "gripper",
    "hexapod",
    "human",
    "humanoid",
    "jansen_leg",
    "jansen_walker",
    "kuka_kr5",
    "muscle_arm",
    "n_four_bar",
    "names",
    "planar_biped",
    "puma",
    "quadruped",
    "random_tree",
    "robotic_leg",
    "scissor_lift",
    "slider_crank",
    "spatial_biped",
    "stewart",
    "three_rrr",
    "two_link",
    "two_link_point_masses",
    "two_link_prismatic",
    "ur5",
]

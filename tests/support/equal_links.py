"""Mechanisms of equal links with general numbers, for counts of operations."""

import kinetree as kt

BOX = kt.Inertia.box(1.0, (0.1, 0.2, 0.3), (0.1, 0.2, 0.3))


def branched(parents, kind="revolute"):
    """Links on parents that are given by number, -1 for the world."""
    robot, bodies = kt.Builder("equal links"), []
    for k, parent in enumerate(parents):
        start = robot.world if parent < 0 else bodies[parent]
        bodies.append(start.joint(f"j{k}", kind, at=(0.3, 0.2, 0.1), rpy=(1, 2, 3)).body(f"b{k}", BOX))
    return robot.build()


def chain(n, kind="revolute"):
    """Links one after the other."""
    return branched(range(-1, n - 1), kind)


def star(n):
    """All links on the world: none feels another."""
    return branched([-1] * n)


def ball_and_hinges():
    """The same three axes twice: as a ball joint with one body, and as hinges with a body each."""
    ball, hinges = kt.Builder("ball"), kt.Builder("hinges")
    ball.world.spherical("s", sequence="XYZ").body("b", BOX)
    body = hinges.world
    for axis in "xyz":
        body = body.revolute(axis, axis=axis).body(axis, BOX)
    return ball.build(), hinges.build()

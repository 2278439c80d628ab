"""Arguments that several terms take: their types, and what they mean in study files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from numpy.typing import ArrayLike

from kinetree.declare import DECLARED_UNIT, Parameter
from kinetree.motion.problem.setting import PLACES, Where

Names = str | Sequence[str] | None
Values = ArrayLike | dict[str, float]

_PLACES = '"start", "end", all "samples" or "knots", or values of s = t / T from 0 to 1'
CODE = "runs only with --allow-code file.py"

BodyName = Annotated[str, Parameter("Name of the body")]
BodyOrJoint = Annotated[str, Parameter("Name of the joint, or of the body that it carries")]
OtherBody = Annotated[str, Parameter("Name of the other body")]
JointName = Annotated[str, Parameter("Name of the joint")]
JointNames = Annotated[Names, Parameter("Names of the joints", kind="names", default_text="default all")]
Instants = Annotated[Where, Parameter(_PLACES, kind="place", choices=PLACES)]
InstantsOrPoints = Annotated[
    Where,
    Parameter(
        f'{_PLACES}; or "points": control points stay within the bounds',
        kind="place",
        choices=(*PLACES, "points"),
    ),
]
During = Annotated[
    Sequence[float], Parameter("From which s = t / T to which", kind="numbers", default_text="default all")
]
RowInstants = Annotated[
    ArrayLike | None,
    Parameter("Instants of the rows, 0 to 1", kind="numbers", default_text="default evenly spaced"),
]
PointOnBody = Annotated[
    ArrayLike, Parameter("The point in the body's frame", "m", "vector", "default its origin")
]
PointsOnBody = Annotated[
    ArrayLike, Parameter("Points in the body's frame", "m", "rows", "default its origin")
]
PointOnOther = Annotated[
    ArrayLike, Parameter("The point in the other one", "m", "vector", "default its origin")
]
Directions = Annotated[str, Parameter('Directions that count, such as "xy"', default_text="default all")]
JointWeights = Annotated[Values, Parameter("Weights of the joints", kind="gains")]
TorqueScale = Annotated[
    Values | None, Parameter("Scale of torques", "N m, N", "bounds", "default the model's limits")
]
UpperLimits = Annotated[
    Values | None, Parameter("Upper bounds", DECLARED_UNIT, "bounds", "default the model's")
]
LowerLimits = Annotated[Values | None, Parameter("Lower bounds", DECLARED_UNIT, "bounds", "default -upper")]
Coefficients = Annotated[
    Mapping[str, float], Parameter("Coefficients of joints, by name (no unit)", kind="gains")
]
ForceSegments = Annotated[
    int | None, Parameter("Segments of its splines", default_text="default as the motion")
]
ForceDegree = Annotated[int | None, Parameter("Degree of its splines", default_text="default two less")]
Stature = Annotated[float, Parameter("Stature", "m", "positive")]
BodyMass = Annotated[float, Parameter("Mass of the body", "kg", "positive")]

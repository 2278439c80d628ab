"""Parts of mechanisms, one step below the package: links, loops, frames, shapes, couplings."""

from .actuator import Actuator as Actuator
from .body import Shape as Shape
from .dh import EulerDhRow as EulerDhRow
from .dh import distal_frames as distal_frames
from .dh import euler_dh_rows as euler_dh_rows
from .frame import Frame as Frame
from .graph import from_graph as from_graph
from .height_field import HeightField as HeightField
from .joint import Composed as Composed
from .joint import CubicSpline as CubicSpline
from .joint import Mimic as Mimic
from .joint import PiecewiseLinear as PiecewiseLinear
from .joint import Polynomial as Polynomial
from .joint import Scaled as Scaled
from .joint import SmoothFunction as SmoothFunction
from .loop import Loop as Loop
from .marker import Marker as Marker
from .mechanism import Link as Link
from .muscle import MovingPoint as MovingPoint
from .muscle import Muscle as Muscle
from .muscle import PathPoint as PathPoint
from .muscle import PathWrap as PathWrap
from .muscle import Wrap as Wrap

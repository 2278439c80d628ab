"""Motion prediction: the best motion by optimization of B-spline joint profiles.

``kt.Problem`` and ``kt.predict`` suffice at first; phases, refinements and the kinds of answers are here.

>>> import kinetree as kt
>>> kt.motion.PhasedProblem.__name__
'PhasedProblem'
"""

import lazy_loader

from kinetree.other_names import names_of

_found, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__getattr__ = names_of(__name__, __all__, _found)

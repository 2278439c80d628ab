"""What motion do these forces cause? Integration in time, contact with the ground, energy audit.

``kt.simulate`` and ``kt.Ground`` suffice at first; soils, regions, stops, triggers, batches and the stepwise
simulator are here.

>>> import kinetree as kt
>>> kt.simulation.Soil(stiffness=1e5, damping=1e3, friction=0.7).friction
0.7
"""

import lazy_loader

from kinetree.other_names import names_of

_found, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__getattr__ = names_of(__name__, __all__, _found)

"""What a mechanism is: bodies, joints, the tree they form; immutable, without equations of motion.

Parts that few programs name stand here, the others in ``kt.``.

>>> import kinetree as kt
>>> kt.model.Mimic("finger", multiplier=-1.0).multiplier
-1.0
"""

import lazy_loader

from kinetree.other_names import names_of

_found, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__getattr__ = names_of(__name__, __all__, _found)

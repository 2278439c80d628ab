"""Questions about states: validate the input, run a kernel, name the answer. What a user calls.

The verbs stand in ``kt.``; derivatives of higher order, formulations, regressors and the kinds of answers
are here, each in ``__init__.pyi`` with its file, which is loaded when the name is first used.

>>> import kinetree as kt
>>> arm = kt.zoo.two_link()
>>> kt.analysis.torque_hessian(arm, [0.1, 0.2], [0.0, 0.0], [0.0, 0.0], weight=[1.0, 1.0]).full.shape
(6, 6)
"""

import lazy_loader

from kinetree.other_names import names_of

_found, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__getattr__ = names_of(__name__, __all__, _found)

"""All fuzzers by name."""

from __future__ import annotations

from fuzz.api import API
from fuzz.examples import EXAMPLES
from fuzz.files import FILES
from fuzz.long import LONG_RUNS
from fuzz.macros import MACROS
from fuzz.meshes import MESHES
from fuzz.parsers import PARSERS
from fuzz.people import PEOPLE
from fuzz.stores import STORES
from fuzz.verdicts import VERDICTS

GROUPS = (*PARSERS, *API, *EXAMPLES, *FILES, *MACROS, *MESHES, *STORES, *VERDICTS, *PEOPLE, *LONG_RUNS)
FUZZERS = {fuzzer.name: fuzzer for fuzzer in GROUPS}

"""All fuzzers by name."""

from __future__ import annotations

from fuzz.api import API
from fuzz.examples import EXAMPLES
from fuzz.files import FILES
from fuzz.long import LONG_RUNS
from fuzz.parsers import PARSERS
from fuzz.stores import STORES

FUZZERS = {fuzzer.name: fuzzer for fuzzer in (*PARSERS, *API, *EXAMPLES, *FILES, *STORES, *LONG_RUNS)}

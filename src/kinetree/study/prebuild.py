"""``python -m kinetree.study.prebuild FOLDER [NAMES]``: machine code of release wheels.

NAMES is a regular expression of what to compile, as ``kinetree warmup`` names it; by default everything that
can be loaded without numba. The hook ``hatch_build.py`` calls it.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from kinetree.engine.disk_cache import CACHE_VARIABLE, PACKAGE, room_of, stamp
from kinetree.engine.keyed import content
from kinetree.engine.prebuilt import FEATURES, INDEX, PROCESSOR, SWITCH, digest, system
from kinetree.engine.prebuilt import stamp as stamp_of_entry
from kinetree.engine.stored_code import FILE
from kinetree.kernels.number import LANES

COMPILE = "from kinetree.study.prebuild import compile_here; import sys; compile_here(*sys.argv[1:])"
BASE = "64bit cx8 cmov fxsr mmx sse sse2 x87 crc32".split()  # what LLVM counts as features before SSE 3


def main(arguments: list[str]) -> int:
    """Compile in a process of its own, for which numba makes code for that level of processors."""
    folder, names = Path(arguments[0]).absolute(), arguments[1] if len(arguments) > 1 else "."
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as cache:
        settings = {
            "NUMBA_CPU_NAME": PROCESSOR,
            "NUMBA_CPU_FEATURES": ",".join(f"+{feature}" for feature in (*BASE, *FEATURES)),
            CACHE_VARIABLE: cache,
            SWITCH: "0",
        }
        command = [sys.executable, "-c", COMPILE, str(folder), names]
        return subprocess.run(command, env={**os.environ, **settings}, check=False).returncode


def compile_here(folder: str, names: str) -> None:
    """Compile, and put every entry that LLVM can load alone into the folder, with its index."""
    from kinetree.study.warmup import pieces

    for name, compile_piece in pieces():
        if re.search(names, name):
            print(f"compiling {name}", flush=True)
            compile_piece()
    rooms = {room_of(str(file)) for file in PACKAGE.rglob("*.py")}
    made_of = {stamp(lanes, room): (lanes, room) for room in rooms for lanes in (1, LANES)}
    entries, size = {}, 0
    for place in sorted(Path(os.environ[CACHE_VARIABLE]).glob(f"*/*/{FILE}")):
        name, found = place.parent.name, content(place.parent, FILE)
        assert found is not None, name
        (Path(folder) / name).write_bytes(found)
        entries[name] = {
            "stamp": stamp_of_entry(name, *made_of[place.parents[1].name]),
            "digest": digest(found),
        }
        size += len(found)
    index = {"system": system(), "processor": PROCESSOR, "entries": entries}
    (Path(folder) / INDEX).write_text(json.dumps(index, indent=1) + "\n", encoding="utf-8")
    print(f"{len(entries)} entries, {size / 1e6:.1f} MB")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

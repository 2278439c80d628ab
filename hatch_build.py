"""Machine code in release wheels: ``KINETREE_WHEEL_CODE=1 python -m build``; other wheels are pure.

The variable may also be a regular expression of what to compile, as ``kinetree warmup`` names it.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

VARIABLE = "KINETREE_WHEEL_CODE"
SYSTEM = "linux", "x86_64"  # where such wheels are made


class CustomBuildHook(BuildHookInterface):
    """Compiles what `kinetree.engine.prebuilt` looks for, and marks the wheel as of one platform."""

    def dependencies(self) -> list[str]:
        """What compiling needs: the dependencies of the package itself."""
        return list(self.metadata.core.dependencies) if os.environ.get(VARIABLE) else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile before the wheel is packed."""
        names = os.environ.get(VARIABLE)
        if not names or version != "standard":
            return
        if (sys.platform, platform.machine()) != SYSTEM:
            raise RuntimeError(f"{VARIABLE}: machine code is made on {' '.join(SYSTEM)} only")
        self.made = tempfile.TemporaryDirectory()
        command = [sys.executable, "-m", "kinetree.study.prebuild", self.made.name]
        if names != "1":
            command.append(names)
        path = os.pathsep.join([str(Path(self.root) / "src"), os.environ.get("PYTHONPATH", "")])
        subprocess.run(command, env={**os.environ, "PYTHONPATH": path.rstrip(os.pathsep)}, check=True)
        build_data["force_include"][self.made.name] = "kinetree/prebuilt"
        build_data["pure_python"] = False
        build_data["tag"] = "py3-none-manylinux_2_17_x86_64"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Leave nothing behind."""
        if hasattr(self, "made"):
            self.made.cleanup()

"""Robot files that come with other installed packages: found by their lists of files, nothing is imported."""

from __future__ import annotations

import re
from collections import Counter
from importlib import metadata
from pathlib import Path, PurePath, PurePosixPath

from kinetree.errors import FileError, InputError, shown, unknown_name
from kinetree.formats.kinds import FileKind, kind_of
from kinetree.formats.regular_file import file_content

LARGEST = 20_000_000  # bytes; no larger file is looked into
USUAL = ("urdf", "robots", "robot", "sdf", "xml", "mjcf", "models", "assets")  # folders that say nothing
SEPARATOR = ":"


def installed_models(package: str) -> dict[str, Path]:
    """The URDF, SDF and MJCF files of an installed package, by short names that only they have.

    The package's own list of files is read; none of its code runs. Load one by its path, or by its name
    behind that of the package: ``kt.load("example-robot-data:panda")``.

    >>> installed_models("numpy")
    {}
    """
    found = _files(_distribution(package))
    return {name: path for name, path in sorted(zip(_names(list(found)), found.values(), strict=True))}


def is_installed_name(text: str) -> bool:
    """Whether a text is meant as a package and a model, not as a path: "robosuite:panda/robot".

    >>> is_installed_name("robosuite:panda"), is_installed_name("C:/robots/arm.urdf")
    (True, False)
    """
    return re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]+:[^:\\]+", text) is not None and not Path(text).exists()


def installed_path(text: str) -> Path:
    """The file that is meant by a package and a model, such as "example-robot-data:panda"."""
    package, _, name = text.partition(SEPARATOR)
    models = installed_models(package)
    if name in models:
        return models[name]
    if not models:
        raise InputError(f"the package '{package}' has no URDF, SDF or MJCF files")
    near = [known for known in models if f"/{known}/".find(f"/{name}/") >= 0]
    if len(near) == 1:
        return models[near[0]]
    raise InputError(
        f"{unknown_name(f'model of {package}', name, models)} See: kinetree zoo --from {package}"
    )


def distribution_names() -> list[str]:
    """Names of all installed packages."""
    names = (found.metadata["Name"] for found in metadata.distributions())
    return sorted({name for name in names if name}, key=str.lower)


def _distribution(package: str) -> metadata.Distribution:
    if not isinstance(package, str) or not re.fullmatch(r"[A-Za-z0-9._-]+", package):
        raise InputError(f"the name of a package has letters, digits, '.', '_' and '-', got {shown(package)}")
    try:
        return metadata.distribution(package)
    except metadata.PackageNotFoundError:
        pass
    owners = metadata.packages_distributions().get(package)
    if owners:
        return metadata.distribution(owners[0])
    raise InputError(
        f"{unknown_name('package', package, distribution_names())} Install it with: pip install {package}"
    )


def _files(distribution: metadata.Distribution) -> dict[PurePosixPath, Path]:
    """The model files of a package by their place in it."""
    found: dict[PurePosixPath, Path] = {}
    for file in distribution.files or ():
        kind = kind_of(file)
        if kind is not None and _ends_as_model(file, kind) and ".." not in file.parts:
            path = Path(str(distribution.locate_file(file)))
            if _is_model(path, kind):
                found[PurePosixPath(file)] = path
    return found


def _ends_as_model(file: PurePath, kind: FileKind) -> bool:
    return bool(kind.marks) and file.name.lower().endswith(kind.whole_suffix or kind.suffixes)


def _stem(file: PurePath) -> str:
    kind = kind_of(file)
    suffix = file.suffix if kind is None or kind.whole_suffix is None else kind.whole_suffix
    return file.name[: len(file.name) - len(suffix)]


def _is_model(path: Path, kind: FileKind) -> bool:
    try:
        content = file_content(path, LARGEST)
    except FileError:
        return False
    return all(mark in content for mark in kind.marks)


def _names(files: list[PurePosixPath]) -> list[str]:
    """For each file the shortest end of its path that no other file has, without the suffix if it can be."""
    places = {file: (*(part for part in file.parts[:-1] if part not in USUAL), file.name) for file in files}
    names = {file: _stem(file) for file in files}
    depth = dict.fromkeys(files, 1)
    while True:
        counts = Counter(names.values())
        double = [file for file in files if counts[names[file]] > 1]
        if not double:
            return [names[file] for file in files]
        for file in double:
            depth[file] += 1
            if depth[file] > len(places[file]):
                names[file] = str(file)  # with its suffix
            else:
                names[file] = "/".join((*places[file][-depth[file] : -1], _stem(file)))

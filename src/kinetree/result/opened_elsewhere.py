"""Opens an HDF5 file and walks through it, as a process of its own: FILE BYTES SECONDS.

It imports nothing of the package, so that it starts quickly, and prints why the file cannot be read.
"""

import sys

import h5py


def walk(path: str) -> None:
    """Touch every object of a file, and read no data."""
    with h5py.File(path, "r") as file:
        for name in file:
            kind = file.get(name, getlink=True)
            if isinstance(kind, h5py.HardLink):
                found = file[name]
                _ = [str(found.attrs[key])[:1] for key in found.attrs]
                if isinstance(found, h5py.Dataset):
                    _ = (found.shape, found.dtype, found.nbytes, found.chunks, found.external)
        _ = [str(file.attrs[key])[:1] for key in file.attrs]


def limit(memory: int, seconds: float) -> None:
    """Limit what this process may take, where the system can."""
    try:
        import resource
    except ImportError:
        return
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds) + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


if __name__ == "__main__":
    limit(int(sys.argv[2]), float(sys.argv[3]))
    try:
        walk(sys.argv[1])
    except Exception as error:
        print(" ".join(str(error).split()) or type(error).__name__)
        raise SystemExit(1) from None

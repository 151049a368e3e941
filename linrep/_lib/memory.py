"""Sizes that do not fit into memory, refused before anything of them is drawn."""

import math
from pathlib import Path

#: Numbers, 128 MB of them, up to which a matrix is made although less memory would do.
DENSE = 2**24

_NUMBER = 8  # bytes
_ALWAYS_FITS = 2**27  # bytes; below, not even asking how much is free is worth the time
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_MACHINE, _GROUP = Path("/proc/meminfo"), Path("/sys/fs/cgroup")


def require(what: str, numbers: int, **sizes: object) -> None:
    """Raise ValueError unless there is memory for so many numbers of eight bytes.

    The message says what they are, and the arguments that ask for them. What is free is free for
    all processes: several that start at the same time may together ask for more.
    """
    needed = _NUMBER * int(numbers)
    if needed > _ALWAYS_FITS and needed > (available := free()):
        given = ", ".join(f"{name} = {value}" for name, value in sizes.items())
        smaller = " or ".join(", ".join(sizes).rsplit(", ", 1))
        raise ValueError(
            f"{given} needs {_text(needed)} for {what}, {_text(available)} are free: take smaller "
            f"{smaller}"
        )


def free() -> float:
    """Return the bytes that this process may still fill, infinite where that is not known.

    Of the machine, or what a container leaves of it.
    """
    return min(_of_machine(), _of_container())


def _of_machine():
    try:
        lines = _MACHINE.read_text().splitlines()
    except OSError:  # not Linux
        return math.inf
    return 1024.0 * next(int(each.split()[1]) for each in lines if each.startswith("MemAvailable:"))


def _of_container():
    """Return what a container leaves, files that were only read not counted as used."""
    try:
        most = float((_GROUP / "memory.max").read_text().strip().replace("max", "inf"))
        used = float((_GROUP / "memory.current").read_text())
        lines = (_GROUP / "memory.stat").read_text().splitlines()
        return most - used + float(dict(map(str.split, lines)).get("inactive_file", 0.0))
    except (OSError, ValueError):  # there is none, or no limit
        return math.inf


def _text(size):
    """Return a number of bytes for a message."""
    power = int(math.log2(max(size, 1))) // 10
    if power >= len(_UNITS):
        return f"over 1000 {_UNITS[-1]}"
    return f"about {size / 1024**power:.3g} {_UNITS[power]}"

"""Sizes that do not fit into memory, refused before anything of them is made."""

import math
import os
from pathlib import Path

#: Numbers, 128 MB of them, up to which a matrix is made although less memory would do.
DENSE = 2**24
#: Numbers that a recorded round takes: its own and its metrics.
PER_RECORD = 20

_NUMBER = 8  # bytes
_ALWAYS_FITS = 2**27  # bytes; below, not even asking how much is free is worth the time
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_GROUPS, _MEMBERSHIPS = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")


def require(what: str, numbers: int, *, instead: str = "", **sizes: object) -> None:
    """Raise ValueError unless there is memory for so many numbers of eight bytes.

    The message says what they are, the arguments that ask for them, and what may be done instead of
    taking smaller ones. What is free is free for all processes: several that start at the same time
    may together ask for more.
    """
    needed = _NUMBER * int(numbers)
    if needed <= _ALWAYS_FITS:
        return
    available = free()
    if needed > available:
        given = ", ".join(f"{name} = {value}" for name, value in sizes.items())
        smaller = " or ".join(", ".join(sizes).rsplit(", ", 1))
        raise ValueError(
            f"{given} needs {_text(needed)} for {what}, {_text(available)} are free: "
            f"{instead or f'take smaller {smaller}'}"
        )


def free() -> float:
    """Return the bytes that this process may still fill, infinite where that is not known.

    Of the machine, or what a container or a batch system leaves of it.
    """
    return min([_of_machine(), *(_of_group(*group) for group in _groups())])


def _of_machine():
    try:
        with open("/proc/meminfo") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return 1024.0 * int(line.split()[1])
    except OSError:  # not Linux
        pass
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):  # nor POSIX
        return float("inf")


def _groups():
    """Yield the control groups that this process is in, with the names of their limit and usage."""
    try:
        lines = _MEMBERSHIPS.read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, location = line.split(":", 2)
        if not controllers:
            root, names = _GROUPS, ("memory.max", "memory.current")
        elif "memory" in controllers.split(","):
            root, names = _GROUPS / "memory", ("memory.limit_in_bytes", "memory.usage_in_bytes")
        else:
            continue
        inner = root / location.lstrip("/")
        for folder in (inner, *inner.parents):
            if folder.is_relative_to(root):
                yield folder, *names


def _of_group(folder, limit, usage):
    """Return what a control group leaves, files that were only read not counted as used."""
    try:
        most = float((folder / limit).read_text().strip().replace("max", "inf"))
        used = float((folder / usage).read_text())
        pairs = (line.split() for line in (folder / "memory.stat").read_text().splitlines())
        known = {name: float(value) for name, value in pairs}
    except (OSError, ValueError):  # no limit in this folder
        return float("inf")
    return most - used + known.get("total_inactive_file", known.get("inactive_file", 0.0))


def _text(size):
    """Return a number of bytes for a message."""
    power = int(math.log2(max(size, 1))) // 10
    if power >= len(_UNITS):
        return f"over 1000 {_UNITS[-1]}"
    return f"about {size / 1024**power:.3g} {_UNITS[power]}"

"""Files that commands write."""

from __future__ import annotations

import os
from io import BytesIO

from linrep.cli.group import BadInput


def check_output(option, path):
    """Refuse a file that cannot be written, before anything is computed for it; None is none."""
    if path is None:
        return
    if path.is_dir():
        raise BadInput(f"{option}: {path} is a folder")
    if not path.parent.is_dir():
        raise BadInput(f"{option}: there is no folder {path.parent}")
    # A file is replaced, which its folder has to allow as well; a device is written to.
    places = [path] if is_device(path) else [path.parent, path]
    if not all(os.access(each, os.W_OK) for each in places if each.exists()):
        raise BadInput(f"{option}: {path} cannot be written")


def refuse_same(paths):
    """Raise BadInput where two options name one file."""
    seen: dict[str, str] = {}
    for option, path in paths.items():
        if path is not None and (other := seen.setdefault(str(path.resolve()), option)) != option:
            raise BadInput(f"{other} and {option} must differ, both are {str(path)!r}")


def is_device(path):
    """Tell whether a path is that of a device, such as /dev/stdout."""
    return path.is_absolute() and path.is_relative_to("/dev")


def write_file(path, content):
    """Write bytes, whole or not at all; to a device, such as /dev/stdout, as they come."""
    from linrep._lib import atomic as files

    if is_device(path):
        path.write_bytes(content)
    else:
        files.write(path.resolve(), content)


def write_figure(path, figure):
    """Write a picture in the format that the file's name says, PNG if it says none."""
    import matplotlib as mpl

    from linrep.figures import plotting
    from linrep.figures.plotting.page import lay_out

    picture = BytesIO()
    with plotting.style():  # its resolution
        lay_out(figure, mpl.rcParams["savefig.dpi"])
        figure.savefig(picture, format=path.suffix[1:] or None)
    write_file(path, picture.getvalue())

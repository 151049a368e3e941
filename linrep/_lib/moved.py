"""Public modules that have moved stay importable by their former names."""

import sys
from collections.abc import Mapping
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.util import spec_from_loader


class _Finder(MetaPathFinder, Loader):
    """Answers a former name, or that of a module below it, with the very module of the new one."""

    def __init__(self, homes):
        self._homes = homes

    def _home(self, name):
        for former, home in self._homes.items():
            if name == former or name.startswith(f"{former}."):
                return home + name.removeprefix(former)
        return None

    def find_spec(self, name, path=None, target=None):
        return spec_from_loader(name, self) if self._home(name) else None

    def create_module(self, spec):
        module = import_module(self._home(spec.name))
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module):
        """Undo what importing by another name has changed; the module itself has been run."""
        former = module.__spec__
        module.__spec__ = former.loader_state


def keep_importable(homes: Mapping[str, str]) -> None:
    """Make modules importable by their former names, given with their present ones; load none."""
    sys.meta_path.insert(0, _Finder(dict(homes)))

"""Edits of a user's files: does ``m.g`` compute with what they change?

Each begins with what is edited, what is to be said of it, and what stands for what; then comes
``m.py``, and whatever is beside it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

CHANGING = r"""
== a number in its body | g | 1.0 -> 2.0
def g(cell, rng):
    return 1.0

== a list that is a default | g | [1.0] -> [2.0]
def g(cell, rng, b=[1.0]):
    return b[0]

== a set in its body | g | "c" -> "d"
def g(cell, rng):
    return float("b" in {"a", "b", "c"})

== a helper in the file | f | x + 1.0 -> x + 2.0
def g(cell, rng):
    return f(1.0)

def f(x):
    return x + 1.0

== a number that a function of a module takes | SCALE | 1.0 -> 2.0
import beside

def g(cell, rng):
    return beside.f()
-- beside.py
SCALE = 1.0

def f():
    return SCALE

== a function that a package imports when asked | f | x + 1.0 -> x + 2.0
import pack

def g(cell, rng):
    return pack.f(1.0)
-- pack/__init__.py
def __getattr__(name):
    if name == "f":
        from .inner import f
        return f
    raise AttributeError(name)
-- pack/inner.py
def f(x):
    return x + 1.0

== a module of a package that it imports itself | f | x + 1.0 -> x + 2.0
def g(cell, rng):
    from pack import inner

    return inner.f(1.0)
-- pack/__init__.py
-- pack/inner.py
def f(x):
    return x + 1.0

== a module that a helper imports relatively | f | x + 1.0 -> x + 2.0
from pack.outer import h

def g(cell, rng):
    return h()
-- pack/__init__.py
-- pack/inner.py
def f(x):
    return x + 1.0
-- pack/outer.py
def h():
    from .inner import f

    return f(1.0)

== a function found by its name | f | x + 1.0 -> x + 2.0
import beside

def g(cell, rng):
    return getattr(beside, "f")(1.0)
-- beside.py
def f(x):
    return x + 1.0

== a function found among the globals | f1 | x + 1.0 -> x + 2.0
def g(cell, rng):
    return globals()[f"f{cell['a']}"](1.0)

def f1(x):
    return x + 1.0

def f2(x):
    return x

== a number in the file | SCALE | 1.0 -> 2.0
SCALE = 1.0

def g(cell, rng):
    return SCALE

== a frame in the file | ROWS | 3.0 -> 4.0
import pandas as pd

ROWS = pd.DataFrame({"x": [1.0, 3.0]})

def g(cell, rng):
    return ROWS["x"].sum()

== an object that refers to itself | NODE | NODE.x = 1.0 -> NODE.x = 2.0
class Node:
    pass

NODE = Node()
NODE.me = [NODE]
NODE.x = 1.0

def g(cell, rng):
    return NODE.x

== what it closes over | g | make(1.0) -> make(2.0)
def make(scale):
    def g(cell, rng):
        return scale

    return g

g = make(1.0)

== the function of a partial | f | b + 1.0 -> b + 2.0
from functools import partial

def f(cell, rng, b):
    return b + 1.0

g = partial(f, b=1.0)

== what is decorated | g | return 1.0 -> return 5.0
import functools

def twice(h):
    @functools.wraps(h)
    def f(*arguments):
        return 2.0 * h(*arguments)

    return f

@twice
def g(cell, rng):
    return 1.0

== a function with a cache | f | x + 1.0 -> x + 2.0
import functools

def g(cell, rng):
    return f(1.0)

@functools.lru_cache
def f(x):
    return x + 1.0

== an attribute of a function | g | g.scale = 1.0 -> g.scale = 2.0
def g(cell, rng):
    return g.scale

g.scale = 1.0

== an option of a compiled function | f | fastmath=False -> fastmath=True
from numba import njit

def g(cell, rng):
    return f(1.0)

@njit(fastmath=False)
def f(x):
    return x + 1.0

== a number that a compiled function takes | SCALE | 1.5 -> 2.5
from numba import njit

SCALE = 1.5

def g(cell, rng):
    return f(1.0)

@njit
def f(x):
    return x * SCALE

== a property | Model.rate | 1.0 -> 2.0
class Model:
    @property
    def rate(self):
        return 1.0

def g(cell, rng):
    return Model().rate

== a class method | Model.made | x + 1.0 -> x + 2.0
class Model:
    @classmethod
    def made(cls, x):
        return x + 1.0

def g(cell, rng):
    return Model.made(1.0)

== a method of a base | Base.step | x + 1.0 -> x + 2.0
class Base:
    def step(self, x):
        return x + 1.0

class Model(Base):
    pass

def g(cell, rng):
    return Model().step(1.0)

== the bases | Model, Other | Model(Base) -> Model(Other)
class Base:
    offset = 1.0

class Other:
    offset = 2.0

class Model(Base):
    pass

def g(cell, rng):
    return Model().offset

== a factory of a dataclass | Settings.<lambda> | 1.0 -> 2.0
from dataclasses import dataclass, field

@dataclass
class Settings:
    parts: list = field(default_factory=lambda: [1.0])

def g(cell, rng):
    return Settings().parts[0]

== an object whose method it is | Model.g | Model(1.0) -> Model(2.0)
class Model:
    def __init__(self, x):
        self.x = x

    def g(self, cell, rng):
        return self.x

g = Model(1.0).g
"""

UNCHANGING = r'''
== a comment | # one -> # two\n    # lines
def g(cell, rng):
    # one
    return 1.0

== docstrings of a class and its method | # none -> """One."""
class Model:
    # none
    def step(self):
        # none
        return 1.0

def g(cell, rng):
    return Model().step()

== annotations | (cell, rng) -> (cell: dict, rng: "Generator") -> float
def g(cell, rng):
    return 1.0

== how annotations are evaluated | # none -> from __future__ import annotations
# none

def g(cell: dict, rng) -> float:
    x: float = 1.0
    return x

== the name of a variable | number -> count
def g(cell, rng):
    number = 1.0
    return number + number

== a function of a module that is not used | 2.0 -> 3.0
import beside

def g(cell, rng):
    return beside.f()
-- beside.py
def unused():
    return 2.0

def f():
    return 1.0

== what runs only as a script | 2.0 -> 3.0
def g(cell, rng):
    return 1.0

if __name__ == "script":
    print(2.0)

== the folder of the file | # none -> # there
from pathlib import Path

HERE = Path(__file__).parent
TABLE = {"rows": str(HERE / "rows.csv"), "root": str(HERE.parent)}
# none

def g(cell, rng):
    return float(HERE.name in TABLE["rows"] and HERE.exists())
'''

_HEAD = re.compile(
    r"== (?P<what>[^|\n]*) \|(?: (?P<said>[^|\n]*) \|)? (?P<old>.*?) -> (?P<new>.*)\n"
)


@dataclass(frozen=True)
class Edit:
    """Files by name, what stands for what in them after the edit, and what is to be said of it."""

    what: str
    files: dict[str, str]
    old: str
    new: str
    said: tuple[str, ...]

    def after(self) -> dict[str, str]:
        """Return the files after the edit."""
        return {name: text.replace(self.old, self.new) for name, text in self.files.items()}


def read(table: str) -> list[Edit]:
    """Return the edits of a table."""
    edits = []
    for block in re.split(r"(?m)^(?=== )", table)[1:]:
        head = _HEAD.match(block)
        assert head, block
        pieces = re.split(r"(?m)^-- (.*)\n", "-- m.py\n" + block[head.end() :].rstrip() + "\n")
        files = dict(zip(pieces[1::2], pieces[2::2], strict=True))
        old, new = (head[each].replace("\\n", "\n") for each in ("old", "new"))
        assert any(old in text for text in files.values()), block
        said = tuple((head["said"] or "").split(", ")) if head["said"] else ()
        edits.append(Edit(head["what"], files, old, new, said))
    return edits

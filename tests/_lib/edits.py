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

== an operator | g | x + 1.0 -> x - 1.0
def g(cell, rng):
    x = 2.0
    return x + 1.0

== a branch | g | if x -> if not x
def g(cell, rng):
    x = cell["a"]
    if x:
        return 1.0
    return 2.0

== what it catches | g | KeyError -> ValueError
def g(cell, rng):
    try:
        return cell["b"]
    except KeyError:
        return 2.0

== the name of a column | g | "v" -> "w"
def g(cell, rng):
    return {"v": 1.0}

== a default | g | b=1.0 -> b=2.0
def g(cell, rng, b=1.0):
    return b

== a default of a keyword | g | b=1.0 -> b=2.0
def g(cell, rng, *, b=1.0):
    return b

== a list that is a default | g | [1.0] -> [2.0]
def g(cell, rng, b=[1.0]):
    return b[0]

== a function within it | g | x + 1.0 -> x + 2.0
def g(cell, rng):
    def f(x):
        return x + 1.0

    return f(1.0)

== a comprehension | g | x + 1.0 -> x + 2.0
def g(cell, rng):
    return sum([x + 1.0 for x in range(3)])

== a set in its body | g | "c" -> "d"
def g(cell, rng):
    return float("b" in {"a", "b", "c"})

== a class within it | g | one = 1.0 -> one = 2.0
def g(cell, rng):
    class A:
        one = 1.0

    return A.one

== a helper in the file | f | x + 1.0 -> x + 2.0
def g(cell, rng):
    return f(1.0)

def f(x):
    return x + 1.0

== which helper a name stands for | g, second | f = first -> f = second
def g(cell, rng):
    return f(1.0)

def first(x):
    return x

def second(x):
    return -x

f = first

== a helper's helper | h | x + 1.0 -> x + 2.0
def g(cell, rng):
    return f(1.0)

def f(x):
    return h(x)

def h(x):
    return x + 1.0

== one of two that call each other | h | x - 1.0 -> x - 2.0
def g(cell, rng):
    return f(1.0)

def f(x):
    return x if x < 0 else h(x)

def h(x):
    return f(x - 1.0)

== a lambda | <lambda> | x + 1.0 -> x + 2.0
def g(cell, rng):
    return f(1.0)

f = lambda x: x + 1.0

== a helper that is imported | f | x + 1.0 -> x + 2.0
from beside import f

def g(cell, rng):
    return f(1.0)
-- beside.py
def f(x):
    return x + 1.0

== a helper that is imported as another | f | x + 1.0 -> x + 2.0
from beside import f as other

def g(cell, rng):
    return other(1.0)
-- beside.py
def f(x):
    return x + 1.0

== a helper that is imported with all others | f | x + 1.0 -> x + 2.0
from beside import *

def g(cell, rng):
    return f(1.0)
-- beside.py
def f(x):
    return x + 1.0

== a function of a module | f | x + 1.0 -> x + 2.0
import beside

def g(cell, rng):
    return beside.f(1.0)
-- beside.py
def f(x):
    return x + 1.0

== a function of a module under another name | f | x + 1.0 -> x + 2.0
import beside as b

def g(cell, rng):
    way = b
    return way.f(1.0)
-- beside.py
def f(x):
    return x + 1.0

== a number of a module | SCALE | 1.0 -> 2.0
import beside

def g(cell, rng):
    return beside.SCALE
-- beside.py
SCALE = 1.0

== a number that a function of a module takes | SCALE | 1.0 -> 2.0
import beside

def g(cell, rng):
    return beside.f()
-- beside.py
SCALE = 1.0

def f():
    return SCALE

== a function of a package's module | f | x + 1.0 -> x + 2.0
import pack.inner

def g(cell, rng):
    return pack.inner.f(1.0)
-- pack/__init__.py
-- pack/inner.py
def f(x):
    return x + 1.0

== a function that a package imports | f | x + 1.0 -> x + 2.0
import pack

def g(cell, rng):
    return pack.f(1.0)
-- pack/__init__.py
from .inner import f
-- pack/inner.py
def f(x):
    return x + 1.0

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

== a helper that it imports itself | f | x + 1.0 -> x + 2.0
def g(cell, rng):
    from beside import f

    return f(1.0)
-- beside.py
def f(x):
    return x + 1.0

== a module that it imports itself | f | x + 1.0 -> x + 2.0
def g(cell, rng):
    import beside

    return beside.f(1.0)
-- beside.py
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

== a function found by a name that is put together | f1 | x + 1.0 -> x + 2.0
import beside

def g(cell, rng):
    return getattr(beside, f"f{cell['a']}")(1.0)
-- beside.py
def f1(x):
    return x + 1.0

def f2(x):
    return x

== a function found among the globals | f1 | x + 1.0 -> x + 2.0
def g(cell, rng):
    return globals()[f"f{cell['a']}"](1.0)

def f1(x):
    return x + 1.0

def f2(x):
    return x

== a function in a dictionary | f | x + 1.0 -> x + 2.0
def f(x):
    return x + 1.0

CHOICE = {"f": f}

def g(cell, rng):
    return CHOICE["f"](1.0)

== a number in the file | SCALE | 1.0 -> 2.0
SCALE = 1.0

def g(cell, rng):
    return SCALE

== a text in the file | WAY | left -> right
WAY = "left"

def g(cell, rng):
    return float(len(WAY))

== a nested dictionary in the file | TABLE | 1.0 -> 2.0
TABLE = {"a": [{"b": 1.0}]}

def g(cell, rng):
    return TABLE["a"][0]["b"]

== a set in the file | NAMES | "c" -> "d"
NAMES = {"a", "b", "c"}

def g(cell, rng):
    return float(chr(100) in NAMES)

== an array in the file | WEIGHTS | 3.0 -> 4.0
import numpy as np

WEIGHTS = np.array([1.0, 3.0])

def g(cell, rng):
    return WEIGHTS.sum()

== the type of an array | WEIGHTS | float32 -> float64
import numpy as np

WEIGHTS = np.full(3, 0.1, "float32")

def g(cell, rng):
    return WEIGHTS.sum()

== a frame in the file | ROWS | 3.0 -> 4.0
import pandas as pd

ROWS = pd.DataFrame({"x": [1.0, 3.0]})

def g(cell, rng):
    return ROWS["x"].sum()

== a seed in the file | RNG | default_rng(1) -> default_rng(2)
import numpy as np

RNG = np.random.default_rng(1)

def g(cell, rng):
    return RNG.random()

== an object in the file | MODEL | Model(1.0) -> Model(2.0)
class Model:
    def __init__(self, x):
        self.x = x

MODEL = Model(1.0)

def g(cell, rng):
    return MODEL.x

== an object with slots | MODEL | Model(1.0) -> Model(2.0)
class Model:
    __slots__ = ("x",)

    def __init__(self, x):
        self.x = x

MODEL = Model(1.0)

def g(cell, rng):
    return MODEL.x

== an object with a lock | MODEL | Model(1.0) -> Model(2.0)
import threading

class Model:
    def __init__(self, x):
        self.x, self.lock = x, threading.Lock()

MODEL = Model(1.0)

def g(cell, rng):
    return MODEL.x

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

== a function that it closes over | f | x + 1.0 -> x + 2.0
def f(x):
    return x + 1.0

def make(way):
    def g(cell, rng):
        return way(1.0)

    return g

g = make(f)

== an argument of a partial | partial | b=1.0 -> b=2.0
from functools import partial

def f(cell, rng, b):
    return b

g = partial(f, b=1.0)

== the function of a partial | f | b + 1.0 -> b + 2.0
from functools import partial

def f(cell, rng, b):
    return b + 1.0

g = partial(f, b=1.0)

== what a decorator does | g | 2.0 -> 3.0
import functools

def twice(h):
    @functools.wraps(h)
    def f(*arguments):
        return 2.0 * h(*arguments)

    return f

@twice
def g(cell, rng):
    return 1.0

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

== an argument of a decorator | g | times(2.0) -> times(3.0)
import functools

def times(number):
    def wrap(h):
        @functools.wraps(h)
        def f(*arguments):
            return number * h(*arguments)

        return f

    return wrap

@times(2.0)
def g(cell, rng):
    return 1.0

== a function with a cache | f | x + 1.0 -> x + 2.0
import functools

def g(cell, rng):
    return f(1.0)

@functools.lru_cache
def f(x):
    return x + 1.0

== a context manager | f | yield 1.0 -> yield 2.0
from contextlib import contextmanager

@contextmanager
def f():
    yield 1.0

def g(cell, rng):
    with f() as x:
        return x

== a generic function | _ | x + 1.0 -> x + 2.0
from functools import singledispatch

@singledispatch
def f(x):
    return 0.0

@f.register
def _(x: float):
    return x + 1.0

def g(cell, rng):
    return f(1.0)

== an attribute of a function | g | g.scale = 1.0 -> g.scale = 2.0
def g(cell, rng):
    return g.scale

g.scale = 1.0

== a compiled function | f | x + 1.0 -> x + 2.0
from numba import njit

def g(cell, rng):
    return f(1.0)

@njit
def f(x):
    return x + 1.0

== an option of a compiled function | f | fastmath=False -> fastmath=True
from numba import njit

def g(cell, rng):
    return f(1.0)

@njit(fastmath=False)
def f(x):
    return x + 1.0

== what a compiled function calls | h | x + 1.0 -> x + 2.0
from numba import njit

def g(cell, rng):
    return f(1.0)

@njit
def h(x):
    return x + 1.0

@njit
def f(x):
    return h(x)

== a number that a compiled function takes | SCALE | 1.5 -> 2.5
from numba import njit

SCALE = 1.5

def g(cell, rng):
    return f(1.0)

@njit
def f(x):
    return x * SCALE

== a compiled ufunc | f | x + 1.0 -> x + 2.0
from numba import vectorize

def g(cell, rng):
    return f(1.0)

@vectorize
def f(x):
    return x + 1.0

== what is vectorized | <lambda> | x + 1.0 -> x + 2.0
import numpy as np

def g(cell, rng):
    return float(f(1.0))

f = np.vectorize(lambda x: x + 1.0)

== a method | Model.run | x + 1.0 -> x + 2.0
class Model:
    def run(self, x):
        return x + 1.0

def g(cell, rng):
    return Model().run(1.0)

== a property | Model.rate | 1.0 -> 2.0
class Model:
    @property
    def rate(self):
        return 1.0

def g(cell, rng):
    return Model().rate

== a cached property | Model.rate | 1.0 -> 2.0
from functools import cached_property

class Model:
    @cached_property
    def rate(self):
        return 1.0

def g(cell, rng):
    return Model().rate

== a static method | Model.plain | x + 1.0 -> x + 2.0
class Model:
    @staticmethod
    def plain(x):
        return x + 1.0

def g(cell, rng):
    return Model.plain(1.0)

== a class method | Model.made | x + 1.0 -> x + 2.0
class Model:
    @classmethod
    def made(cls, x):
        return x + 1.0

def g(cell, rng):
    return Model.made(1.0)

== an attribute of a class | Model | 1.0 -> 2.0
class Model:
    offset = 1.0

def g(cell, rng):
    return Model().offset

== a method of a base | Base.step | x + 1.0 -> x + 2.0
class Base:
    def step(self, x):
        return x + 1.0

class Model(Base):
    pass

def g(cell, rng):
    return Model().step(1.0)

== an attribute of a base | Base | 1.0 -> 2.0
class Base:
    offset = 1.0

class Model(Base):
    pass

def g(cell, rng):
    return Model().offset

== the bases | Model, Other | Model(Base) -> Model(Other)
class Base:
    offset = 1.0

class Other:
    offset = 2.0

class Model(Base):
    pass

def g(cell, rng):
    return Model().offset

== a base in another module | Base.step | x + 1.0 -> x + 2.0
from beside import Base

class Model(Base):
    pass

def g(cell, rng):
    return Model().step(1.0)
-- beside.py
class Base:
    def step(self, x):
        return x + 1.0

== a metaclass | Meta.__call__ | 1.0 -> 2.0
class Meta(type):
    def __call__(cls):
        return 1.0

class Model(metaclass=Meta):
    pass

def g(cell, rng):
    return Model()

== a default of a dataclass | Settings | = 1.0 -> = 2.0
from dataclasses import dataclass

@dataclass
class Settings:
    scale: float = 1.0

def g(cell, rng):
    return Settings().scale

== a factory of a dataclass | Settings.<lambda> | 1.0 -> 2.0
from dataclasses import dataclass, field

@dataclass
class Settings:
    parts: list = field(default_factory=lambda: [1.0])

def g(cell, rng):
    return Settings().parts[0]

== a value of an enumeration | Way | 1.0 -> 2.0
import enum

class Way(enum.Enum):
    LEFT = 1.0

def g(cell, rng):
    return Way.LEFT.value

== an attribute of a callable object | Scaled | Scaled(1.0) -> Scaled(2.0)
class Scaled:
    def __init__(self, scale):
        self.scale = scale

    def __call__(self, cell, rng):
        return self.scale

g = Scaled(1.0)

== what a callable object does | Scaled.__call__ | x + 1.0 -> x + 2.0
class Scaled:
    x = 1.0

    def __call__(self, cell, rng):
        return self.x + 1.0

g = Scaled()

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

== blank lines | x = 1.0 -> x = 1.0\n\n
def g(cell, rng):
    x = 1.0
    return x

== its docstring | one -> another
def g(cell, rng):
    """one"""
    return 1.0

== that it has a docstring | # none -> """One."""
def g(cell, rng):
    # none
    return 1.0

== a docstring of a function within | # none -> """One."""
def g(cell, rng):
    def f(x):
        # none
        return x

    return f(1.0)

== docstrings of a class and its method | # none -> """One."""
class Model:
    # none
    def step(self):
        # none
        return 1.0

def g(cell, rng):
    return Model().step()

== the docstring of a class within it | # none -> """One."""
def g(cell, rng):
    class Model:
        # none
        x = 1.0

    return Model.x

== the docstring of the module | # none -> """One."""
# none

def g(cell, rng):
    return 1.0

== annotations | (cell, rng) -> (cell: dict, rng: "Generator") -> float
def g(cell, rng):
    return 1.0

== how annotations are evaluated | # none -> from __future__ import annotations
# none

def g(cell: dict, rng) -> float:
    x: float = 1.0
    return x

== annotations of a class | x = 1.0 -> x: float = 1.0
class Model:
    x = 1.0

def g(cell, rng):
    return Model.x

== the name of a variable | number -> count
def g(cell, rng):
    number = 1.0
    return number + number

== lines that are long | max(cell["a"], 1.0, x, y) -> max(\n        cell["a"],\n    1.0, x,\n  y)
def g(cell, rng):
    x = y = 1.0
    return max(cell["a"], 1.0, x, y)

== a condition over several lines | if x and y: -> if (\n            x\n            and y):
def g(cell, rng):
    x, y = cell["a"], 1.0
    for each in range(3):
        if x and y:
            continue
        x += each
    return x

== quotes and digits | {"v": 1.0} -> {'v': 1.00}
def g(cell, rng):
    return {"v": 1.0}

== where it stands | # none -> def unused(x):\n    return x\n\n\n
# none

def g(cell, rng):
    return 1.0

== a function that is not used | 2.0 -> 3.0
def unused():
    return 2.0

def g(cell, rng):
    return 1.0

== a number that is not used | 2.0 -> 3.0
UNUSED = 2.0

def g(cell, rng):
    return 1.0

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

== an import that is not used | # none -> import json
# none

def g(cell, rng):
    return 1.0

== the folder of the file | # none -> # there
from pathlib import Path

HERE = Path(__file__).parent
TABLE = {"rows": str(HERE / "rows.csv"), "root": str(HERE.parent)}
# none

def g(cell, rng):
    return float(HERE.name in TABLE["rows"] and HERE.exists())

== the order of functions in the file | # none -> def late():\n    return f(2.0)\n
# none

def f(x):
    return x

def g(cell, rng):
    return f(1.0)
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

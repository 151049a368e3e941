"""``{public} MODULE`` documents what a module is for, ``{checks} PAPER`` the checks of its claims,
``{extras}`` what can be installed. They list names by themselves, so that nothing is missing.
"""

import ast
import importlib
import inspect
import re
import sys
import tomllib
from functools import cache
from pathlib import Path

import linrep
from linrep.claims import claims
from linrep.report.sphinx import Markdown

ROOT = Path(linrep.__file__).parents[1]


class Public(Markdown):
    def lines(self, module):
        try:
            names = public(importlib.import_module(module))
        except ModuleNotFoundError as error:
            if error.name != "torch":
                raise
            return [f"`{module}` needs torch, which was not there when this page was built."]
        return [
            "```{eval-rst}",
            f".. automodule:: {module}",
            "   :no-members:",
            "",
            f".. currentmodule:: {module}",
            ".. autosummary::",
            "",
            *(f"   {name}" for name in names),
            "",
            *(line for name in names for line in _entry(module, name)),
            "```",
        ]


def _entry(module, name):
    kind = (
        "class" if inspect.isclass(getattr(importlib.import_module(module), name)) else "function"
    )
    return [f".. auto{kind}:: {name}", *(["   :members:"] if kind == "class" else []), ""]


def public(module):
    """Return the functions and classes that a module is for: its `__all__`, or all of its own."""
    if hasattr(module, "__all__"):
        return [name for name in module.__all__ if callable(getattr(module, name))]
    own = {
        name: inspect.getsourcelines(inspect.unwrap(item))[1]
        for name, item in vars(module).items()
        if not name.startswith("_")
        and (inspect.isclass(item) or inspect.isfunction(inspect.unwrap(item)))
        and item.__module__ == module.__name__
    }
    return sorted(own, key=own.__getitem__)


class Extras(Markdown):
    """What `pip install` can add, as pyproject.toml has it."""

    def lines(self):
        text = (ROOT / "pyproject.toml").read_text("utf-8")
        lines = ["| extra | installs |", "| --- | --- |"]
        for extra, needs in tomllib.loads(text)["project"]["optional-dependencies"].items():
            names = [re.match(r"[\w.-]+(\[.*\])?", need).group() for need in needs]
            lines.append(f"| `{extra}` | {', '.join(f'`{name}`' for name in names)} |")
        return lines


class Checks(Markdown):
    def lines(self, paper):
        by_module = {}
        for item in claims([paper]).values():
            if item.paper == paper:
                check = item.check
                by_module.setdefault(check.__module__, {})[check.__name__] = None
                # In its module the name stands for the statement; documented is the check.
                setattr(sys.modules[check.__module__], check.__name__, check)
        lines = []
        for module, names in sorted(by_module.items()):
            lines += [
                f"## {module.rpartition('.')[2]}",
                "",
                "```{eval-rst}",
                f".. automodule:: {module}",
                f"   :members: {', '.join(names)}",
                "   :member-order: bysource",
                "```",
                "",
            ]
        return lines


def _skip(app, what, name, item, skip, options):
    """Leave out fields of named tuples, which their classes' texts describe, and scikit-learn's."""
    theirs = str(getattr(item, "__module__", "")).startswith("sklearn.")
    return skip or theirs or str(getattr(item, "__doc__", "")).startswith("Alias for field number")


@cache
def _homes(package):
    """Return where what a package offers is documented, by name, as its stub says."""
    text = (ROOT.joinpath(*package.split(".")) / "__init__.pyi").read_text("utf-8")
    imports = [node for node in ast.parse(text).body if isinstance(node, ast.ImportFrom)]
    return {
        alias.name: f"{package}.{node.module}" if node.level else node.module
        for node in imports
        for alias in node.names
        if node.module
    }


def _short_names(app, env, node, content):
    """Find what texts call by a short name, as in `linrep.fedrep`, where it is documented."""
    target = node.get("reftarget", "")
    for package in ("linrep.deep", "linrep"):
        name, _, rest = target.removeprefix(f"{package}.").partition(".")
        home = _homes(package).get(name)
        if target.startswith(f"{package}.") and home:
            full = ".".join(filter(None, [home, name, rest]))
            domain, builder = env.get_domain("py"), app.builder
            return domain.resolve_xref(
                env, node["refdoc"], builder, node["reftype"], full, node, content
            )
    return None


def setup(app):
    app.connect("autodoc-skip-member", _skip)
    app.connect("missing-reference", _short_names)
    app.add_directive("public", Public)
    app.add_directive("checks", Checks)
    app.add_directive("extras", Extras)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

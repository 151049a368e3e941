"""Options that a command has beside its own: axes of an algorithm, sizes of a figure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from inspect import Parameter
from typing import Any, NamedTuple

import click
from click.shell_completion import CompletionItem

from linrep.simulation.families import find
from linrep.simulation.parameters import described, outlines, required

Section = tuple[str, list[tuple[str, str]]]


class CommandWithAxes(click.Command):
    """A command whose help goes on with a section for what stands on the command line."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keep the arguments as they stand: --help is answered before they are read."""
        ctx.meta[__name__] = list(args)
        return super().parse_args(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, and those sections."""
        super().format_options(ctx, formatter)
        for title, lines in self.sections(ctx.meta.get(__name__, [])):
            with formatter.section(title):
                formatter.write_dl(lines)

    def sections(self, arguments: list[str]) -> Iterable[Section]:
        """Return the sections: title, and an option with its line each."""
        return ()

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Offer the command's own options, and the others that it has here."""
        others = (f"--{name}" for name in self.others(ctx))
        return [
            *super().shell_complete(ctx, incomplete),
            *(CompletionItem(name) for name in others if name.startswith(incomplete)),
        ]

    def others(self, ctx: click.Context) -> Iterable[str]:
        """Return the names of options beside the command's own."""
        return ()


class Axes(NamedTuple):
    """Those of some algorithms: default values and words, and which of them have to be given."""

    known: dict[str, tuple[Any, list[str]]]
    required: list[tuple[str, ...]]  # one of each


def axes_of(names: list[str], problem: str | None = None) -> Axes:
    """Return the axes of algorithms; of linrep's nothing is loaded."""
    if all(name in outlines() for name in names):
        functions = [outlines()[name][1] for name in names]
        family = find(problem or outlines()[names[0]][0])
    else:
        from linrep import simulation

        functions = [simulation.find_algorithm(name) for name in names]
        family = simulation.family_of(names[0], problem)
    known: dict[str, tuple[Any, list[str]]] = {}
    for function in functions:
        for axis, (default, words) in described(function, family).items():
            _, before = known.setdefault(axis, (default, []))
            before += [word for word in words if word not in before]
    groups = (group for function in functions for group in required(function, family))
    return Axes(known, list(dict.fromkeys(groups)))


def axis_section(names: list[str], problem: str | None = None) -> Section:
    """Return the axes of algorithms: what must be given, then words and default values."""
    axes = axes_of(names, problem)
    lines = []
    for group in axes.required:
        needed = "required" if len(group) == 1 else "required, one of them"
        lines.append((" ".join(f"--{name}" for name in group), needed))
    given = {name for group in axes.required for name in group}
    for axis, (default, words) in axes.known.items():
        known = default is not None and default is not Parameter.empty
        value = f"[default: {str(default).lower()}]" if known else ""
        if axis not in given:
            lines.append((f"--{axis}", "  ".join(filter(None, [", ".join(words), value]))))
    return f"Axes of {','.join(names)}", lines


def without_markup(text: str) -> str:
    """Return text of a docstring in one line, as it is read."""
    if ":math:" in text:
        from linrep.claims import formulas

        text = re.sub(r":math:`([^`]*)`", lambda match: formulas.text(match[1]), text)
    text = re.sub(r":\w+:`~?([^`]*)`", r"\1", text).replace("``", "").replace("`", "")
    return " ".join(text.split())

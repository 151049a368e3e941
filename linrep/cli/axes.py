"""Options that a command has beside its own: axes of an algorithm, sizes of a figure."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import click
from click.shell_completion import CompletionItem
from docstring_parser import numpydoc

from linrep.simulation.families import find
from linrep.simulation.parameters import (
    known_parameters,
    of_samples,
    outlines,
    plain_name,
    required,
)

#: The end of a sentence.
_END = re.compile(r"(?<=\w|\)|`)[.;:](?:\s|$)")
#: A word in the type of a parameter, or in what is said of it.
_WORD = re.compile(r'"([^"]*)"')
#: Letters of a line of help.
_WIDTH = 88
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


class Described(NamedTuple):
    """What a docstring says of a parameter, in a line, and the words that it may be."""

    text: str
    words: tuple[str, ...] = ()


def describe_parameters(
    *functions: Callable[..., Any], known: Mapping[str, Callable[..., Any]] | None = None
) -> dict[str, Described]:
    """Return the first sentence on each parameter, as the functions' docstrings have it.

    Names with one description, "n, d : int" with "Clients, dimension.", get their part of it.

    The first function that describes a parameter wins; `known` has those that "As in" refers to.
    """
    found: dict[str, Described] = {}
    for function in functions:
        for item in numpydoc.parse(inspect.getdoc(function) or "").params:
            names = item.arg_name.replace("*", "").split(", ")
            kind, text = item.type_name or "", " ".join((item.description or "").split())
            words = tuple(dict.fromkeys(_WORD.findall(kind)))
            if kind.startswith("bool"):
                words = ("true", "false")
            if "{" in kind and len(names) == 1:
                found.setdefault(names[0], Described(", ".join(words), words))
            if text.startswith("As in :func:"):
                other = text.split("`")[1].rpartition(".")[2].removeprefix("~")
                if known and other in known:
                    texts = describe_parameters(known[other], known=known)
                    found = {name: texts[name] for name in names if name in texts} | found
                continue
            if text.startswith("See "):
                continue
            sentence = _END.split(text, maxsplit=1)[0]
            several = len(names) > 1 and kind.startswith("int")
            parts = sentence.split(", ") if several else [sentence]
            if len(parts) < len(names):
                parts = [sentence] * len(names)
            for name, part in zip(names, parts, strict=False):
                if line := _one_line(part):
                    found.setdefault(name, Described(line[0].upper() + line[1:], words))
    return found


def size_section(identifier: str, sizes: Any) -> Section:
    """Return the sizes of a figure, with their default values."""
    from dataclasses import fields

    from linrep.figures.sizes import listed

    lines = []
    for each in fields(sizes):
        default = listed(each.default).replace(", ", ",")
        lines.append((f"--{each.name}", f"{each.metadata['what']}  [default: {default}]"))
    return f"Sizes of {identifier} (--NAME VALUE[,VALUE]...)", lines


#: Of estimators of stored samples, which have no such parameters themselves.
_OF_SAMPLES = {
    "m": Described("Samples per client."),
    "batches": Described("fixed, as other algorithms call it.", ("fixed",)),
}


def described(
    names: list[str], problem: str | None = None
) -> tuple[dict[str, Described], dict[str, tuple[str, ...]]]:
    """Return what is said of the axes of algorithms, and which have to be given, or one of which.

    Of the algorithms of linrep nothing is loaded.
    """
    documents = {name: function for name, (_, function) in outlines().items()}
    found: dict[str, Described] = {}
    needed: dict[str, tuple[str, ...]] = {}
    for name in names:
        if name in documents:
            function, family = documents[name], find(problem or outlines()[name][0])
        else:
            from linrep import simulation

            function = simulation.find_algorithm(name)
            family = simulation.family_of(name, problem)
        own = describe_parameters(function, *family.documented, known=documents)
        of_problem = describe_parameters(*family.documented)
        axes = known_parameters(function, family) or (
            *family.parameters,
            *family.data,
        )
        for axis in axes:
            plain = plain_name(axis, family)
            if plain != axis and plain in axes:  # which is shorter
                continue
            of_data = plain != axis and axis.startswith(family.prefix)
            item = (of_problem if of_data else own).get(plain, Described(""))
            if text := family.descriptions.get(plain):
                item = Described(text, tuple(_WORD.findall(text)))
            if of_samples(function):
                item = _OF_SAMPLES.get(axis, item)
            before = found.setdefault(axis, item)
            found[axis] = before._replace(words=tuple(dict.fromkeys((*before.words, *item.words))))
        for group in required(function, family):
            needed |= dict.fromkeys(group, group)
    return found, needed


def axis_section(names: list[str], problem: str | None = None) -> Section:
    """Return the axes of algorithms, those first that must be given."""
    found, needed = described(names, problem)

    def line(axis):
        group = needed.get(axis, ())
        others = [other for other in group if other != axis]
        note = "  [required]" if group else ""
        return found[axis].text + (
            f"  [required, or --{' or --'.join(others)}]" if others else note
        )

    order = sorted(found, key=lambda axis: axis not in needed)
    return f"Axes of {','.join(names)}", [(f"--{axis}", line(axis)) for axis in order]


def without_markup(text: str) -> str:
    """Return text of a docstring in one line, as it is read."""
    if ":math:" in text:
        from linrep.claims import formulas

        text = re.sub(r":math:`([^`]*)`", lambda match: formulas.text(match[1]), text)
    text = re.sub(r":\w+:`~?([^`]*)`", r"\1", text).replace("``", "").replace("`", "")
    return " ".join(text.split())


def _one_line(text: str) -> str:
    """Return text without markup, cut to a line."""
    text = without_markup(text).lstrip("- ")
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 2].rsplit(' ', 1)[0]} …"

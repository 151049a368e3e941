"""Options that a command has beside its own: axes of an algorithm, sizes of a figure."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import click
from docstring_parser import numpydoc

#: The end of a sentence.
_END = re.compile(r"(?<=\w|\)|`)[.;:](?:\s|$)")
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


def describe_parameters(
    *functions: Callable[..., Any], known: Mapping[str, Callable[..., Any]] | None = None
) -> dict[str, str]:
    """Return the first sentence on each parameter, as the functions' docstrings have it.

    Names with one description, "n, d : int" with "Clients, dimension.", get their part of it.

    The first function that describes a parameter wins; `known` has those that "As in" refers to.
    """
    sentences: dict[str, str] = {}
    for function in functions:
        for item in numpydoc.parse(inspect.getdoc(function) or "").params:
            names = item.arg_name.replace("*", "").split(", ")
            kind, text = item.type_name or "", " ".join((item.description or "").split())
            words = kind.partition("{")[2].partition("}")[0]
            if words and len(names) == 1:
                sentences.setdefault(names[0], words.replace('"', "").replace("'", ""))
            if text.startswith("As in :func:"):
                other = text.split("`")[1].rpartition(".")[2].removeprefix("~")
                if known and other in known:
                    texts = describe_parameters(known[other])
                    sentences = {name: texts[name] for name in names if name in texts} | sentences
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
                    sentences.setdefault(name, line[0].upper() + line[1:])
    return sentences


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
_OF_SAMPLES = {"m": "Samples per client.", "batches": "fixed, as other algorithms call it."}


def axis_section(names: list[str], problem: str | None = None) -> Section:
    """Return the axes of algorithms, those first that must be given."""
    from linrep import simulation

    described: dict[str, str] = {}
    needed: dict[str, tuple[str, ...]] = {}
    for name in names:
        function = simulation.find_algorithm(name)
        family = simulation.family_of(name, problem)
        source = simulation.ALGORITHMS["fedavg"] if name == "fedsgd" else function
        documents = describe_parameters(source, *family.documented, known=simulation.ALGORITHMS)
        axes = simulation.known_parameters(function, family) or (
            *family.parameters,
            *family.data,
        )
        for axis in axes:
            plain = simulation.plain_name(axis, family)
            if plain != axis and plain in axes:  # which is shorter
                continue
            of_data = plain != axis and axis.startswith(family.prefix)
            texts = describe_parameters(*family.documented) if of_data else documents
            text = family.descriptions.get(plain, texts.get(plain, ""))
            if simulation.of_samples(function):
                text = _OF_SAMPLES.get(axis, text)
            described.setdefault(axis, text)
        for group in simulation.required(name, family):
            needed |= dict.fromkeys(group, group)

    def line(axis):
        group = needed.get(axis, ())
        others = [other for other in group if other != axis]
        note = "  [required]" if group else ""
        return described[axis] + (f"  [required, or --{' or --'.join(others)}]" if others else note)

    order = sorted(described, key=lambda axis: axis not in needed)
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

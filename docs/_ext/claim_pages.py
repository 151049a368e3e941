"""What the pages say of claims, from the claims, the ledger and the figures' manifests.

``{statements} PAPER`` makes the table of a paper's claims in its order, ``{figures} PAPER`` shows
its figures, ``{verdicts}`` counts verdicts, ``{asked} PAPER`` says what theorems ask for and what
is needed, and ``{gallery}`` shows the figures it is given. Others are of linrep.report.sphinx.
"""

import ast
import inspect
import math
import re
import textwrap
from pathlib import Path

from docutils import nodes
from report_page import link
from sphinx.util.docutils import SphinxDirective

import linrep
from linrep._lib.papers import own
from linrep._lib.records import Damaged
from linrep.claims import claims, contents, ledger
from linrep.claims.contents import MORE, heads, in_order
from linrep.claims.evidence import VERDICTS
from linrep.claims.pages import anchor, badge, cell
from linrep.claims.prose import findings
from linrep.figures.record import read
from linrep.report.mathml import prose
from linrep.report.sphinx import Markdown, finding_link, table_cell, table_row
from linrep.theory import requirements

ROOT = Path(linrep.__file__).parents[1]
# Figures beyond the papers' own, and the claim that each is about.
ABOUT = {
    "fedrep.sample_size": "fedrep.theorem1",
    "fedrep.scaling": "fedrep.theorem1",
    "fedrep.rates": "fedrep.theorem1.rate",
    "fedrep.learning_curves": "fedrep.theorem1.rate",
    "flute.rates": "flute.theorem5.5",
    "flute.sample_size": "flute.theorem5.1",
    "perfedsi.phase": "perfedsi.lower_bound",
    "perfedsi.federated": "perfedsi.theorem3.3",
    "perfedsi.rates": "perfedsi.theorem3.3",
    "pflmf.algorithm1": "pflmf.algorithm1.rate",
    "pflmf.clusters": "pflmf.example2",
    "pflmf.rates": "pflmf.theorem1.sharp",
    "pflmf.rounds": "pflmf.theorem1",
    "pflmf.stationarity": "pflmf.theorem1",
}


def theory_of(check):
    """Return the functions of linrep.theory that a check uses, itself or through its helpers."""
    found, seen, left = set(), set(), [check]
    while left:
        function = inspect.unwrap(left.pop())
        if function in seen:
            continue
        seen.add(function)
        for item in _mentioned(function):
            if not inspect.isfunction(item):
                continue
            if item.__module__.startswith("linrep.theory."):
                if not item.__name__.startswith("_"):
                    found.add(f"{item.__module__}.{item.__qualname__}")
            elif item.__module__.startswith("linrep.papers."):
                left.append(item)
    return sorted(found)


def _mentioned(function):
    """Return the objects that a function's source names, dotted names to their end."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(function))))
    for node in ast.walk(tree):
        names, inner = [], node
        while isinstance(inner, ast.Attribute):
            names.append(inner.attr)
            inner = inner.value
        if isinstance(inner, ast.Name) and inner.id in function.__globals__:
            item = function.__globals__[inner.id]
            for name in reversed(names):
                item = getattr(item, name, None)
            yield item


def figures_of(paper):
    """Return the manifests of a paper's figures by id."""
    paths = sorted((ROOT / "figures").glob(f"{paper}.*.json"))
    return {path.stem: read(path) for path in paths}


def figure_of(name, known):
    """Return the id of the figure that a claim is about, or None."""
    for figure in known:
        about = ABOUT.get(figure, figure)
        if name == about or name.startswith(f"{about}."):
            return figure
    return None


class Statements(Markdown):
    def lines(self, paper):
        entries, shown, reasons = ledger.recorded(), figures_of(paper), findings()
        known = [item for item in claims().values() if item.paper == paper and item.id in entries]
        lines = ["| verdict | statement | checked by |", "| --- | --- | --- |"]
        for item in in_order(known):
            module, name = item.check.__module__, item.check.__qualname__
            theory = [_reference(name, _short(name)) for name in theory_of(item.check)]
            figure = figure_of(item.id, shown)
            links = [f"[evidence](#{anchor(item.id)})"]
            if item.id in reasons:
                links.append(finding_link("why", reasons[item.id]))
            if figure:
                links.append(f"[figure](#{_figure_label(figure)})")
            strength = entries[item.id].strength
            form = "" if item.form == "printed" else f", {item.form}"
            cells = [
                badge(entries[item.id].verdict, anchor(item.id))
                + f" [{strength}]{{.strength}}" * bool(strength),
                f"**{cell(item.place)}**{form}. {table_cell(item.plain)} ({', '.join(links)})",
                ", ".join([_reference(f"{module}.{name}", name), *theory]),
            ]
            lines.append("| " + " | ".join(cells) + " |")
        return ["````{container} statements", "", *lines, "````"]


class Verdicts(Markdown):
    """How many statements of each paper have which verdict, each number a link to their list.

    Statements on tables of networks are counted apart, and what no paper prints.
    """

    def lines(self):
        columns = heads(badge)
        lines = [table_row(["paper", *columns]), table_row(["---", *["--:"] * len(columns)])]
        for paper in own():
            found = contents.of_paper(paper)
            cells = dict(zip(columns, found.cells(), strict=True))
            for verdict in VERDICTS:
                if found.printed[verdict]:
                    at = {"paper": paper, "form": "printed", "verdict": verdict}
                    cells[badge(verdict)] = link(str(found.printed[verdict]), **at)
            for form, column in zip(("networks", "corrected", "own"), MORE[1:], strict=True):
                cells[column] = link(cells[column], paper=paper, form=form)
            lines.append(table_row([f"[{contents.written(paper)}]({paper}.md)", *cells.values()]))
        return ["````{container} counts", "", *lines, "````"]


class Asked(Markdown):
    """What a paper's theorems ask for, what is needed, and how the two compare, from the record."""

    def lines(self, paper):
        path = ROOT / "figures" / "theorems.asked.json"
        found = read(path)["result"]["summary"]["lines"]
        groups = {}
        for line in found:
            if line["paper"] == contents.written(paper):
                groups.setdefault((line["place"], line["quantity"]), []).append(line)
        opened = any(_least_constant(paper, *group) for group in groups.items())
        sharp = any(_number(line, "sharp") is not None for own in groups.values() for line in own)
        heads = ["statement", "setting", "asked", *["at the least c", "by the proof"] * opened,
                 *["predicted"] * sharp, "needed", "ratio", ""]  # fmt: skip
        rows = [table_row(heads), table_row(["---"] * 2 + ["--:"] * (len(heads) - 3) + ["---"])]
        for (place, quantity), lines in groups.items():
            least, first = _least_constant(paper, (place, quantity), lines), True
            for line in lines:
                cells = [
                    f"{place}: {quantity}" * first,
                    line["where"],
                    *_asked(line, opened, least, sharp),
                ]
                rows.append(
                    table_row(table_cell(cell).replace(" = ", "\u00a0=\u00a0") for cell in cells)
                )
                first = False
        return ["````{container} constants", "", *rows, "````"]


def _asked(line, opened, least, sharp):
    """Return the cells of a line: what is asked for, with which constants, what is needed."""
    asked, needed = (_number(line, key) for key in ("asked", "needed"))
    at_least = line["bound"] == "at least"
    share, standing = None, ""
    if needed is not None:
        share = asked / needed if at_least else needed / asked
        standing = requirements.standing(asked, needed, at_least=at_least)
    elif at_least and asked > requirements.POSSIBLE:
        standing = "out of reach"
    yield f"{'≥' if at_least else '≤'}\u00a0{_amount(asked)}"
    if opened:
        yield f"{_amount(least * asked)} (c\u00a0=\u00a0{_amount(least)})" if least else "–"
        yield _amount(_number(line, "proof"))
    if sharp:
        yield _amount(_number(line, "sharp"))
    ends = [_amount(_number(line, end)) for end in ("low", "high")]
    yield _amount(needed) + f" [{ends[0]},\u00a0{ends[1]}]" * (ends[0] != ends[1])
    yield _amount(share)
    yield standing.replace(" ", "\u00a0")


def _least_constant(paper, statement, lines):
    """Return the smallest constant that is enough wherever it was measured; None without one.

    At the settings of these lines, and at those of the ledger, where it has one.
    """
    if (paper, *statement) not in _OPEN:
        return None
    found = [_number(line, "needed") / _number(line, "asked") for line in lines]
    name, pattern = _OPEN[paper, *statement]
    entry = ledger.recorded().get(name)
    texts = [f"{fact.name}: {fact.value}" for fact in entry.facts] if entry else []
    texts += [part.sentence for part in entry.parts] if entry else []
    found += [float(match[1]) for match in map(re.compile(pattern).search, texts) if match]
    return max(found)


#: Statements that leave a constant open, and where the ledger has how large it has to be.
_NUMBER = r"([\d.]+(?:e-?\d+)?)"
_OPEN = {
    ("fedrep", "Theorem 1", "samples per client and round"): (
        "fedrep.lemma6", rf"^c that suffices.*: {_NUMBER}$"
    ),
    ("fedrep", "(12)", "samples per client in all"): ("", "(?!)"),
    ("fedrep", "Theorem 2", "samples per client of the start"): ("", "(?!)"),
    ("flute", "Theorem 5.1", "samples per client"): (
        "flute.theorem5.1.corrected", rf"the constant needed.*largest {_NUMBER}$"
    ),
}  # fmt: skip


def _number(line, key):
    """Return a recorded number, None where there is none."""
    value = line.get(key, {}).get("value")
    return None if value is None else float(value)


def _amount(value):
    """Return a number of samples, rounds or a step size to two digits."""
    if value is None:
        return "–"
    if math.isinf(value):
        return "∞"
    if 1e-3 <= value < 1e5:
        return f"{value:.2g}" if value < 100 else f"{float(f'{value:.2g}'):,.0f}"
    digits, power = f"{value:.1e}".split("e")
    return f"{digits}·10{str(int(power)).translate(_RAISED)}"


_RAISED = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


class Figures(Markdown):
    def lines(self, paper):
        lines = []
        for name, manifest in figures_of(paper).items():
            up = "../" * (1 + self.env.docname.count("/"))
            lines += [
                f"({_figure_label(name)})=",
                "",
                f"### {_figure_name(name)}: {manifest['title']}",
                "",
                f"```{{image}} {up}figures/{name}.svg",
                f":alt: {manifest['title']}",
                ":class: figure",
                "```",
                "",
                f"Drawn by `linrep figures {name}`; the numbers are in `figures/{name}.json`.",
                "",
                # Read aloud and on a phone, where the letters in the picture are small.
                f"<details><summary>Caption</summary>{prose(manifest['result']['caption'])}</details>",
                "",
            ]
        return lines


class Gallery(SphinxDirective):
    """Cards of figures, a line each: id, where it is discussed, a sentence."""

    has_content = True

    def run(self):
        cards = nodes.container(classes=["gallery"])
        lines = [line.split(" | ") for line in self.content if line.strip()]
        missing = {path.stem for path in (ROOT / "figures").glob("*.svg")} ^ {
            name for name, _, _ in lines
        }
        if missing:
            raise self.error(f"the gallery and figures/ differ in {', '.join(sorted(missing))}")
        for name, place, sentence in lines:
            try:
                manifest = read(ROOT / "figures" / f"{name}.json")
            except Damaged as error:
                raise self.error(str(error)) from None
            page, _, anchor = place.partition("#")
            builder = self.env.app.builder
            uri = builder.get_relative_uri(self.env.docname, page) + f"#{anchor}" * bool(anchor)
            picture = nodes.image(
                uri=f"../figures/{name}.svg", alt=manifest["title"], loading="lazy"
            )
            link = nodes.reference("", "", picture, refuri=uri, internal=True)
            title = nodes.paragraph("", manifest["title"], classes=["title"])
            place = nodes.paragraph("", _figure_name(name), classes=["place"])
            text = nodes.paragraph("", f"{sentence} ")
            text += nodes.literal(text=name)
            cards += nodes.container("", link, place, title, text, classes=["card"])
        return [cards]


def _reference(name, text):
    return f"{{py:obj}}`{text} <{name}>`"


def _short(name):
    return name.removeprefix("linrep.theory.").partition(".")[2]


def _figure_name(name):
    """Return whose figure it is, and which: "FedRep, Figure 3"."""
    paper, _, rest = name.partition(".")
    number = re.fullmatch(r"figure(\d+)", rest)
    whose = {
        **{name: contents.written(name) for name in own()},
        "deep": "Networks",
        "literature": "Estimators of the literature",
        "theorems": "All papers",
    }.get(paper, paper.capitalize())
    return f"{whose}, Figure {number[1]}" if number else whose


def _figure_label(name):
    return "figure-" + name.replace(".", "-").replace("_", "-")


def setup(app):
    for name, directive in {
        "statements": Statements,
        "verdicts": Verdicts,
        "asked": Asked,
        "figures": Figures,
        "gallery": Gallery,
    }.items():
        app.add_directive(name, directive)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

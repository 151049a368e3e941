"""What the pages say of claims, from the claims, the ledger and the figures' manifests.

``{statements} PAPER`` makes the table of a paper's claims in its order, ``{figures} PAPER`` shows
its figures, ``{failures}`` lists what fails by severity, ``{findings} PAPER`` explains it,
``{derivations} PAPER`` has the proofs, ``{constants} CLAIM`` tables numbers of a claim, ``{asked}
PAPER`` what theorems ask for and what is needed, ``{side-by-side} PAPER`` is the paper in its
order, and ``{gallery}`` shows the figures it is given.
"""

import ast
import inspect
import json
import math
import re
import textwrap
from pathlib import Path

from docutils import nodes
from reference import Markdown
from report_page import link
from sphinx.util.docutils import SphinxDirective

import linrep
from linrep.claims import claims, contents, corrections, ledger
from linrep.claims.certificates import say_checked
from linrep.claims.evidence import VERDICTS
from linrep.claims.findings import SEVERITIES, findings
from linrep.claims.grids import grids, title
from linrep.claims.order import in_order
from linrep.claims.sections import sections, unescaped
from linrep.report.mathml import prose
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
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
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
    return {path.stem: json.loads(path.read_text("utf-8")) for path in paths}


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
            links = [f"[evidence](#{ledger.anchor(item.id)})"]
            if item.id in reasons:
                links.append(_link("why", reasons[item.id]))
            if figure:
                links.append(f"[figure](#{_figure_label(figure)})")
            strength = entries[item.id].strength
            cells = [
                ledger.badge(entries[item.id].verdict, ledger.anchor(item.id))
                + f" [{strength}]{{.strength}}" * bool(strength),
                f"**{ledger.cell(item.place)}**{', corrected' if item.corrects else ''}. "
                f"{_cell(item.plain)} ({', '.join(links)})",
                ", ".join([_reference(f"{module}.{name}", name), *theory]),
            ]
            lines.append("| " + " | ".join(cells) + " |")
        return ["````{container} statements", "", *lines, "````"]


#: What each severity means to a reader.
_MEANINGS = {
    "conclusion": "A rate, a sample size or a comparison that readers take away is wrong.",
    "statement": "The statement is false as printed.",
    "proof step": "A step of the proof does not follow; the statement itself stands.",
    "constant": "A constant or a condition is too small or too large.",
    "slip": "Obvious, and nothing rests on it.",
}
PAPERS = {"fedrep": "FedRep", "flute": "FLUTE", "perfedsi": "PerFedSI", "pflmf": "pFL^MF"}


class Verdicts(Markdown):
    """How many statements of each paper have which verdict, each number a link to their list.

    Statements on tables of networks are counted apart, and corrected forms, which no paper states.
    """

    def lines(self):
        heads = [*map(ledger.badge, VERDICTS), "causes", "on networks", "corrected forms"]
        lines = [_row(["paper", *heads]), _row(["---", *["--:"] * len(heads)])]
        for paper, name in PAPERS.items():
            found = contents.counts(paper)
            cells = [_listed(found, paper, verdict) for verdict in VERDICTS]
            forms = link(ledger.holding(found.corrected), paper=paper, form="corrected")
            apart = ledger.holding(list(found.networks.elements()))
            lines.append(_row([f"[{name}]({paper}.md)", *cells, str(found.causes), apart, forms]))
        return ["````{container} counts", "", *lines, "````"]


def _listed(found, paper, verdict):
    """Return how many statements have a verdict, as a link where the report lists so many."""
    number = found.linear[verdict]
    if not number:
        return "–"
    if found.networks[verdict]:
        return str(number)
    return link(str(number), paper=paper, form="printed", verdict=verdict)


class SideBySide(Markdown):
    """A paper in its order: a row for each item, with badges or why there is no claim."""

    def lines(self, paper):
        if paper not in contents.known():
            return [f"The contents of {PAPERS[paper]} are not listed yet."]
        own, recorded = contents.known()[paper], ledger.recorded()
        found = contents.counts(paper)
        heads = [*map(ledger.badge, VERDICTS), "causes"]
        lines = [
            f"{len(own)} displayed equations and sentences, "
            f"{sum(not item.claims for item in own)} of them without a claim. Statements of the "
            "paper by verdict:",
            "",
            "````{container} counts",
            "",
            _row(["", "statements", *heads]),
            _row(["---", *["--:"] * (len(heads) + 1)]),
        ]
        for name, verdicts, causes in (
            ("on its linear settings", found.linear, str(found.causes)),
            ("on tables and figures of networks", found.networks, "–"),
        ):
            if verdicts:
                cells = [str(verdicts[verdict] or "–") for verdict in VERDICTS]
                lines.append(_row([name, str(verdicts.total()), *cells, causes]))
        lines += ["````", "", "````{container} statements", ""]
        lines += ["| place | what it says | verdict |", "| --- | --- | --- |"]
        lines += [_side(item, recorded) for item in own]
        return [*lines, "````"]


def _side(item, recorded):
    """Return the row of an item: its place, what it says, badges with strengths."""
    found = [_judged(claim, recorded) for claim in item.known()]
    if not found:
        found = [f"[no claim]{{.strength}} {_outside_formulas(item.reason)}"]
    says = _outside_formulas(item.says) + " (networks)" * item.networks
    return _row([f"**{_cell(item.place)}**", says, "<br>".join(found)])


def _judged(claim, recorded):
    """Return the badges of a statement and of its corrected forms, linked to the ledger."""
    texts = []
    for item in (claim, *corrections(claim.id)):
        result = recorded.get(item.id)
        if result is None:
            texts.append(f"unchecked `{item.id}`")
            continue
        strength = f" [{result.strength}]{{.strength}}" * bool(result.strength)
        text = ledger.badge(result.verdict, ledger.anchor(item.id)) + strength
        if item.id in findings():
            text += f" ({_link('why', findings()[item.id])})"
        texts.append(f"corrected: {text}" if item.corrects else text)
    return ", ".join(texts)


def _outside_formulas(text):
    """Return text for a cell, in which formulas stay as they are but for the bars in them."""
    parts = re.split(r"(\$[^$]+\$)", text)
    return "".join(
        part.replace("|", r"\vert ") if part.startswith("$") else _cell(part) for part in parts
    )


class Failures(Markdown):
    """What fails or is vacuous: a row for each cause, the gravest first."""

    def lines(self):
        lines = []
        for severity in reversed(SEVERITIES):
            found = {item: None for item in findings().values() if item.severity == severity}
            lines += [
                f"## {severity.capitalize()}",
                "",
                _MEANINGS[severity],
                "",
                "````{container} statements failures",
                "",
                "| verdict | paper | place | what is wrong | corrected form |",
                "| --- | --- | --- | --- | --- |",
            ]
            for finding in found:
                cells = [
                    *_verdict(finding),
                    PAPERS[_paper(finding.ids[0])],
                    _place(finding),
                    _link(_cell(_capital(unescaped(finding.headline))), finding),
                    " ".join(_corrections(finding)) or "–",
                ]
                lines.append("| " + " | ".join(cells) + " |")
            lines += ["````", ""]
        return lines


class Findings(Markdown):
    """Why a paper's statements fail, the gravest first; behind them what has no severity."""

    def lines(self, paper):
        page = ROOT / "linrep" / "papers" / paper / "findings.md"
        own = dict.fromkeys(item for item in findings().values() if item.ids[0].startswith(paper))
        lines = []
        for finding in sorted(own, key=lambda item: -SEVERITIES.index(item.severity)):
            known = [claims()[name] for name in finding.ids]
            about = [
                f"{ledger.badge(ledger.recorded()[item.id].verdict, ledger.anchor(item.id))} "
                f"{ledger.cell(item.place)} (`{item.id}`)"
                for item in in_order(known)
            ]
            kind = finding.severity.replace(" ", "-")
            lines += [
                f"({ledger.anchor(finding.ids[0], 'finding')})=",
                "",
                f"## {_capital(finding.headline)}",
                "",
                f"[{finding.severity}]{{.severity .{kind}}} {_MEANINGS[finding.severity]}",
                "",
                *(f"- {line}" for line in about),
                "",
                *_folded(_rebased(finding.text, paper)),
                "",
            ]
        return [*lines, *_rebased("\n".join(_others(page)), paper).splitlines()]


class Derivations(Markdown):
    """The derivations on a paper's page of proofs, what they share first."""

    def lines(self, paper):
        page = ROOT / "linrep" / "papers" / paper / "proofs.md"
        text = page.read_text("utf-8").partition("\n### ")[0].partition("\n")[2]
        lines = text.splitlines()
        for ids, headline, text in sections(page):
            linked = [f"[`{name}`](#{ledger.anchor(name)})" for name in ids if name in claims()]
            lines += [
                f"## {_capital(headline)}",
                "",
                "Statements: " + ", ".join(linked) + ".",
                "",
                *_checked(ids),
                *_rebased(text, paper).splitlines(),
                "",
            ]
        return lines


def _checked(ids):
    """Return which solvers prove steps of a derivation, as a paragraph."""
    said = [(name, say_checked(name)) for name in ids]
    lines = [f"Checked by {text}, of `{name}`." for name, text in said if text]
    return [" ".join(lines), ""] if lines else []


def _cell(text):
    """Return text as it is for a table of Markdown."""
    return ledger.cell(text).replace("_", "\\_")


def _row(cells):
    return f"| {' | '.join(cells)} |"


def _paper(name):
    return name.partition(".")[0]


def _link(text, finding):
    return f"[{text}](#{ledger.anchor(finding.ids[0], 'finding')})"


def _place(finding):
    """Return where the first of a finding's statements stands, and how many more there are."""
    first, *others = dict.fromkeys(
        item.place for item in in_order(claims()[name] for name in finding.ids)
    )
    return _cell(first) + f" and {len(others)} more" * bool(others)


def _verdict(finding):
    """Yield the badge of a finding's verdicts, linked to the first, as a list of one."""
    entries = [ledger.recorded()[name] for name in finding.ids]
    strengths = dict.fromkeys(entry.strength for entry in entries if entry.strength)
    badges = dict.fromkeys(
        ledger.badge(entry.verdict, ledger.anchor(finding.ids[0])) for entry in entries
    )
    yield " ".join([*badges, *(f"[{name}]{{.strength}}" for name in strengths)])


def _corrections(finding):
    """Return the badges of the corrected statements, each verdict linked to its first."""
    found = {}
    for item in (item for name in finding.ids for item in corrections(name)):
        found.setdefault(ledger.recorded()[item.id].verdict, item.id)
    return [ledger.badge(verdict, ledger.anchor(name)) for verdict, name in found.items()]


def _folded(text):
    """Yield lines of Markdown with blocks of Python behind a summary."""
    for piece in re.split(r"(?ms)^(```python\n.*?^```$)", text):
        if piece.startswith("```python"):
            yield from ("<details><summary>Counterexample in Python</summary>", "")
            yield from (*piece.splitlines(), "", "</details>", "")
        else:
            yield from piece.splitlines()


def _others(page):
    """Yield the lines of sections that name no statement: readings, what cannot be decided."""
    text = page.read_text("utf-8")
    for section in re.split(r"(?m)^(?=### )", text)[1:]:
        if not section.startswith("### `"):
            yield from section.removeprefix("#").splitlines()


def _rebased(text, paper):
    """Return text with the links that lead on from where it is kept, seen from docs/findings."""
    text = text.replace("](proofs.md)", f"](../proofs/{paper}.md)")
    text = text.replace("](../../../docs/", "](../")
    return re.sub(r"\n(?=\*\*Corrected\*\*)", "\n\n", text)


def _capital(headline):
    """Return a headline as a title, unless it begins with a symbol or a name."""
    word = headline.split()[0]
    return headline[0].upper() + headline[1:] if word.isalpha() and word.isascii() else headline


class Constants(Markdown):
    """The numbers of a claim that are recorded at several settings, as a table."""

    def lines(self, name):
        entry = ledger.recorded()[name]
        tables, others = grids(entry.facts)
        lines = []
        for item in others:
            lines += [_cell(f"{_capital(title(item))}: {ledger.shown(item, 'value')}."), ""]
        for table in tables:
            unit = f", in units of {_cell(table.unit)}" * bool(table.unit)
            lines += ["````{container} constants", ""]
            lines += [_row(map(_cell, table.heads)), _row(["--:"] * len(table.heads))]
            lines += [
                _row(cell if isinstance(cell, str) else ledger.shown(cell, "value") for cell in row)
                for row in table.rows
            ]
            lines += [
                "````",
                "",
                f"Recorded with the budget {entry.budget}{unit}: "
                f"[`{name}`](#{ledger.anchor(name)}).",
                "",
            ]
        return lines


class Asked(Markdown):
    """What a paper's theorems ask for, what is needed, and how the two compare, from the record."""

    def lines(self, paper):
        path = ROOT / "figures" / "theorems.asked.json"
        found = json.loads(path.read_text("utf-8"))["result"]["summary"]["lines"]
        groups = {}
        for line in found:
            if line["paper"] == PAPERS[paper]:
                groups.setdefault((line["place"], line["quantity"]), []).append(line)
        opened = any(_least_constant(paper, *group) for group in groups.items())
        sharp = any(_number(line, "sharp") is not None for own in groups.values() for line in own)
        heads = ["statement", "setting", "asked", *["at the least c", "by the proof"] * opened,
                 *["in the limit"] * sharp, "needed", "ratio", ""]  # fmt: skip
        rows = [_row(heads), _row(["---"] * 2 + ["--:"] * (len(heads) - 3) + ["---"])]
        for (place, quantity), lines in groups.items():
            least, first = _least_constant(paper, (place, quantity), lines), True
            for line in lines:
                cells = [
                    f"{place}: {quantity}" * first,
                    line["where"],
                    *_asked(line, opened, least, sharp),
                ]
                rows.append(_row(_cell(cell).replace(" = ", "\u00a0=\u00a0") for cell in cells))
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
            manifest = json.loads((ROOT / "figures" / f"{name}.json").read_text("utf-8"))
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
        **PAPERS,
        "deep": "Networks",
        "literature": "Estimators of the literature",
        "theorems": "All papers",
    }[paper]
    return f"{whose}, Figure {number[1]}" if number else whose


def _figure_label(name):
    return "figure-" + name.replace(".", "-").replace("_", "-")


def setup(app):
    for name, directive in {
        "statements": Statements,
        "verdicts": Verdicts,
        "failures": Failures,
        "asked": Asked,
        "side-by-side": SideBySide,
        "constants": Constants,
        "figures": Figures,
        "findings": Findings,
        "derivations": Derivations,
        "gallery": Gallery,
    }.items():
        app.add_directive(name, directive)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

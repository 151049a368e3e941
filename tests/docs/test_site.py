"""Pages of the site say what their sources mean: no formula is emphasis or escaped twice."""

import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from markdown_it import MarkdownIt

import linrep
from linrep._lib.display import number as show
from linrep._lib.papers import papers
from linrep.claims import claims, ledger
from linrep.claims.pages import pages as pages_of_ledger

ROOT = Path(linrep.__file__).parents[1]
DOCS = ROOT / "docs"
PAPERS = ("fedrep", "flute", "perfedsi", "pflmf")
SOURCES = {
    str(path.relative_to(ROOT)): path.read_text("utf-8")
    for path in [
        *ROOT.glob("*.md"),
        *DOCS.rglob("*.md"),
        *(ROOT / "linrep" / "papers").rglob("*.md"),
    ]
    if not {"_build", "jupyter_execute", "ledger"} & set(path.parts)
}
#: Formulas in LaTeX, in which Markdown looks for nothing; prices and shells' variables are none.
MATH = re.compile(r"\$\$.+?\$\$|\$(?=\S)[^$`]+?(?<=\S)\$", re.DOTALL)


def wrong(text):
    """Yield what Markdown takes for emphasis in formulas, and backslashes that it shows."""
    text = MATH.sub("formula", text)
    for block in MarkdownIt().enable("table").parse(text):
        inside = ""
        for token in block.children or ():
            if token.type == "em_open":
                inside = "*"
            elif token.type == "em_close":
                if re.search(r"[∇λᵀ={}\\]", inside):
                    yield inside
                inside = ""
            elif inside:
                inside += token.content
            if token.type == "text" and re.search(r"\\[*_]", token.content):
                yield token.content


def test_formulas_on_a_page_are_no_emphasis():
    found = {name: list(wrong(text)) for name, text in SOURCES.items()}
    assert found
    assert {name: lines for name, lines in found.items() if lines} == {}


@pytest.mark.slow
def test_formulas_on_generated_pages_are_no_emphasis(extension):
    pages, site = extension("claim_pages"), extension("linrep.report.sphinx")
    texts = pages_of_ledger(ledger.recorded())
    texts["failures"] = "\n".join(site.Failures.lines(None))
    for kind in (pages.Statements, site.Findings, site.Derivations):
        for paper in PAPERS:
            texts[f"{kind.__name__} {paper}"] = "\n".join(kind.lines(None, paper))
    found = {name: list(wrong(text)) for name, text in texts.items()}
    assert {name: lines for name, lines in found.items() if lines} == {}


def test_emphasis_in_formulas_is_found():
    assert list(wrong("λ*₁ = 2λ*₁")) == ["*₁ = 2λ"]
    assert list(wrong(r"a \\* b")) == [r"a \* b"]
    assert list(wrong(r"*in short* λ\*₁ and $\lambda^*_1 = \mu^*$")) == []


@pytest.mark.slow
def test_indices_and_powers_are_set_and_plain_where_only_text_is(extension):
    typeset = extension("typeset")
    html = str(extension("linrep.report.mathml").prose("κ^{4} and v_i of pFL^MF"))
    found = typeset.typeset(html)
    assert [type(node).__name__ for node in found] == [
        "Text", "superscript", "Text", "subscript", "Text", "superscript",
    ]  # fmt: skip
    assert "".join(node.astext() for node in found) == "κ^4 and v_i of pFL^MF"
    assert typeset.PAGES.fullmatch("findings/pflmf")
    assert not typeset.PAGES.fullmatch("api/theory-pflmf")


@pytest.mark.slow
def test_constants_are_those_of_the_ledger_with_their_setting(extension):
    lines = extension("linrep.report.sphinx").Constants.lines(None, "pflmf.corollary2.constants")
    facts = {
        f"{fact.name}, p = {fact.setting['p']:g}": fact.value
        for fact in ledger.recorded()["pflmf.corollary2.constants"].facts
        if fact.setting
    }
    header, _, *rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in lines if line[:1] == "|"
    ]
    assert {"p", "T for 1/T", "before 1/T: bound", "T for 1/sqrt T"} <= set(header)
    assert len(rows) == 5
    for p, *cells in rows:
        for name, cell in zip(header[1:], cells, strict=True):
            assert cell == show(facts[f"{name}, p = {p}"])
    assert "budget standard" in lines[-2]


@pytest.mark.slow
def test_failures_say_where_the_statement_stands(extension):
    lines = extension("linrep.report.sphinx").Failures.lines(None)
    (row,) = (line for line in lines if "#finding-fedrep-theorem2)" in line)
    assert "| FedRep | Theorem 2, (86); Section 1.1 |" in row
    (row,) = (line for line in lines if "#finding-pflmf-theorem1)" in line)
    assert re.search(r"\| Theorem 1 and \d more \|", row)


@pytest.mark.slow
def test_counts_lead_to_the_claims_in_the_report(extension):
    (row,) = (line for line in extension("claim_pages").Verdicts.lines(None) if "PerFedSI" in line)
    own = [item for item in claims().values() if item.paper == "perfedsi"]
    verdicts = [ledger.recorded()[item.id].verdict for item in own if item.form == "printed"]
    corrected = [ledger.recorded()[item.id].verdict for item in own if item.form == "corrected"]
    link = '<a href="full-report.html#paper=perfedsi&amp;form='
    assert f'{link}printed&amp;verdict=fails">{verdicts.count("fails")}</a>' in row
    assert f'{link}corrected">{corrected.count("holds")} of {len(corrected)} hold</a>' in row
    for name in ("index.md", "report.md"):
        assert f'<a href="{extension("report_page").NAME}">' in SOURCES[f"docs/{name}"]


@pytest.mark.slow
def test_the_site_has_the_report(extension, tmp_path):
    pages = extension("report_page")
    pages.write(tmp_path)
    text = (tmp_path / pages.NAME).read_text("utf-8")
    assert all(f'id="{name}"' in text for name in claims())
    assert str(ROOT) not in text
    assert str(tmp_path) not in text
    beside = json.loads((tmp_path / "ledger.json").read_text("utf-8"))
    assert set(beside["statements"]) == set(claims())
    assert str(ROOT) not in json.dumps(beside)
    assert (
        beside["statements"]["fedrep.theorem1"]["address"] == "ledger/fedrep.html#fedrep.theorem1"
    )


@pytest.mark.slow
def test_figures_are_named_as_in_the_papers(extension):
    pages = extension("claim_pages")
    assert pages._figure_name("fedrep.figure3") == "FedRep, Figure 3"
    assert pages._figure_name("fedrep.scaling") == "FedRep"
    for path in (ROOT / "figures").glob("*.svg"):
        assert pages._figure_name(path.stem)


@pytest.mark.slow
def test_words_of_a_page_are_set_and_its_code_is_not(extension):
    typeset, nodes = extension("typeset"), extension("docutils.nodes")
    raw = [nodes.raw("", tag, format="html") for tag in ("<sup>", "</sup>")]
    for page, expected in (
        ("pflmf", "1/√T of pFL^MF, v_i, v_i and |sub|"),
        ("stability", "1/sqrt T of pFL^MF, v_i, v_i and ||"),
    ):
        document = extension("docutils.utils").new_document("page")
        document.settings.env = SimpleNamespace(docname=page)
        document += nodes.title("", "", nodes.Text("1/sqrt T of pFL"), raw[0].deepcopy())
        document[0] += [nodes.Text("MF"), raw[1].deepcopy(), nodes.Text(", v_i, ")]
        document[0] += [nodes.literal("", "v_i"), nodes.Text(" and ")]
        typeset.Typeset(document).apply()
        assert not list(document.findall(nodes.raw))
        found = [type(node).__name__ for node in document.findall(nodes.subscript)]
        assert f"{document.astext()}|{''.join(found)[:3]}|" == expected
        assert next(document.findall(nodes.literal)).astext() == "v_i"


def test_beside_a_damaged_ledger_no_pages_are_made(extension, tmp_path, monkeypatch):
    errors, sphinx = extension("sphinx.errors"), extension("linrep.report.sphinx")
    book = tmp_path / "ledger.json"
    book.write_bytes(papers()["flute"].ledger.read_bytes()[:-9])
    paper = SimpleNamespace(ledger=book)
    monkeypatch.setattr(sphinx, "papers", lambda: {"flute": paper})
    app, config = SimpleNamespace(srcdir=tmp_path), SimpleNamespace(linrep_papers=["flute"])
    with pytest.raises(errors.ExtensionError, match=r"ledger\.json is damaged: "):
        sphinx._write(app, config)
    assert list(tmp_path.iterdir()) == [book]

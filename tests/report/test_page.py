"""The page as text: complete, self-contained, safe, and in order."""

import re
from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser
from itertools import pairwise

import pytest

from linrep.claims import Fact, claims, load_file, pages
from linrep.claims import ledger as book
from linrep.claims.contents import counts, in_order
from linrep.claims.pages import grids
from linrep.claims.prose import SEVERITIES, findings
from linrep.report import gather, render
from tests.report.conftest import draw_figures, leave_undrawn

VOID = {"meta", "link", "input", "img", "br", "wbr", "hr", "mspace"}


class Page(HTMLParser):
    """Elements of a page, in order, each with its attributes and the tags around it."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.text, self.elements, self.open, self.texts = text, [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs), tuple(self.open)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs), tuple(self.open)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if not {"script", "style"} & set(self.open):
            self.texts.append(data)

    def all(self, *tags):
        return [attributes for tag, attributes, _ in self.elements if tag in tags]

    def lines(self, kind):
        return [each for each in self.all("li") if kind in each.get("class", "").split()]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Read the page of all claims; slow tests have it with its pictures."""
    with pytest.MonkeyPatch.context() as patch:
        leave_undrawn(patch)
        report = gather(
            claims().values(),
            ledger=book.recorded(),
            store=tmp_path_factory.mktemp("store"),
            made=datetime(2026, 1, 2, tzinfo=UTC),
            progress=False,
        )
    return Page(render(report))


@pytest.fixture(scope="module")
def page(runs, tmp_path_factory):
    known = load_file(runs.with_name("own_claims.py"))
    figures = draw_figures(tmp_path_factory.mktemp("page"))
    report = gather(known.values(), ledger={}, store=runs, figures=figures, progress=False)
    text = render(report)
    assert render(report) == text
    return Page(text)


def test_every_claim_has_its_place_and_verdicts_are_counted_by_one_rule(recorded):
    found = [entry.get("id") for entry in recorded.lines("claim")]
    assert found == [item.id for item in in_order(claims().values())]
    table = recorded.text.partition('<table class="counts">')[2].partition("</table>")[0]
    found = counts(book.recorded().values())
    assert "".join(f"<td>{cell}</td>" for cell in found.cells()) in table


def test_identifiers_are_unique_and_links_lead_somewhere(recorded, page):
    for found in (recorded, page):
        ids = [attributes["id"] for _, attributes, _ in found.elements if "id" in attributes]
        known = set(ids)
        assert len(ids) == len(known)
        for attributes in found.all("a"):
            target = attributes["href"]
            assert target.startswith("#")
            assert "=" in target or target[1:] in known, target


def test_nothing_is_loaded(recorded, page):
    for found in (recorded, page):
        for tag, attributes, _ in found.elements:
            assert attributes.get("src", "data:").startswith("data:")
            if tag == "link":
                assert attributes["href"].startswith("data:")
        assert not re.search(r"url\(|@import|https?://", found.text)
        assert "default-src 'none'" in found.text


def test_markup_in_texts_is_shown_and_not_followed(page):
    text = "".join(page.texts)
    for shown in ("& <b>bold</b> |", "a < b & c", "</script><b>", "no <such> thing",
                  "Noise & nothing", "Lines with <tags>.", "the run <hardly> moves"):  # fmt: skip
        assert shown in text
    assert not {"i", "such", "tags"} & {
        tag for tag, attributes, _ in page.elements if not attributes
    }
    # LaTeX that cannot be converted is shown as it is.
    assert r"\nosuchcommand" in text


def test_who_does_not_see_is_told(recorded, page):
    for found in (recorded, page):
        levels = [int(tag[1]) for tag, _, _ in found.elements if re.fullmatch(r"h\d", tag)]
        assert levels[0] == 1
        assert levels.count(1) == 1
        assert all(b - a <= 1 for a, b in pairwise(levels))
    assert len(page.all("main")) == len(page.all("header")) == len(page.all("footer")) == 1
    assert page.all("html")[0]["lang"] == "en"
    for image in page.all("img"):
        assert image["alt"].strip()
        assert int(image["width"]) > 0
        assert int(image["height"]) > 0
    assert len(page.all("img")) == 2
    assert sum(entry.get("class") == "drawing" for entry in page.all("div")) == 1
    for tag, _, around in page.elements:
        if tag in ("input", "select"):
            assert "label" in around
    for region in page.all("div"):
        if "scroll" in region.get("class", "").split():
            assert region["tabindex"] == "0"
            assert region["aria-label"]


def test_verdicts_are_words(page):
    text = " ".join("".join(page.texts).split())
    for verdict in ("holds", "fails", "error", "unchecked"):
        assert verdict in text
    assert "There is no result yet" in text
    assert "inf" in text  # the counterexample


def test_both_verdicts_are_shown_where_they_differ(known, store):
    def made(**ledger):
        options = {"ledger": ledger, "store": store, "progress": False}
        report = gather([known["mine.wrong"]], **options)
        return report.entries[0].result, render(report)

    result, _ = made()
    same = replace(result, sentence="recorded then")
    assert "contradicts the ledger" not in made(**{"mine.wrong": same})[1]
    page = made(**{"mine.wrong": replace(same, verdict="holds")})[1]
    assert "contradicts the ledger" in page
    assert "recorded then" in page


def test_findings_are_in_order_of_severity_with_their_code(recorded):
    for paper in ("fedrep", "flute", "perfedsi", "pflmf"):
        found = [
            SEVERITIES.index(entry["data-severity"])
            for entry in recorded.lines("finding")
            if entry["data-paper"] == paper
        ]
        assert len(found) > 4
        assert found == sorted(found, reverse=True)
    assert "import numpy as np" in "".join(recorded.texts)
    place = pages.anchor(findings()["fedrep.theorem2"].ids[0], "finding")
    assert f'<a href="#{place}">' in recorded.text


def test_numbers_at_settings_are_tables():
    facts = [
        Fact(of, p * K, setting={"p": p, "K": K})
        for of in ("error", "rate")
        for p in (0.1, 1)
        for K in (1, 5)
    ]
    (table,), rest = grids([*facts, Fact("alone", 2, setting={"x": 1})])
    assert table.heads == ("p", "K", "error", "rate")
    assert [row[:2] for row in table.rows] == [("0.1", "1"), ("0.1", "5"), ("1", "1"), ("1", "5")]
    assert [fact.name for fact in rest] == ["alone"]
    (table,), _ = grids(facts[:3])
    assert (table.title, table.heads) == ("error", ("p", "K = 1", "K = 5"))
    assert [row[0] for row in table.rows] == ["0.1", "1"]
    assert table.rows[0][2].value == 0.5
    assert table.rows[1][2] is None


def test_nothing_at_all(tmp_path):
    page = render(gather([], ledger={}, store=tmp_path, progress=False))
    assert Page(page).all("li") == []

"""The page as text: complete, self-contained, safe, and in order."""

import re
from datetime import UTC, datetime
from html.parser import HTMLParser
from itertools import pairwise

import pytest

from linrep.claims import claims
from linrep.claims import ledger as book
from linrep.report import gather, render

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


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    report = gather(
        claims().values(),
        ledger=book.recorded(),
        store=tmp_path_factory.mktemp("store"),
        made=datetime(2026, 1, 2, tzinfo=UTC),
        progress=False,
    )
    text = render(report)
    assert render(report) == text
    return Page(text)


@pytest.fixture
def page(known, store, figures):
    report = gather(known.values(), ledger={}, store=store, figures=figures, progress=False)
    return Page(render(report))


def test_every_claim_has_its_place(recorded):
    found = [entry.get("id") for entry in recorded.all("article")]
    assert found == list(claims())
    for entry in book.recorded().values():
        assert f'href="#{entry["id"]}"' in recorded.text


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
                  "Noise & nothing", "Lines with <tags>."):  # fmt: skip
        assert shown in text
    assert not {"i", "such", "tags"} & {
        tag for tag, attributes, _ in page.elements if not attributes
    }
    # LaTeX that cannot be converted is shown as it is.
    assert r"\nosuchcommand" in text


def test_headings_descend_one_by_one(recorded, page):
    for found in (recorded, page):
        levels = [int(tag[1]) for tag, _, _ in found.elements if re.fullmatch(r"h\d", tag)]
        assert levels[0] == 1
        assert levels.count(1) == 1
        assert all(b - a <= 1 for a, b in pairwise(levels))


def test_who_does_not_see_is_told(page):
    assert len(page.all("main")) == len(page.all("header")) == len(page.all("footer")) == 1
    assert page.all("html")[0]["lang"] == "en"
    for image in page.all("img"):
        assert image["alt"].strip()
        assert int(image["width"]) > 0
        assert int(image["height"]) > 0
    assert len(page.all("img")) == 3
    assert len(page.all("table")) == len(page.all("caption"))
    assert all(head["scope"] in ("row", "col") for head in page.all("th"))
    for tag, _, around in page.elements:
        if tag in ("input", "select"):
            assert "label" in around
    for region in page.all("div"):
        if "scroll" in region.get("class", "").split():
            assert region["tabindex"] == "0"
            assert region["aria-label"]


def test_verdicts_are_words(page):
    text = " ".join("".join(page.texts).split())
    for verdict in ("✓ holds", "✗ fails", "! error", "– unchecked"):
        assert verdict in text
    assert "There is no result yet" in text
    assert "inf" in text  # the counterexample


def test_both_verdicts_are_shown_where_they_differ(known, store):
    def made(verdict):
        report = gather(known.values(), ledger={}, store=store, progress=False)
        result = next(e.result for e in report.entries if e.claim.id == "mine.wrong")
        ledger = {"mine.wrong": {**result, "verdict": verdict, "sentence": "recorded then"}}
        return render(gather(known.values(), ledger=ledger, store=store, progress=False))

    assert "contradicts the ledger" not in made("fails")
    page = made("holds")
    assert "contradicts the ledger" in page
    assert "recorded then" in page


def test_many_readings_become_a_list(known, tmp_path):
    def made(sentence):
        result = book.recorded()["fedrep.lemma1"] | {"sentence": sentence}
        report = gather(
            [known["mine.bound"]], ledger={"mine.bound": result}, store=tmp_path, progress=False
        )
        return render(report).count("<li>")

    navigation = made("short")
    reading = "first reading (a; b): holds, by a measured value that is long enough; at most 2"
    assert made("; ".join([reading] * 4)) == navigation + 4
    assert made("short: yes; shorter: no; shortest: no") == navigation
    pieces = ["no reading of all these pieces has any name of its own"] * 9
    assert made("; ".join(pieces)) == navigation


def test_nothing_at_all(tmp_path):
    page = render(gather([], ledger={}, store=tmp_path, progress=False))
    assert Page(page).all("article") == []

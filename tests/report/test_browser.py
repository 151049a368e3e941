"""The page in a browser: filters, anchors, themes, paper, a phone's width."""

import os
import shutil
import time
from pathlib import Path

import pytest

from linrep.claims import claims
from linrep.claims import ledger as book
from linrep.claims.counts import kinds
from linrep.claims.order import in_order
from linrep.report import gather, render
from tests.report.test_page import Page

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
from selenium.common.exceptions import WebDriverException  # noqa: E402

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
DRIVER = shutil.which("chromedriver")
FIGURES = Path(__file__).parents[2] / "figures"
AXE = os.environ.get("AXE")  # axe.min.js, of the npm package axe-core
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (BROWSER and DRIVER), reason="Chromium or its driver is not installed"),
]
QUIET = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage", "--hide-scrollbars",
)  # fmt: skip


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    profile = tmp_path_factory.mktemp("profile")
    for argument in (*QUIET, f"--user-data-dir={profile}"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    try:
        driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    except WebDriverException as error:
        pytest.skip(
            f"the browser does not start: {(error.msg or 'no reason given').splitlines()[0]}"
        )
    driver.set_script_timeout(60)
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """Write a page of all claims as the ledger has them."""
    folder = tmp_path_factory.mktemp("page")
    report = gather(
        claims().values(), ledger=book.recorded(), store=folder / "none", book=book.PATH,
        figures=FIGURES if FIGURES.is_dir() else None, progress=False,
    )  # fmt: skip
    path = folder / "report.html"
    path.write_text(render(report), encoding="utf-8")
    return path.as_uri()


@pytest.fixture
def browse(driver, address):
    """Return a function that opens the page; afterwards the console must be without complaints."""

    def open_page(hash="", *, width=1280, scheme="light", media="", url=address):
        driver.get("about:blank")  # another hash alone would not load the page anew
        driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": False},
        )
        preference = {"name": "prefers-color-scheme", "value": scheme}
        driver.execute_cdp_cmd(
            "Emulation.setEmulatedMedia", {"media": media, "features": [preference]}
        )
        driver.get(url + hash)
        return driver

    yield open_page
    assert [entry for entry in driver.get_log("browser") if entry["level"] == "SEVERE"] == []


def eventually(condition):
    """Wait for what the page does after an event; a busy machine may take its time."""
    end = time.monotonic() + 20.0
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
    assert condition()


def find(page, selector):
    return page.find_element("css selector", selector)


def shown(page):
    return [
        claim.get_attribute("id")
        for claim in page.find_elements("css selector", ".claim:not([hidden])")
    ]


def choose(page, name, value):
    find(page, f"#filters [name={name}] option[value='{value}']").click()


def expected(**wanted):
    """Return the ids of the ledger's entries of a verdict and a strength, and perhaps a paper."""
    entries = book.recorded()
    return [
        item.id
        for item in in_order(claims().values())
        if all(
            value == {"paper": item.paper, "form": form(item), **vars(entries[item.id])}[key]
            for key, value in wanted.items()
        )
    ]


def form(item):
    return kinds([item])[item.id]


def test_nothing_is_asked_of_the_network(browse, driver):
    driver.get_log("performance")
    browse()
    asked = [
        entry["message"]
        for entry in driver.get_log("performance")
        if '"Network.requestWillBeSent"' in entry["message"]
    ]
    assert asked
    assert not [message for message in asked if '"url":"http' in message]


def test_all_claims_are_there_and_closed(browse):
    page = browse()
    assert shown(page) == [item.id for item in in_order(claims().values())]
    assert find(page, "#shown").text == f"{len(claims())} claims"
    assert page.find_elements("css selector", ".claim details[open]") == []


def test_filters_narrow_and_the_address_keeps_them(browse):
    page = browse()
    choose(page, "verdict", "fails")
    assert shown(page) == expected(verdict="fails")
    choose(page, "paper", "flute")
    some = expected(verdict="fails", paper="flute")
    assert shown(page) == some
    assert find(page, "#shown").text == f"{len(some)} of {len(claims())} claims"
    assert len(page.find_elements("css selector", ".paper:not([hidden])")) == 1
    hash = page.execute_script("return location.hash")
    again = browse(hash)
    assert shown(again) == some
    assert find(again, "[name=verdict]").get_attribute("value") == "fails"
    find(again, "#filters [type=reset]").click()
    assert len(shown(again)) == len(claims())
    assert again.execute_script("return location.hash") == ""


def test_a_number_of_the_table_shows_its_claims(browse):
    page = browse()
    find(page, ".counts a[href='#paper=perfedsi&form=corrected']").click()
    eventually(lambda: shown(page) == expected(paper="perfedsi", form="corrected"))
    find(page, ".counts a[href='#paper=perfedsi&form=printed&verdict=fails']").click()
    eventually(lambda: shown(page) == expected(paper="perfedsi", form="printed", verdict="fails"))
    choose(page, "strength", "exact")
    found = expected(paper="perfedsi", verdict="fails", strength="exact")
    assert 0 < len(found) < len(expected(paper="perfedsi", verdict="fails"))
    assert shown(page) == found


def test_search_and_nothing_found(browse):
    page = browse()
    find(page, "#filters [name=q]").send_keys("lemma1 FEDREP")
    assert "fedrep.lemma1" in shown(page)
    assert len(shown(page)) < len(claims())
    assert not find(page, "#nothing").is_displayed()
    found = shown(page)
    find(page, "#filters [name=q]").send_keys(" zzz")
    assert shown(page) == found  # with most of the words, and it says so
    assert "Nothing has all of these words" in find(page, "#nothing").text
    assert search(page, "zzz") == []
    nothing = find(page, "#nothing")
    assert nothing.is_displayed()
    assert "Nothing matches" in nothing.text
    assert "linrep new claim" in nothing.text
    assert find(page, "#shown").get_attribute("aria-live") == "polite"
    find(page, "#reset").click()
    assert len(shown(page)) == len(claims())


def search(page, text):
    field = find(page, "#filters [name=q]")
    field.clear()
    field.send_keys(text)
    return shown(page)


def test_a_phrase_is_found_as_a_whole(browse):
    """How large are pFL^MF's constants at p = 0.1?"""
    page = browse()
    found = search(page, "p = 0.1")
    assert "pflmf.corollary2.constants" in found
    assert len(found) < 20
    assert {id.partition(".")[0] for id in found} == {"pflmf"}
    card = page.find_element("id", "theorem-pflmf.corollary2")
    assert card.is_displayed()
    facts = book.recorded()["pflmf.corollary2.constants"].facts
    at = [f"{f.value:.4g}" for f in facts if f.setting == {"p": 0.1} and f.unit]
    text = " ".join(card.text.split())
    assert all(f"{bound} {attained}" in text for bound, attained in (at[:2], at[2:]))
    assert search(page, "p=0.1") == found
    # All words in any order are a second choice, which is offered.
    more = find(page, "#more")
    assert more.is_displayed()
    find(page, "#wider").click()
    assert set(shown(page)) > set(found)
    assert not more.is_displayed()
    assert search(page, "0.1 p =") != found
    assert "pflmf.theorem1" in search(page, "p^2 is lost")


def first(page):
    return [link.text for link in page.find_elements("css selector", "#best a")]


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Figure 3", "FedRep, Figure 3"),
        ("draw Figure 3", "FedRep, Figure 3"),
        ("which theorem of FedRep fails and why", "FedRep, Theorem 2"),
        ("how large are pFL^MF's constants at p = 0.1?", "pFLMF, Corollary 2"),
    ],
)
def test_what_answers_a_question_comes_first(browse, question, answer):
    page = browse()
    search(page, question)
    assert first(page)[0] == answer
    assert find(page, "#shown").text.endswith(" found")


def test_headings_and_numbers_of_findings_are_found(browse):
    page = browse()
    search(page, "how large are the constants")
    assert page.find_element("id", "constants-pflmf.corollary2.constants").is_displayed()
    search(page, "626")
    assert page.find_element("id", "finding-pflmf.theorem1").is_displayed()
    search(page, "how to read this page")
    page.find_element("css selector", "#guide-reading a").click()
    eventually(lambda: page.find_element("css selector", "#legend dl").is_displayed())


@pytest.mark.parametrize("question", ["check a bound of mine", "bound of my own", "my own bound"])
def test_how_a_bound_of_ones_own_is_checked_is_found(browse, question):
    page = browse()
    search(page, question)
    guide = page.find_element("id", "guide-own")
    assert guide.is_displayed()
    assert "linrep new claim" in guide.text
    assert search(page, "") == shown(browse())
    assert not page.find_element("id", "guide-own").is_displayed()


@pytest.mark.skipif(not FIGURES.is_dir(), reason="the figures are in the repository")
def test_figures_are_searched_and_unfolded_while_one_searches(browse):
    page = browse()
    figure = page.find_element("id", "figure-fedrep.figure3")
    assert not figure.is_displayed()
    search(page, "FedRep, Figure 3")
    assert figure.is_displayed()
    assert not page.find_element("id", "figure-flute.figure3").is_displayed()
    find(page, "#filters [type=reset]").click()
    assert not figure.is_displayed()
    choose(page, "verdict", "fails")
    assert not find(page, "#figures").is_displayed()


@pytest.mark.parametrize("width", [390, 1280])
def test_the_first_click_after_a_search_counts(browse, width):
    """Leaving the search box must not move what is being clicked."""
    page = browse(width=width)
    search(page, "p = 0.1")
    link = find(page, "#best a")
    wanted = link.get_attribute("href").partition("#")[2]
    link.click()
    eventually(lambda: page.execute_script("return location.hash") == f"#{wanted}")


def test_what_was_cleared_can_be_searched_again(browse):
    page = browse()
    found = search(page, "lemma 5")
    box = find(page, "#filters [name=q]")
    box.send_keys("\ue00c")  # Escape
    eventually(lambda: len(shown(page)) > len(found))
    paste = "arguments[0].dispatchEvent(new Event('input', {bubbles: true}))"
    page.execute_script(f"arguments[0].value = 'lemma 5'; {paste}", box)
    eventually(lambda: shown(page) == found)


def test_on_a_phone_typing_leads_to_what_was_found(browse):
    page = browse(width=390)
    search(page, "lemma 5")
    top = "return document.getElementById('claims').getBoundingClientRect().top"
    eventually(lambda: 0 <= page.execute_script(top) < 400)
    page.execute_script("scrollTo(0, document.documentElement.scrollHeight)")
    search(page, "lemma 6")
    eventually(lambda: 0 <= page.execute_script(top) < 400)


def test_numbers_and_letters_are_found_whole(browse):
    page = browse()
    first = search(page, "Theorem 1")
    assert "pflmf.theorem1" in first
    assert not [id for id in first if id.startswith("flute.lemmaA1")]
    letter = len(search(page, "q"))
    assert letter < 0.4 * len(claims())
    assert search(page, "gradi")
    assert not search(page, "radien")


def test_a_theorem_leads_to_the_table_of_its_constants(browse):
    page = browse("#theorem-pflmf.theorem1")
    find(
        page, "[id='theorem-pflmf.theorem1'] a[href='#constants-pflmf.corollary2.constants']"
    ).click()
    table = find(page, "[id='theorem-pflmf.corollary2'] .constants table")
    eventually(lambda: 0 < table.rect["y"] - page.execute_script("return scrollY") < 800)


def test_on_a_phone_nothing_of_the_filters_is_hidden_and_formulas_stay_in_their_box(browse):
    page = browse(width=390)
    form = find(page, "#filters")
    for field in form.find_elements("css selector", "input, select, button"):
        box = field.rect
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390
    assert form.size["height"] < 90
    # No word of a choice is cut off: the field is as wide as its word and the arrow.
    for field in form.find_elements("css selector", "select"):
        width = page.execute_script(
            "const text = document.createElement('span');"
            "text.style.font = getComputedStyle(arguments[0]).font;"
            "text.textContent = arguments[0].selectedOptions[0].text; document.body.append(text);"
            "const { width } = text.getBoundingClientRect(); text.remove(); return width;",
            field,
        )
        assert width + 22 <= field.size["width"]
    formula = find(page, "[id='theorem-pflmf.theorem1'] .formula")
    pieces = formula.find_elements("css selector", "math")
    right = formula.rect["x"] + formula.rect["width"]
    assert all(piece.rect["x"] + piece.rect["width"] <= right for piece in pieces)
    # A line begins with its relation.
    starts = [piece.text.lstrip()[:1] for piece in pieces]
    assert "≤" in starts


def test_an_open_line_says_all_and_says_it_once(browse):
    page = browse("#pflmf.corollary2.constants", width=390)
    row = page.find_element("id", "pflmf.corollary2.constants")
    name = row.find_element("css selector", ".name")
    assert "whose constants are not printed" in name.text
    assert page.execute_script(
        "return arguments[0].scrollWidth <= arguments[0].clientWidth + 1", name
    )
    assert row.text.count("have the constants that Theorem 1 gives") == 1


def test_a_claims_address_opens_it_even_where_a_filter_hides_it(browse):
    page = browse("#fedrep.theorem1")
    claim = page.find_element("id", "fedrep.theorem1")
    assert claim.find_element("css selector", "details").get_attribute("open")
    focused = "return document.activeElement.closest('.claim')"
    eventually(lambda: page.execute_script(focused) == claim)
    assert 0 < claim.rect["y"] - page.execute_script("return scrollY") < 150  # under the filter
    formula = claim.find_element("css selector", ".formula math")
    assert formula.size["height"] > 10
    choose(page, "paper", "pflmf")
    assert not claim.is_displayed()
    page.execute_script("location.hash = '#fedrep.lemma1'; location.hash = '#fedrep.theorem1'")
    eventually(claim.is_displayed)


def test_a_word_of_a_summary_opens_by_keyboard(browse):
    page = browse("#verdict=vacuous")
    first = find(page, ".claim:not([hidden]) > details")
    assert not first.get_attribute("open")
    first.find_element("css selector", "summary").send_keys("\ue007")
    assert first.get_attribute("open")
    first.find_element("css selector", "summary").send_keys("\ue00c")  # Esc
    assert not first.get_attribute("open")


def test_commands_are_copied(browse):
    page = browse("#fedrep.lemma1")
    row = page.find_element("id", "fedrep.lemma1")
    row.find_element("css selector", ".raw:has(.command) > summary").click()
    button = row.find_element("css selector", ".command .copy")
    assert button.is_displayed()
    assert "linrep verify fedrep.lemma1" in button.get_attribute("data-copy")
    page.execute_script(
        "Object.defineProperty(navigator, 'clipboard',"
        " {value: {writeText: async (text) => { window.copied = text; }}})"
    )
    button.click()
    eventually(lambda: page.execute_script("return window.copied"))
    assert page.execute_script("return window.copied") == button.get_attribute("data-copy")


def ground(page):
    return page.execute_script("return getComputedStyle(document.body).backgroundColor")


def test_light_dark_and_by_choice(browse):
    assert ground(browse()) == "rgb(255, 255, 255)"
    page = browse(scheme="dark")
    dark = ground(page)
    assert dark == "rgb(20, 24, 28)"
    find(page, "#theme").click()
    assert "light" in find(page, "#theme").text
    assert ground(page) == "rgb(255, 255, 255)"
    page = browse(scheme="dark")  # the choice is remembered
    assert ground(page) == "rgb(255, 255, 255)"
    find(page, "#theme").click()
    find(page, "#theme").click()
    assert ground(page) == dark


CONTRAST = """
const parse = (text) => text.match(/[\\d.]+/g).map(Number);
const light = (color) => parse(color).slice(0, 3).map((v) => v / 255)
  .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
  .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
const behind = (element) => {
  for (let e = element; e; e = e.parentElement) {
    const color = getComputedStyle(e).backgroundColor;
    if (parse(color)[3] !== 0) return color;
  }
};
const low = new Set();
for (const element of document.querySelectorAll("body *")) {
  const own = [...element.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
  const hint = element.placeholder ? "::placeholder" : null;
  if (!(own || hint) || !element.checkVisibility()) continue;
  const [a, b] = [light(getComputedStyle(element, hint).color), light(behind(element))];
  const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  if (ratio < 4.5) low.add(element.tagName + "." + element.className + " " + ratio.toFixed(2));
}
return [...low];
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast(browse, scheme):
    """WCAG AA: 4.5 for text."""
    page = browse(scheme=scheme)
    page.execute_script("document.querySelectorAll('details').forEach((e) => { e.open = true; })")
    assert page.execute_script(CONTRAST) == []


@pytest.mark.parametrize("width", [360, 768, 1280])
def test_the_page_is_never_wider_than_the_window(browse, width):
    page = browse(width=width)
    page.execute_script("document.querySelectorAll('details').forEach((e) => { e.open = true; })")
    assert page.execute_script("return document.documentElement.scrollWidth") <= width
    # No text is cut off, except where one can scroll.
    wide = page.execute_script(
        "return [...document.querySelectorAll('p, li, h2, h3, h4, dl, summary, form')]"
        ".filter((e) => e.checkVisibility() && e.scrollWidth > e.clientWidth + 1"
        " && getComputedStyle(e).overflowX === 'visible' && e.clientWidth > 1)"
        ".map((e) => e.textContent.slice(0, 80))"
    )
    assert wide == []


def test_on_paper_everything_is_open_and_no_control_is_left(browse):
    page = browse(media="print", scheme="dark")
    page.execute_script("dispatchEvent(new Event('beforeprint'))")
    assert page.find_elements("css selector", "details:not([open], .raw, .legend)") == []
    assert ground(page) == "rgb(255, 255, 255)"
    for selector in ("#filters", "#theme", ".copy"):
        assert not find(page, selector).is_displayed()
    assert find(page, ".claim .sentence").is_displayed()
    page.execute_script("dispatchEvent(new Event('afterprint'))")
    assert page.find_elements("css selector", ".claim details[open]") == []


def test_without_scripts_all_is_there_and_no_control(browse, driver):
    driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        page = browse()
        assert len(page.find_elements("css selector", ".claim")) == len(claims())
        assert not find(page, "#filters").is_displayed()
        assert not find(page, "#theme").is_displayed()
        summary = find(page, ".claim summary")
        summary.click()
        assert find(page, ".claim .formula").is_displayed()
    finally:
        driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def test_evidence_is_drawn(browse, known, store, figures, tmp_path):
    path = tmp_path / "own.html"
    report = gather(known.values(), ledger={}, store=store, figures=figures, progress=False)
    path.write_text(render(report), encoding="utf-8")
    assert len(Page(path.read_text(encoding="utf-8")).all("img")) == 3
    page = browse("#mine.bound", url=path.as_uri(), width=360)
    loaded = page.execute_script(
        "for (const image of document.images) image.loading = 'eager';"
        "return Promise.all([...document.images].map((i) => i.decode().then(() => i.naturalWidth)))"
    )
    assert min(loaded) > 100
    assert page.execute_script("return document.documentElement.scrollWidth") <= 360


def test_the_page_is_short_and_light(browse, address):
    assert Path(address.removeprefix("file://")).stat().st_size < 3e6
    page = browse()
    assert page.execute_script("return document.documentElement.scrollHeight") < 12_000


def test_keys_go_from_line_to_line(browse):
    page = browse("#paper=pflmf&verdict=vacuous")
    find(page, "body").send_keys("/")
    search = find(page, "#filters [name=q]")
    assert page.switch_to.active_element == search
    search.send_keys("\ue015")  # down
    first = page.switch_to.active_element
    first.send_keys("j")
    second = page.switch_to.active_element
    assert second.tag_name == "summary"
    assert second != first
    second.send_keys("k")
    assert page.switch_to.active_element == first


def test_the_filter_stays_in_sight(browse):
    page = browse()
    page.execute_script("scrollTo(0, 6000)")
    place = page.execute_script("return document.getElementById('filters').getBoundingClientRect()")
    assert place["top"] == 0


@pytest.mark.skipif(not AXE, reason="AXE names no axe.min.js: npm install axe-core")
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (360, "dark")])
def test_axe_finds_nothing_serious(browse, width, scheme):
    page = browse(width=width, scheme=scheme)
    page.set_script_timeout(300)
    page.execute_script(Path(AXE).read_text("utf-8"))
    found = page.execute_async_script(
        "const done = arguments[0]; axe.run().then((all) => done("
        "all.violations.map(({id, impact, nodes}) => [id, impact, nodes.length])))"
    )
    assert [each for each in found if each[1] in ("serious", "critical")] == []

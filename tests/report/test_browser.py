"""The page in a browser: filters, anchors, themes, paper, a phone's width."""

import os
import shutil
import time
from pathlib import Path

import pytest

from linrep.claims import claims
from linrep.claims import ledger as book
from linrep.claims.contents import in_order, kinds
from linrep.report import gather, render

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


def test_words_are_searched_for(browse):
    page = browse()
    search = find(page, "#filters [name=q]")
    search.send_keys("lemma 5")
    found = shown(page)
    assert "fedrep.lemma5" in found
    assert len(found) < len(claims()) / 2
    search.send_keys(" no such words")
    eventually(lambda: shown(page) == [])
    assert page.find_elements("css selector", ".paper:not([hidden])") == []


def test_a_claims_address_opens_it_even_where_a_filter_hides_it(browse):
    page = browse("#verdict=holds")
    page.execute_script("location.hash = 'fedrep.theorem2'")
    eventually(lambda: find(page, "[id='fedrep.theorem2'] > details").get_attribute("open"))
    assert len(shown(page)) == len(claims())
    formula = find(page, "[id='fedrep.theorem2'] .formula")
    assert formula.is_displayed()


@pytest.mark.parametrize("width", [1280, 360])
def test_the_page_is_never_wider_than_the_window(browse, width):
    page = browse("#fedrep.theorem2", width=width)
    assert page.execute_script("return document.documentElement.scrollWidth") <= width


def test_on_paper_everything_is_open_and_no_control_is_left(browse):
    page = browse(media="print", scheme="dark")
    page.execute_script("dispatchEvent(new Event('beforeprint'))")
    assert page.find_elements("css selector", ".item > details:not([open])") == []
    assert not find(page, "#filters").is_displayed()
    page.execute_script("dispatchEvent(new Event('afterprint'))")
    assert page.find_elements("css selector", ".claim > details[open]") == []


def test_without_scripts_all_is_there_and_no_control(browse, driver):
    driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        page = browse()
        assert len(page.find_elements("css selector", ".claim")) == len(claims())
        assert not find(page, "#filters").is_displayed()
        find(page, ".claim summary").click()
        assert find(page, ".claim .formula").is_displayed()
    finally:
        driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def test_evidence_is_drawn(browse, known, store, figures, tmp_path):
    path = tmp_path / "own.html"
    report = gather(known.values(), ledger={}, store=store, figures=figures, progress=False)
    path.write_text(render(report), encoding="utf-8")
    page = browse("#mine.bound", url=path.as_uri(), width=360)
    eventually(lambda: page.execute_script("return document.images.length") == 3)
    loaded = page.execute_script(
        "for (const image of document.images) image.loading = 'eager';"
        "return Promise.all([...document.images].map((i) => i.decode().then(() => i.naturalWidth)))"
    )
    assert min(loaded) > 100


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

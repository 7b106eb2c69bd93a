"""Fixtures that several files of tests use."""

import pytest
from hypothesis import settings

import command_line
import headcount
import pilot_files
import report_pages
from headcount.cli.app import main
from headcount.display.report import write_report
from headcount.support.workers import watching

# Examples that take long say little: the machine may be busy.
settings.register_profile("headcount", deadline=None)
settings.load_profile("headcount")


@pytest.fixture
def pilot(tmp_path):
    return command_line.write_npz(tmp_path)


@pytest.fixture
def run(capsys):
    def go(*argv):
        capsys.readouterr()
        code = main([str(word) for word in argv])
        out, err = capsys.readouterr()
        return code, out, err

    return go


@pytest.fixture
def answer(run):
    def go(*argv):
        code, out, err = run(*argv)
        assert (code, err) == (0, "")
        return out

    return go


@pytest.fixture
def refused(run):
    def go(*argv):
        code, out, err = run(*argv)
        assert code == 2
        assert out == ""
        assert err.startswith("headcount: error: ")
        assert err.count("\n") == 1
        assert err.endswith("\n")
        return err

    return go


@pytest.fixture
def told():
    """What a progress bar is told inside, in order."""
    reports = []
    with watching(lambda *report: reports.append(report)):
        yield reports


@pytest.fixture
def npz(tmp_path):
    return lambda **members: pilot_files.write_npz(tmp_path / "pilot.npz", **members)


@pytest.fixture
def npy(tmp_path):
    return lambda name, values: pilot_files.write_npy(tmp_path / name, values)


@pytest.fixture
def text(tmp_path):
    return lambda name, content: pilot_files.write(tmp_path / name, content)


@pytest.fixture
def parquet(tmp_path):
    return lambda **columns: pilot_files.write_parquet(tmp_path / "pilot.parquet", **columns)


# -- pictures --------------------------------------------------------------------------------------


@pytest.fixture
def closed_figures():
    yield
    from matplotlib import pyplot

    pyplot.close("all")


# -- reports ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser():
    if report_pages.CHROMIUM is None:
        pytest.fail("HEADCOUNT_REQUIRE_BROWSER=1, but there is no Chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as started:
        running = started.chromium.launch(
            executable_path=report_pages.CHROMIUM, args=["--no-sandbox"]
        )
        yield running
        running.close()


@pytest.fixture(scope="session")
def result():
    with pytest.warns(headcount.ExtrapolationWarning):
        return headcount.forecast(
            report_pages.make_pilot(),
            classes=[200, 5000],
            method="probit-normal",
            n_jobs=1,
            other_methods=True,
        )


@pytest.fixture(scope="session")
def top_five():
    with pytest.warns(headcount.ExtrapolationWarning):
        return headcount.forecast(
            report_pages.make_pilot(),
            classes=[200, 5000],
            metric="top-5",
            method="probit-normal",
            n_jobs=1,
            other_methods=True,
        )


@pytest.fixture(scope="session")
def top_pages():
    """A comparison and back-tests of the chance to be among the best five."""
    systems = {"old": report_pages.make_pilot(0.8), "new": report_pages.make_pilot()}
    with pytest.warns(headcount.ExtrapolationWarning):
        comparison = headcount.compare(
            systems, [200], metric="top-5", method="probit-normal", n_jobs=1
        )
    backtest = headcount.backtest(systems["new"], metric="top-5", method="probit-normal", repeats=3)
    return comparison, [backtest]


@pytest.fixture(scope="session")
def pages(result, top_five, top_pages, tmp_path_factory):
    """One page of each kind, of accuracy and of the chance to be among the best five."""
    folder = tmp_path_factory.mktemp("pages")
    result.save(folder / "forecast.html")
    with pytest.warns(headcount.ExtrapolationWarning):
        found = headcount.compare(
            {report_pages.SCRIPT: report_pages.make_pilot(), "=old": report_pages.make_pilot(0.8)},
            [200],
            method="no-change",
            n_jobs=1,
        )
    write_report(folder / "comparison.html", found)
    pilot = report_pages.make_pilot()
    tests = [headcount.backtest(pilot, method=m, repeats=3) for m in ("no-change", "pooled-fmr")]
    write_report(folder / "backtest.html", tests, pilot=pilot)
    top_five.save(folder / "top-forecast.html")
    write_report(folder / "top-comparison.html", top_pages[0])
    write_report(folder / "top-backtest.html", top_pages[1], pilot=pilot)
    return folder


@pytest.fixture(scope="module")
def tabs(browser):
    """Pages that are open, by kind and colours, and what went wrong in any of them."""
    opened, trouble = {}, []

    def tab(name, scheme):
        if (name, scheme) not in opened:
            page = browser.new_page(viewport={"width": 1000, "height": 900}, color_scheme=scheme)
            page.on("console", lambda said: trouble.append(f"{said.type}: {said.text}"))
            page.on("pageerror", lambda error: trouble.append(str(error)))
            page.on("dialog", lambda dialog: (trouble.append(dialog.message), dialog.dismiss()))
            page.on("request", lambda asked: trouble.append(f"asks for {asked.url}"))
            opened[name, scheme] = page
        return opened[name, scheme]

    return tab, trouble


@pytest.fixture
def visit(tabs, pages):
    """Open a page; whatever it says on the console, asks for or pops up is an error."""
    tab, trouble = tabs

    def go(name="forecast", scheme="light", fresh=True):
        page, address = tab(name, scheme), (pages / f"{name}.html").as_uri()
        if fresh or page.url != address:
            page.goto(address)
            page.wait_for_selector(".drawing svg")
            trouble.remove(f"asks for {address}")
        return page

    yield go
    asked = [what for what in trouble if not what.startswith("asks for blob:")]
    trouble.clear()
    assert asked == []

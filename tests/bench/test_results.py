"""What all benchmarks share: records, how they are printed and stored, and the command."""

import json
import math
import os
import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from linrep.bench import distance, results, timing
from linrep.cli import bench as command
from linrep.cli import main

TIMES = {"linrep": np.array([1.0, 2.0, 4.0]), "NumPy": np.array([10.0, 40.0, 20.0])}
WRONG = timing.make_records("A table", "a case", TIMES, agree=False, difference=1e-3)


@pytest.fixture(autouse=True)
def idle(monkeypatch):
    """Let the machine be idle, as results are stored of no other."""
    monkeypatch.setattr(os, "getloadavg", lambda: (0.0, 0.0, 0.0), raising=False)


@pytest.fixture
def quick(monkeypatch):
    """Let every benchmark be a made-up one, and the start of the command quick."""
    notes = {"linrep": "a note"}
    records = timing.make_records("A table", "a case", TIMES, agree=True, notes=notes)
    monkeypatch.setattr(results, "run", made_up(records))
    return records


def made_up(records):
    """Return what runs a benchmark of one case, with these records."""

    def run(name, echo, keep=None):
        if keep is not None:
            keep(records)
        return records

    return run


def call(*words):
    return CliRunner().invoke(main, ["bench", *words])


def test_ratios_are_those_of_times_taken_right_after_one_another():
    first, second = timing.make_records("A table", "a case", TIMES, {"linrep": 1, "NumPy": 10})
    assert (first.seconds, first.low, first.high) == (2.0, 1.5, 3.0)
    assert (first.ratio, first.ratio_low, first.ratio_high) == (1.0, 1.0, 1.0)
    assert second.seconds == 2.0
    assert (second.ratio, second.ratio_low, second.ratio_high) == (1.0, 0.75, 1.5)


def test_results_that_differ_are_said_to_mean_nothing():
    assert all("1.0e-03: the times mean nothing" in record.line() for record in WRONG)


@pytest.mark.parametrize(
    ("seconds", "text"), [(2.0, "2 s"), (0.0123, "12.3 ms"), (4e-6, "4 µs"), (5.5e-10, "0.55 ns")]
)
def test_times_are_told_in_the_unit_that_suits_them(seconds, text):
    assert timing.duration(seconds) == text


def test_the_command_knows_the_benchmarks_there_are():
    modules = {path.stem for path in Path(results.__file__).parent.glob("[a-z]*.py")}
    assert set(results.NAMES) == modules - {"limits", "ratings", "results", "throughput", "timing"}
    assert command.NAMES == results.NAMES


def test_a_benchmark_prints_each_table_once_and_a_line_per_record(monkeypatch):
    lines = []
    monkeypatch.setattr(timing, "_SETTLE", 0.0)
    records = results.run("distance", lines.append, repetitions=2)
    assert [record.contender for record in records] == ["linrep", "SciPy"]
    assert all(0.0 < record.low <= record.seconds <= record.high for record in records)
    assert len(lines) == 1 + len(records)


def test_what_is_stored_says_all_and_of_which_machine(quick, tmp_path):
    done = call("gram", "imc", "--out", str(tmp_path / "new" / "folder"))
    assert done.exit_code == 0, done.output
    files = sorted((tmp_path / "new" / "folder").iterdir())
    assert [file.name for file in files] == ["gram.json", "imc.json"]
    stored = json.loads(files[0].read_text(encoding="utf-8"))
    assert stored["benchmark"] == "gram"
    (run,) = stored["runs"]
    assert [timing.Record(**record) for record in run["records"]] == quick
    assert {
        "linrep", "python", "numpy", "processor", "cores", "instructions", "BLAS", "BLAS threads",
        "load", "load after", "date",
    } <= set(run["machine"])  # fmt: skip
    assert re.match(r"\w+ [\d.]+ \w+", run["machine"]["BLAS"])


MACHINE = {
    "processor": "One", "cores": 2, "instructions": "znver4", "BLAS": "openblas 0.3 Haswell",
    "BLAS threads": 1, "load": [0.5, 9.0, 9.0], "date": "today",
}  # fmt: skip


def times(ratio):
    return timing.make_records("T", "c", {"linrep": np.ones(1), "NumPy": np.array([ratio])})


def test_machines_are_stored_beside_one_another(tmp_path):
    """The last first; one that was measured again, or did not say of which BLAS, is replaced."""
    unknown = {name: value for name, value in MACHINE.items() if name != "BLAS"}
    first = {"benchmark": "gram", "machine": unknown, "records": [vars(r) for r in times(9.0)]}
    path = tmp_path / "gram.json"
    path.write_text(json.dumps(first))
    assert [run["machine"] for run in results.runs(path)] == [unknown]
    other = MACHINE | {"BLAS": "openblas 0.3 SkylakeX"}
    for machine, ratio in ((MACHINE, 5.0), (other, 1.5), (MACHINE | {"date": "later"}, 4.0)):
        results.store(tmp_path, "gram", machine, times(ratio))
    stored = results.runs(path)
    assert [run["machine"]["BLAS"] for run in stored] == [MACHINE["BLAS"], other["BLAS"]]
    assert [run["records"][1]["ratio"] for run in stored] == [4.0, 1.5]
    assert results.ratios(stored)["T", "c", "NumPy"] == [4.0, 1.5]
    assert results.describe(other) == (
        "One, znver4, 2 cores, openblas 0.3 SkylakeX with 1 thread(s), today"
    )
    assert "a BLAS that was not recorded" in results.describe(unknown)


@pytest.mark.parametrize(
    ("loads", "found"),
    [
        ({"load": [2.0, 9.0, 9.0], "load after": [3.0, 9.0, 9.0]}, ""),
        ({"load": [2.1, 0.0, 0.0]}, "load 2.1 on 2 cores"),
        ({"load": [0.0, 0.0, 0.0], "load after": [3.1, 0.0, 0.0]}, "load after 3.1 on 2 cores"),
        ({"load": None}, ""),
    ],
)
def test_records_taken_while_others_were_at_work_are_in_no_range(loads, found):
    machine = MACHINE | loads
    assert results.busy(machine) == found
    stored = [{"machine": machine, "records": [vars(record) for record in times(2.0)]}]
    assert bool(results.ratios(stored)) == (not found)


def test_work_of_others_that_began_meanwhile_is_said(monkeypatch, tmp_path, quick):
    loads = iter([(0.0,) * 3] * 3)
    monkeypatch.setattr(os, "getloadavg", lambda: next(loads, (99.0,) * 3), raising=False)
    done = call("gram", "--out", str(tmp_path))
    assert done.exit_code == 0
    assert "gram: others were at work (load after 99 on" in done.stderr


def test_a_file_that_is_no_benchmark_is_refused_before_anything_runs(monkeypatch, tmp_path):
    monkeypatch.setattr(results, "run", None)
    for content in ("", "[1]", '{"runs": [1]}', '{"runs": 1}', "{}", "null"):
        (tmp_path / "gram.json").write_text(content)
        done = call("gram", "--out", str(tmp_path))
        assert done.exit_code == 2
        assert "gram.json holds no benchmark" in done.output
        assert (tmp_path / "gram.json").read_text() == content


def test_what_was_measured_before_an_interruption_is_kept(monkeypatch, tmp_path):
    case = timing.make_records("A table", "a case", TIMES)

    def interrupted():
        yield case
        raise KeyboardInterrupt

    monkeypatch.setattr(distance, "measure", interrupted)
    assert call("distance", "--out", str(tmp_path)).exit_code != 0
    stored = json.loads((tmp_path / "distance.json").read_text(encoding="utf-8"))
    assert len(stored["runs"][0]["records"]) == len(case)


def test_numbers_that_json_has_not_are_not_stored(tmp_path):
    record = timing.make_records("A table", "a case", {"linrep": np.array([math.nan])})
    with pytest.raises(ValueError, match="not JSON compliant"):
        results.store(tmp_path, "gram", {}, record)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("torch", [True, False])
def test_without_a_name_all_that_can_run_do(quick, monkeypatch, torch):
    if torch:
        pytest.importorskip("torch")
    asked = []
    monkeypatch.setattr(results, "run", lambda name, *_: asked.append(name) or quick)
    monkeypatch.setattr(command, "installed", lambda name: torch)
    done = call()
    assert done.exit_code == 0, done.output
    assert asked == [name for name in results.NAMES if torch or name != "deep"]
    assert ("deep is left out: it needs torch" in done.output) == (not torch)


def test_the_status_tells_whether_results_agree(quick, monkeypatch, tmp_path):
    assert call("gram").exit_code == 0
    monkeypatch.setattr(results, "run", made_up(WRONG))
    assert call("gram", "--out", str(tmp_path)).exit_code == 1
    assert (tmp_path / "gram.json").exists()


@pytest.mark.parametrize(
    ("words", "refusal"),
    [
        (["nothing"], "nothing"),
        (["gram", "--sizes", "S"], "--sizes needs the benchmark fedrep"),
        (["--sizes", "S"], "--sizes needs the benchmark fedrep"),
        (["fedrep", "--sizes", "S,Q"], "'Q'"),
    ],
)
def test_bad_words_are_refused_before_anything_runs(monkeypatch, words, refusal):
    monkeypatch.setattr(results, "run", None)
    done = call(*words)
    assert done.exit_code == 2
    assert refusal in done.output


def test_nothing_is_stored_of_a_busy_machine(monkeypatch, tmp_path, quick):
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    monkeypatch.setattr(os, "getloadavg", lambda: (2.1, 0.0, 0.0), raising=False)
    done = call("gram", "--out", str(tmp_path / "new"))
    assert done.exit_code == 2
    assert "--out: the load is 2.10, more than half of the 4 cores" in done.output
    assert not (tmp_path / "new").exists()
    assert call("gram").exit_code == 0  # it may be looked at
    monkeypatch.setattr(os, "getloadavg", lambda: (2.0, 9.0, 9.0), raising=False)
    assert call("gram", "--out", str(tmp_path / "new")).exit_code == 0


def test_a_folder_that_cannot_be_is_refused_before_anything_runs(monkeypatch, tmp_path):
    monkeypatch.setattr(results, "run", None)
    (tmp_path / "file").touch()
    for path in (tmp_path / "file", tmp_path / "file" / "folder"):
        done = call("gram", "--out", str(path))
        assert done.exit_code == 2
        assert "Traceback" not in done.output


FOLDER = Path(__file__).parents[2] / "docs" / "benchmarks"
RECORDED = sorted(FOLDER.glob("*.json"))


def test_what_the_page_shows_was_measured_on_idle_machines():
    busy = {
        path.stem: [results.busy(run["machine"]) for run in results.runs(path)] for path in RECORDED
    }
    assert busy
    assert {name: reasons for name, reasons in busy.items() if any(reasons)} == {}


def test_what_is_compared_with_numpy_names_its_blas():
    for name in ("fedrep", "flute", "gram", "imc", "pflmf", "startup"):
        for run in results.runs(FOLDER / f"{name}.json"):
            assert run["machine"]["BLAS"], name

"""What a stored result depends on."""

from itertools import count

from linrep.claims import ledger, load_file, verify
from linrep.claims.pages import pages
from linrep.sweeps import open_run
from linrep.sweeps.workers import WorkerEnded
from tests.tools import interrupted


def test_an_edit_of_any_file_beside_a_claims_own_is_another_state(tmp_path, monkeypatch):
    """Claims of a paper import from each other's files, whatever their names."""
    own = tmp_path / "own.py"
    own.write_text("x = 1")
    monkeypatch.setattr(verify.inspect, "getsourcefile", lambda check: str(own))
    monkeypatch.setattr(verify, "is_own", lambda item: True)  # else files are read once a process
    place = verify._directory("fedrep.lemma1", "quick", 0, tmp_path)
    for name in ("_shared.py", "sibling.py"):
        (tmp_path / name).write_text("y = 1")
        before, place = place, verify._directory("fedrep.lemma1", "quick", 0, tmp_path)
        assert place != before
    assert verify._directory("fedrep.lemma1", "quick", 0, tmp_path) == place


def test_a_run_that_ended_before_it_began_is_begun_again(tmp_path):
    place = verify._directory("fedrep.lemma1", "quick", 0, tmp_path)
    place.mkdir(parents=True)
    assert verify._place(place) == (place, None)
    (place / "sweep.json").write_text("{")  # damaged: another one goes beside it
    assert verify._place(place) == (place.with_name(f"{place.name}-2"), None)


def test_what_ended_its_process_is_stored_beside_an_older_result(tmp_path):
    def fine(cell, rng, *, budget):
        return {"measurements": "[]", "cpu_seconds": 0.0}

    name = "fedrep.lemma1"
    place = verify._directory(name, "quick", 0, tmp_path)
    verify._run(fine, name, "quick", 0, place)
    assert verify._place(place) == (place, "ok")
    given_up = verify.give_up(name, "quick", 0, tmp_path, WorkerEnded("ended"))
    assert verify._place(place) == (given_up, "failed")
    assert open_run(place).read()["status"].tolist() == ["ok"]
    assert "WorkerEnded" in open_run(given_up).read()["exception"].iloc[0]


def test_numbers_that_are_none_can_be_recorded(tmp_path):
    """A fact may be the ratio of what no run reached."""
    file = tmp_path / "mine.py"
    file.write_text(
        "from linrep.claims import Cases, Fact, statement\n"
        "@statement('mine.it', plain='It.', negative_control={'factor': -1.0})\n"
        "def it(budget, rng, *, factor=1.0):\n"
        "    yield Cases([(0.0, factor, {})])\n"
        "    yield Fact('never', float('inf'))\n"
        "    yield Fact('nothing', float('nan'))\n"
    )
    known = load_file(file)
    results = verify.verify(known.values(), store=tmp_path / "store", file=file)
    book = tmp_path / "ledger.json"
    ledger.record(results, known, book)
    facts = {fact.name: fact.value for fact in ledger.recorded(book)["mine.it"].facts}
    assert facts == {"never": "inf", "nothing": "nan"}
    assert "- never: inf" in pages(ledger.recorded(book))["ledger/mine.md"]


def test_wherever_an_interrupt_comes_it_is_said_how_many_claims_are_stored(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(
        "from linrep.claims import Cases, statement\n"
        + "".join(
            f"@statement('mine.{name}', plain='It.', negative_control={{'factor': -1.0}})\n"
            f"def {name}(budget, rng, *, factor=1.0):\n"
            "    yield Cases([(0.0, factor, {})])\n"
            for name in "ab"
        )
    )
    known = load_file(file).values()
    said, expected, outcomes = [], [], []
    for place in count():
        store = tmp_path / str(place)
        try:
            with interrupted(place, verify.verify) as sent:
                verify.verify(known, store=store, file=file, progress=False)
        except verify.Interrupted as stopped:
            said.append(str(stopped))
            outcomes.append(len(list(store.glob("*/*/parts/[!.]*.parquet"))))
            at = "after the last" if outcomes[-1] == 2 else f"at {outcomes[-1]}"
            expected.append(f"{store}: stopped {at} of 2 claims")
        except KeyboardInterrupt:  # before it has begun
            assert not store.exists()
        if not sent:
            break
    assert said == expected
    assert outcomes == sorted(outcomes)
    assert {*outcomes} == {0, 1, 2}

"""Rows carry the machine that computed them; runs and merges name the machines of mixed rows."""

import json
from concurrent.futures import Executor, ThreadPoolExecutor

import pytest

from linrep.sweeps import chunks as chunks_module
from linrep.sweeps import run
from linrep.sweeps.machines import describe, differences, mixture, this_machine
from tests.sweeps.support import toy


def test_parts_say_what_computed_them(tmp_path):
    stored = run(toy(), tmp_path / "run")
    assert stored.machines() == {this_machine(): 6}
    found = json.loads(this_machine())
    assert found.keys() == {"mode", "processor", "instructions", "BLAS", "versions"}
    assert all({"kernel", "threads"} <= each.keys() for each in found["BLAS"])
    assert {"numpy", "scipy", "numba", "python", "linrep"} <= found["versions"].keys()


def test_processes_say_what_computed_their_rows(tmp_path):
    threads, processes = (
        run(toy(), tmp_path / str(each), processes=each) for each in (False, True)
    )
    (one,), (other,) = threads.machines(), processes.machines()
    assert [line for line in differences(one, other) if not line.startswith("BLAS")] == []
    assert all(each["threads"] == 1 for each in json.loads(other)["BLAS"])


def with_versions(machine, **versions):
    found = json.loads(machine)
    return json.dumps({**found, "versions": found["versions"] | versions}, sort_keys=True)


def with_blas(machine, version):
    found = json.loads(machine)
    blas = [each | {"version": version} for each in found["BLAS"]]
    return json.dumps({**found, "BLAS": blas}, sort_keys=True)


def test_no_two_machines_have_equal_words():
    here = this_machine()
    machines = [here, "", with_versions(here, numpy="1.0"), with_versions(here, numba="1.0"),
                with_versions(here, python="4.0", numpy="1.0"), with_blas(here, "1.0")]  # fmt: skip
    for other in machines[1:]:
        assert describe(here, [here, other]) != describe(other, [here, other])
        assert describe(here, [here]) == describe(here)
    assert len({describe(each, machines) for each in machines}) == len(machines)
    assert "numpy 1.0" in describe(machines[2], machines[:3])
    assert "numba" not in describe(machines[2], machines[:3:2])


def test_a_mixture_is_said_by_its_names():
    here = with_versions(this_machine(), numpy="2.0")
    assert mixture([here]) == mixture([]) == mixture([here, here]) == ""
    assert mixture([here, with_versions(here, numpy="1.0")]) == "numpy 2.0 and 1.0"


class Elsewhere(Executor):
    """An executor whose workers might be anywhere."""

    def submit(self, *job):
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(*job)


@pytest.mark.parametrize("options", [{}, {"processes": True}, {"executor": Elsewhere()}])
def test_going_on_says_what_has_changed_before_it_does(tmp_path, capsys, monkeypatch, options):
    other = with_versions(this_machine(), numpy="1.0")
    with monkeypatch.context() as patched:
        patched.setattr(chunks_module, "this_machine", lambda: other)
        run(toy(), tmp_path / "run", shard=(1, 2))
    assert "digits" not in capsys.readouterr().err
    run(toy(), tmp_path / "run", **options)
    said = capsys.readouterr().err.splitlines()
    numpy = json.loads(this_machine())["versions"]["numpy"]
    assert len(said) == 1
    assert f"{tmp_path / 'run'}: what is stored was computed by another machine" in said[0]
    assert said[0].endswith(f"there and here: numpy: 1.0, {numpy}")
    run(toy(replicates=5), tmp_path / "run", extend=True, **options)  # like some of the rows
    run(toy(replicates=5), tmp_path / "run", **options)
    assert capsys.readouterr().err == ""

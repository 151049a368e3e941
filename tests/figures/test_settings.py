"""Sizes of figures: what can be chosen, and what is refused."""

from dataclasses import dataclass

from linrep.figures.sizes import Sizes, listed, size
from linrep.papers.fedrep import settings as fedrep
from tests.tools import complaint


@dataclass(frozen=True)
class Toy(Sizes):
    """Sizes of no figure."""

    n: tuple[int, ...] = size((10, 20), "Clients.", quick=5, most=3)
    d: int = size(4, "Dimension.")
    share: float = size(0.5, "Share.", above=0.0, maximum=1.0)
    kind: str = size("one", "Kind.", among=("one", "two"))

    def check(self):
        if self.d > min(self.n):
            raise ValueError(f"d must be at most n = {min(self.n)}, got {self.d}")


def test_values_are_those_of_the_default_kind():
    found = Toy().changed({"n": [7, 9.0], "d": 3.0, "share": 1, "kind": "two"})
    assert (found.n, found.d, found.share, found.kind) == ((7, 9), 3, 1.0, "two")
    assert [type(value) for value in (*found.n, found.d, found.share)] == [int, int, int, float]
    assert Toy().changed({"n": 6, "d": [2]}) == Toy(n=(6,), d=2)


def test_quick_sizes_and_what_differs():
    assert Toy().quick() == Toy(n=(5,))
    assert Toy().quick().standard
    assert not Toy(d=2).standard
    assert Toy(d=2).other_than(Toy()) == {"d": 2}
    assert Toy(n=[10, 20]).other_than(Toy()) == {}
    assert listed((1, 0.5)) == "1, 0.5"


def test_the_notebooks_options_are_for_its_n():
    with complaint(ValueError, "n must be one of 10, 100, 1000", "got 20"):
        fedrep.notebook(20, "GD-GD")
    for n, drawn in (((50, 100), "show these only"), ((50, 500), "are left out")):
        remark, _ = fedrep.Figure3(n=n).remarks()
        assert "only for n = 10, 100, 1000" in remark
        assert remark.endswith(f"as published {drawn}")


def test_ten_steps_of_the_notebook_move_the_representation_as_one_does():
    ten, one, exact = (
        fedrep.Figure3().options("published", 1000, name) for name in ("10GD-GD", "GD-GD", "FedRep")
    )
    assert ten["step_size"] == one["step_size"] == 1.0
    assert (ten["head_step_size"], ten["local_steps"]) == (0.25, 10)
    assert (exact["step_size"], exact["head_step_size"]) == (60.0, None)

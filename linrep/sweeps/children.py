"""Processes that replicates may end or block without harm to the sweep.

Each runs one chunk at a time and notes on a shared page which replicate it is at. If it ends, or
is at one for too long, that replicate is the failed one.
"""

from __future__ import annotations

import gc
import mmap
import os
import pickle
import queue
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from linrep.sweeps.chunks import NOWHERE, Chunk, failed_chunk, run_chunk
from linrep.sweeps.sealed import Sealed, unseal

_LENGTH = struct.Struct("<Q")
_PAGE = struct.Struct("<qd?")  # the replicate's place in its job, when it began, whether to stop
_STOP = _PAGE.size - 1
_SHORTEST_LOOK = 0.01  # seconds
_ENDED = "the worker processes have been ended"
#: How the names of those files begin.
ATTEMPT = ".attempt-"
_COMMAND = "import sys; sys.path[:] = {}; from linrep.sweeps.children import serve; serve()"


class Child:
    """A process for chunks, started when it is first needed and again after it has ended."""

    def __init__(self):
        self._process: subprocess.Popen[bytes] | None = None
        self._page: mmap.mmap | bytearray
        self._stopped = self._ended = False
        self._lock = threading.Lock()
        self._page = bytearray(_PAGE.size)
        self._page_file = ""

    def run(self, sealed: Sealed, timeout: float | None = None) -> Chunk:
        """Run a job as `run_chunk` does.

        Parameters
        ----------
        sealed : Sealed
        timeout : float, optional
            Seconds after which a replicate is given up.

        Returns
        -------
        Chunk
            Where a replicate has ended the process, or was given up: of it alone, as a failure.
        """
        with self._lock:  # or one may be started that nobody ends
            if self._ended:
                raise ChildProcessError(_ENDED)
            process = self._start()
        _PAGE.pack_into(self._page, 0, NOWHERE, time.monotonic(), self._stopped)
        done = threading.Event()
        given_up: list[tuple[int, float]] = []
        if timeout is not None:
            watch = (process, timeout, done, given_up)
            threading.Thread(target=self._watch, args=watch, daemon=True).start()
        try:
            _send(process.stdin, sealed)
            kind, answer = _receive(process.stdout)
        except (OSError, EOFError, ValueError):  # its pipes are closed, here or there
            kind = "ended"
        finally:
            done.set()
        if kind == "chunk":
            return answer
        if kind == "error":
            raise answer
        if self._ended:
            raise ChildProcessError(_ENDED)
        status = self._close(process)
        # The one that was given up, though the next may have begun before the process was ended.
        place, began = given_up[0] if given_up else _PAGE.unpack_from(self._page)[:2]
        if place == NOWHERE:
            raise ChildProcessError(f"a worker process {_how(status)} outside of any replicate")
        seconds = time.monotonic() - began
        reason = (
            f"TimeoutError: longer than {timeout:g} s"
            if given_up
            else (f"WorkerEnded: its process {_how(status)}")
        )
        return failed_chunk(unseal(sealed), place, reason, seconds)

    def stop(self) -> None:
        """Let it leave the rest of its chunk, and of those to come."""
        self._stopped = True
        self._page[_STOP] = 1

    def end(self) -> None:
        """End the process, whatever it does."""
        with self._lock:
            self._ended = True
            process = self._process
        if process is not None:
            process.kill()
            self._close(process)
        with suppress(OSError):
            os.unlink(self._page_file)  # where the process could not, having it open

    def _start(self):
        if self._process is None:
            file, self._page_file = tempfile.mkstemp(prefix="linrep-")
            with open(file, "rb+") as page:
                page.write(bytes(_PAGE.size))
                page.flush()
                self._page = mmap.mmap(page.fileno(), _PAGE.size)
            self._process = subprocess.Popen(
                [sys.executable, "-c", _COMMAND.format(sys.path), self._page_file],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                # Libraries that are loaded later, such as torch, ask these; workers are the cores.
                env=os.environ | {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"},
            )
        return self._process

    def _close(self, process):
        """Wait for the end of the process, and return its status."""
        self._process = None
        for pipe in (process.stdin, process.stdout):
            with suppress(OSError):  # what was on its way
                pipe.close()
        return process.wait()

    def _watch(self, process, timeout, done, given_up):
        while not done.wait(max(_SHORTEST_LOOK, min(timeout / 10.0, 0.2))):
            place, began, _ = _PAGE.unpack_from(self._page)
            if place != NOWHERE and time.monotonic() - began > timeout:
                given_up.append((place, began))
                process.kill()
                return


class Children:
    """As many of these processes as chunks are run at a time.

    Parameters
    ----------
    timeout : float or None
        Seconds after which a replicate is given up.
    """

    def __init__(self, timeout: float | None):
        self._timeout = timeout
        self._stopped = self._ended = False
        self._all: list[Child] = []
        self._idle: queue.LifoQueue[Child] = queue.LifoQueue()
        self._lock = threading.Lock()

    def run(self, sealed: Sealed) -> Chunk:
        """Run a job in one that has nothing to do."""
        try:
            child = self._idle.get_nowait()
        except queue.Empty:
            child = Child()
            with self._lock:
                self._all.append(child)
                if self._stopped:
                    child.stop()
                if self._ended:
                    child.end()
        try:
            return child.run(sealed, self._timeout)
        finally:
            self._idle.put(child)

    def stop(self) -> None:
        """Let all leave the rest of their chunks."""
        with self._lock:
            self._stopped = True
            for child in self._all:
                child.stop()

    def end(self) -> None:
        """End all, whatever they do."""
        with self._lock:
            self._ended = True
            for child in self._all:
                child.end()


_kept = threading.local()


def run_sealed(sealed: Sealed, sweep: str = "", number: int = 0) -> Chunk:
    """Run a job in this process, or `run_guarded` once one of its sweep has ended its process.

    While it runs there is a file, which a later attempt finds if this one does not come to an end:
    an executor that begins a job anew, such as Dask's, does not say that it has lost a worker.

    Parameters
    ----------
    sealed : Sealed
    sweep : str
        A name that no other call of `run` has; empty for no such file.
    number : int
        Of the job in the sweep.
    """
    job = unseal(sealed)
    if not sweep:
        return run_chunk(job)
    home = Path(job.scratch).parent
    folder = home if job.scratch and home.is_dir() else Path(tempfile.gettempdir())
    attempt, lost = (folder / f"{ATTEMPT}{sweep}-{which}" for which in (number, "lost"))
    with suppress(OSError):  # nothing can be written: as if no worker were lost
        try:
            attempt.touch(exist_ok=False)
        except FileExistsError:
            lost.touch()
    try:
        return run_guarded(sealed) if lost.exists() else run_chunk(job)
    finally:
        with suppress(OSError):
            attempt.unlink(missing_ok=True)


def run_guarded(sealed: Sealed, timeout: float | None = None) -> Chunk:
    """Run a job in a process of this thread's own, which is there until this process ends."""
    if not hasattr(_kept, "child"):
        _kept.child = Child()
    return _kept.child.run(sealed, timeout)


def serve() -> None:
    """Run the chunks that come by standard input, until it is closed."""
    jobs, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    with open(os.devnull) as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)  # what functions print is no answer
    # Ctrl-C and what batch systems send reach all processes; the parent alone decides.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    _be_the_first_to_go()
    gc.freeze()  # what has been imported stays, and need not be looked through again and again
    with open(sys.argv[1], "rb+") as file:
        page = mmap.mmap(file.fileno(), _PAGE.size)
    with suppress(OSError):
        os.unlink(sys.argv[1])
    received: queue.SimpleQueue[Sealed] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(jobs, received), daemon=True).start()

    def begin(place):
        # With the stop byte left as it is.
        struct.pack_into("<qd", page, 0, place, time.monotonic())

    while True:
        try:
            job = unseal(received.get())
            answer: tuple[str, Any] = ("chunk", run_chunk(job, lambda: page[_STOP] != 0, begin))
        except BaseException as error:
            answer = ("error", _portable(error))
        try:
            _send(answers, answer)
        except OSError:  # nobody is there any longer
            os._exit(1)


def _listen(jobs, received):
    """Hand on jobs; end the process, whatever it does, when its parent is gone."""
    with suppress(OSError, EOFError):
        while True:
            received.put(_receive(jobs))
    os._exit(1)


def _send(stream, item):
    content = pickle.dumps(item, protocol=pickle.HIGHEST_PROTOCOL)
    stream.write(_LENGTH.pack(len(content)))
    stream.write(content)
    stream.flush()


def _receive(stream):
    header = stream.read(_LENGTH.size)
    if len(header) < _LENGTH.size:
        raise EOFError
    (length,) = _LENGTH.unpack(header)
    content = stream.read(length)
    if len(content) < length:
        raise EOFError
    return pickle.loads(content)


def _portable(error):
    """Return an error that can be sent."""
    message = f"{type(error).__name__}: {error}"
    return ValueError(f"a worker process cannot run this function: {' '.join(message.split())}")


def _how(status):
    """Say how a process ended."""
    if status >= 0:
        return f"ended with exit status {status}"
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = f"signal {-status}"
    lack = ", as when memory runs out" if name == "SIGKILL" else ""
    return f"was ended by {name}{lack}"


def _be_the_first_to_go():
    """Where memory runs out, let the system end this process rather than the one that stores."""
    with suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")

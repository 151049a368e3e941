"""Worker processes that a job may end or block without harm to the others.

Each runs one job at a time, a chunk of replicates or a call, and notes on a shared page which
replicate it is at. If it ends, or is at one for too long, that replicate or call has failed.
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
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, Future, ThreadPoolExecutor, as_completed
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from linrep._lib import disregard
from linrep.sweeps.chunks import NOWHERE, Chunk, Job, failed_chunk, run_chunk
from linrep.sweeps.sealing import Sealed, seal, unseal

_LENGTH = struct.Struct("<Q")
_PAGE = struct.Struct("<qd?")  # the replicate's place in its job, when it began, whether to stop
_STOP = _PAGE.size - 1
_SHORTEST_LOOK = 0.01  # seconds
_ENDED = "the worker processes have been ended"
#: How the names of those files begin.
ATTEMPT = ".attempt-"
# Ctrl-C and what batch systems send reach all processes; the parent alone decides.
_COMMAND = """
import signal, sys
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, signal.SIG_IGN)
sys.path[:] = {path}
from linrep._lib import disregard
disregard.disregard({disregarded})
from linrep.sweeps import workers
workers.serve()
"""


class WorkerEnded(Exception):
    """A job has ended the process that it ran in, or was given up.

    Parameters
    ----------
    how : str
        How the process ended.
    place : int
        How many replicates of the job came before the one it was at.
    seconds : float
        How long it was at that one.
    timed_out : bool
        Whether it was given up.
    """

    def __init__(self, how: str, place: int = 0, seconds: float = 0.0, timed_out: bool = False):
        super().__init__(f"its process {how}")
        self.place, self.seconds, self.timed_out = place, seconds, timed_out


class _EndedOutside(ChildProcessError):
    """A process has ended, and no job was running in it."""


class WorkerProcess:
    """A process for jobs, started when it is first needed and again after it has ended."""

    def __init__(self):
        self._process: subprocess.Popen[bytes] | None = None
        self._page: mmap.mmap | bytearray
        self._stopped = self._ended = False
        self._lock = threading.Lock()
        self._page = bytearray(_PAGE.size)
        self._page_file = ""

    def run(self, sealed: Sealed, timeout: float | None = None) -> Chunk:
        """Run a job of replicates as `run_chunk` does.

        Where a replicate has ended the process, or has taken more than `timeout` seconds, the
        chunk is of it alone, as a failure.
        """
        try:
            return self.call(_run_sealed_chunk, sealed, timeout)
        except WorkerEnded as ended:
            late = f"TimeoutError: longer than {timeout:g} s" if ended.timed_out else None
            reason = late or f"WorkerEnded: {ended}"
            return failed_chunk(unseal(sealed), ended.place, reason, ended.seconds)

    def call(
        self, function: Callable[[Sealed], Any], sealed: Sealed, timeout: float | None = None
    ) -> Any:
        """Return what one of this module's functions makes of something sealed.

        A process that has ended before the job began is no fault of the job: another one is tried.
        """
        try:
            return self._call(function, sealed, timeout)
        except _EndedOutside:
            return self._call(function, sealed, timeout)

    def _call(self, function, sealed, timeout):
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
            _send(process.stdin, (function, sealed))
            kind, answer = _receive(process.stdout)
        except (OSError, EOFError, ValueError):  # its pipes are closed, here or there
            kind = "ended"
        finally:
            done.set()
        if kind == "result":
            return answer
        if kind == "error":
            raise answer
        if self._ended:
            raise ChildProcessError(_ENDED)
        how = _how(self._close(process))
        # The one that was given up, though the next may have begun before the process was ended.
        index, began = given_up[0] if given_up else _PAGE.unpack_from(self._page)[:2]
        if index == NOWHERE:
            raise _EndedOutside(f"a worker process {how} outside of any job")
        raise WorkerEnded(how, index, time.monotonic() - began, bool(given_up))

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
            command = _COMMAND.format(path=sys.path, disregarded=sorted(disregard.disregarded))
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", command, self._page_file],
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
            index, began, _ = _PAGE.unpack_from(self._page)
            if index != NOWHERE and time.monotonic() - began > timeout:
                given_up.append((index, began))
                process.kill()
                return


class WorkerPool(Executor):
    """Worker processes, each with a thread that hears what it says.

    A job that ends its process raises `WorkerEnded`, and the others go on; a replicate or call is
    given up after the seconds of the timeout.
    """

    def __init__(self, workers: int, timeout: float | None = None):
        self._timeout = timeout
        self._stopped = self._ended = False
        self._threads = ThreadPoolExecutor(workers)
        self._processes: list[WorkerProcess] = []
        self._idle: queue.LifoQueue[WorkerProcess] = queue.LifoQueue()
        self._lock = threading.Lock()

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Have a function called."""
        sealed = seal(partial(function, *args, **kwargs))
        return self._threads.submit(self._in_idle, WorkerProcess.call, _call_sealed, sealed)

    def submit_chunk(self, job: Job) -> Future[Chunk]:
        """Have the replicates of a job computed."""
        return self._threads.submit(self._in_idle, WorkerProcess.run, seal(job))

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the processes once the jobs that are running have come to an end, or not to wait.

        An interrupt meanwhile ends them at once.
        """
        try:
            self._threads.shutdown(wait, cancel_futures=cancel_futures)
        finally:
            self.end()

    def __exit__(self, *exception: object) -> None:
        """Wait for the jobs that are running, and leave the others."""
        self.shutdown(cancel_futures=True)

    def stop(self) -> None:
        """Let all leave the rest of their chunks."""
        with self._lock:
            self._stopped = True
            for process in self._processes:
                process.stop()

    def end(self) -> None:
        """End all processes, whatever they do."""
        with self._lock:
            self._ended = True
            for process in self._processes:
                process.end()
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _in_idle(self, run, *arguments):
        """Run something in a process that has nothing to do."""
        try:
            process = self._idle.get_nowait()
        except queue.Empty:
            process = WorkerProcess()
            with self._lock:
                self._processes.append(process)
                if self._stopped:
                    process.stop()
                if self._ended:
                    process.end()
        try:
            return run(process, *arguments, self._timeout)
        finally:
            self._idle.put(process)


def run_jobs(pool: Executor, jobs: Mapping[str, tuple]) -> Iterator[tuple[str, Any]]:
    """Yield names and what they return of jobs, each a function and its arguments, as they end.

    A job that ends its process has a :class:`WorkerEnded` in place of what it returns.
    """
    names = {pool.submit(*job): name for name, job in jobs.items()}
    for future in as_completed(names):
        error = future.exception()
        yield names[future], error if isinstance(error, WorkerEnded) else future.result()


_of_thread = threading.local()


def run_sealed(sealed: Sealed, sweep: str = "", number: int = 0) -> Chunk:
    """Run a job in this process, or `run_guarded` once one of its sweep has ended its process.

    While it runs there is a file, which a later attempt finds if this one does not come to an end:
    an executor that begins a job anew, such as Dask's, does not say that it has lost a worker. The
    sweep has a name that no other call of `run` has, or an empty one for no such file.
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
    if not hasattr(_of_thread, "process"):
        _of_thread.process = WorkerProcess()
    return _of_thread.process.run(sealed, timeout)


class _Page:
    """The shared page, as the worker process sees it."""

    def __init__(self, path: str):
        with open(path, "rb+") as file:
            self._page = mmap.mmap(file.fileno(), _PAGE.size)

    def begin(self, index: int) -> None:
        """Note that a replicate begins; the byte that says whether to stop is left as it is."""
        struct.pack_into("<qd", self._page, 0, index, time.monotonic())

    def stopped(self) -> bool:
        """Tell whether to leave the rest of a chunk."""
        return self._page[_STOP] != 0


_page: _Page


def _run_sealed_chunk(sealed):
    try:
        return run_chunk(unseal(sealed), _page.stopped, _page.begin)
    except BaseException as error:
        raise _portable(error) from None


def _call_sealed(sealed):
    function = unseal(sealed)
    _page.begin(0)
    try:
        return function()
    finally:
        _page.begin(NOWHERE)


def serve() -> None:
    """Run the jobs that come by standard input, until it is closed."""
    global _page
    jobs, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    with open(os.devnull) as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)  # what functions print is no answer
    _be_the_first_to_go()
    gc.freeze()  # what has been imported stays, and need not be looked through again and again
    _page = _Page(sys.argv[1])
    with suppress(OSError):
        os.unlink(sys.argv[1])
    received: queue.SimpleQueue[tuple[Callable, Sealed]] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(jobs, received), daemon=True).start()
    while True:
        function, sealed = received.get()
        try:
            answer = pickle.dumps(("result", function(sealed)), pickle.HIGHEST_PROTOCOL)
        except BaseException as error:
            answer = _pickled_error(error)
        try:
            _send_bytes(answers, answer)
        except OSError:  # nobody is there any longer
            os._exit(1)


def _listen(jobs, received):
    """Hand on jobs; end the process, whatever it does, when its parent is gone."""
    with suppress(OSError, EOFError):
        while True:
            received.put(_receive(jobs))
    os._exit(1)


def _send(stream, item):
    _send_bytes(stream, pickle.dumps(item, protocol=pickle.HIGHEST_PROTOCOL))


def _send_bytes(stream, content):
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


def _pickled_error(error):
    """Return an error as the other side can read it, and as another one where it cannot."""
    try:
        content = pickle.dumps(("error", error), pickle.HIGHEST_PROTOCOL)
        pickle.loads(content)  # some can be written and not be read
        return content
    except Exception:
        return pickle.dumps(("error", _portable(error)))


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

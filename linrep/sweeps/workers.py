"""Worker processes that a job may end or block without harm to the others.

Each runs one job at a time, a chunk of replicates or a call. A chunk that ends its process, or
takes too long, runs again replicate by replicate: those that do so again have failed.
"""

from __future__ import annotations

import gc
import os
import pickle
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, Future, ThreadPoolExecutor, as_completed
from contextlib import suppress
from functools import partial
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from linrep._lib import disregard
from linrep.sweeps.chunks import Chunk, Job, failed_chunk, joined, opened, run_chunk, too_long
from linrep.sweeps.targets import Sealed, seal, unseal

_BESIDE = 1.0  # seconds that a job may take beside its replicates, to make a table of their rows
_ENDED = "the worker processes have been ended"
#: How the names of the files begin by which a worker of others finds that one before was lost.
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
    """A job has ended the process that it ran in, after so many seconds, or was given up."""

    def __init__(self, how: str, seconds: float = 0.0, given_up: bool = False):
        super().__init__(f"its process {how}")
        self.seconds, self.given_up = seconds, given_up


class _EndedOutside(ChildProcessError):
    """A process has ended, and no job was running in it."""


class WorkerProcess:
    """A process for jobs, started when it is first needed and again after it has ended."""

    def __init__(self):
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe: Connection
        self._stopped = self._ended = False
        self._starting, self._sending = threading.Lock(), threading.Lock()

    def run(self, job: Job) -> Chunk:
        """Run a job, sealed, as `run_chunk` does; what cannot be brought to an end has failed."""
        limit = None if job.timeout is None else job.seconds + job.timeout + _BESIDE
        try:
            return self.call(job, limit)
        except WorkerEnded as ended:
            if sum(map(len, job.segments)) == 1:
                reason = too_long(job) if ended.given_up else f"WorkerEnded: {ended}"
                return failed_chunk(job, reason, ended.seconds)
        chunks: list[Chunk] = []
        for one in job.one_by_one():
            chunks.append(self.run(one))
            if self._stopped or sum(chunk.seconds for chunk in chunks) > job.seconds:
                break
        return joined(chunks)

    def call(self, item: Job | Sealed, limit: float | None = None) -> Any:
        """Return what a job or a call comes to, unless it takes longer than so many seconds.

        A process that has ended before it began is no fault of the job: another one is tried.
        """
        try:
            return self._call(item, limit)
        except _EndedOutside:
            return self._call(item, limit)

    def _call(self, item, limit):
        with self._starting:  # or one may be started that nobody ends
            if self._ended:
                raise ChildProcessError(_ENDED)
            process, pipe = self._start()
        began = None
        try:
            self._send(item)
            kind, answer = pipe.recv()
            if kind == "begun":
                began = time.monotonic()
                if pipe.poll(limit):
                    kind, answer = pipe.recv()
        except (OSError, EOFError):  # the pipe is closed, here or there
            kind = "ended"
        if kind == "result":
            return answer
        if kind == "error":
            raise answer
        if kind == "begun":
            process.kill()
        how = _how(self._close(process))
        if self._ended:
            raise ChildProcessError(_ENDED)
        if began is None:
            raise _EndedOutside(f"a worker process {how} outside of any job")
        raise WorkerEnded(how, time.monotonic() - began, kind == "begun")

    def stop(self) -> None:
        """Let it leave the rest of its chunk, and of those to come."""
        self._stopped = True
        if self._process is not None:
            with suppress(OSError):
                self._send(None)

    def end(self) -> None:
        """End the process, whatever it does."""
        with self._starting:
            self._ended = True
            process = self._process
        if process is not None:
            process.kill()
            self._close(process)

    def _start(self):
        if self._process is None:
            self._pipe, theirs = Pipe()
            command = _COMMAND.format(path=sys.path, disregarded=sorted(disregard.disregarded))
            with theirs:
                self._process = subprocess.Popen(
                    [sys.executable, "-P", "-c", command, str(theirs.fileno())],
                    stdin=subprocess.DEVNULL,
                    stdout=2,  # what functions print is no result
                    pass_fds=[theirs.fileno()],
                    # Libraries that are loaded later, such as torch, ask these; workers are the
                    # cores.
                    env=os.environ | {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"},
                )
            if self._stopped:
                self._send(None)
        return self._process, self._pipe

    def _send(self, item):
        with self._sending:
            self._pipe.send(item)

    def _close(self, process):
        """Wait for the end of the process, and return its status."""
        self._process = None
        self._pipe.close()
        return process.wait()


class WorkerPool(ThreadPoolExecutor):
    """Worker processes, each with a thread that hears what it says.

    A job that ends its process raises `WorkerEnded`, and the others go on.
    """

    def __init__(self, workers: int):
        super().__init__(workers)
        self._processes = [WorkerProcess() for _ in range(workers)]
        self._idle: queue.LifoQueue[WorkerProcess] = queue.LifoQueue()
        for process in self._processes:
            self._idle.put(process)

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Have a function called."""
        sealed = seal(partial(function, *args, **kwargs))
        return super().submit(self._in_idle, WorkerProcess.call, sealed)

    def submit_chunk(self, job: Job) -> Future[Chunk]:
        """Have the replicates of a job computed, which is sealed."""
        return super().submit(self._in_idle, WorkerProcess.run, job)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the processes once the jobs that are running have come to an end, or not to wait.

        An interrupt meanwhile ends them at once.
        """
        try:
            super().shutdown(wait, cancel_futures=cancel_futures)
        finally:
            self.end()

    def __exit__(self, *exception: object) -> None:
        """Wait for the jobs that are running, and leave the others."""
        self.shutdown(cancel_futures=True)

    def stop(self) -> None:
        """Let all leave the rest of their chunks."""
        for process in self._processes:
            process.stop()

    def end(self) -> None:
        """End all processes, whatever they do."""
        for process in self._processes:
            process.end()
        super().shutdown(wait=False, cancel_futures=True)

    def _in_idle(self, run, item):
        """Run something in a process that has nothing to do."""
        process = self._idle.get()
        try:
            return run(process, item)
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


def run_sealed(job: Job, sweep: str, number: int) -> Chunk:
    """Run a sealed job in this process, or in another once one of its sweep has ended its process.

    While it runs there is a file, which a later attempt finds if this one does not come to an end:
    an executor that begins a job anew, such as Dask's, does not say that it has lost a worker. The
    sweep has a name that no other call of `run` has.
    """
    home = Path(job.scratch).parent
    folder = home if job.scratch and home.is_dir() else Path(tempfile.gettempdir())
    attempt, lost = (folder / f"{ATTEMPT}{sweep}-{which}" for which in (number, "lost"))
    with suppress(OSError):  # nothing can be written: as if no worker were lost
        try:
            attempt.touch(exist_ok=False)
        except FileExistsError:
            lost.touch()
    try:
        return run_guarded(job) if lost.exists() else run_chunk(opened(job))
    finally:
        with suppress(OSError):
            attempt.unlink(missing_ok=True)


def run_guarded(job: Job) -> Chunk:
    """Run a sealed job in a process of this thread's own, which is there until this one ends."""
    if not hasattr(_of_thread, "process"):
        _of_thread.process = WorkerProcess()
    return _of_thread.process.run(job)


def serve() -> None:
    """Run the jobs that come through a pipe, until it is closed."""
    pipe: Connection = Connection(int(sys.argv[1]))
    _be_the_first_to_go()
    gc.freeze()  # what has been imported stays, and need not be looked through again and again
    received: queue.SimpleQueue[Job | Sealed] = queue.SimpleQueue()
    stopped = threading.Event()
    threading.Thread(target=_listen, args=(pipe, received, stopped), daemon=True).start()
    while True:
        content = _answer(pipe, received.get(), stopped)
        try:
            pipe.send_bytes(content)
        except OSError:  # nobody is there any longer
            os._exit(1)


def _answer(pipe, item, stopped):
    """Return what a job or a call comes to, as the other side can read it."""
    try:
        if isinstance(item, Sealed):
            function = unseal(item)
        else:
            function = partial(run_chunk, opened(item), stopped.is_set)
        pipe.send(("begun", None))
        return pickle.dumps(("result", function()), pickle.HIGHEST_PROTOCOL)
    except BaseException as error:
        if isinstance(item, Sealed):
            with suppress(Exception):
                content = pickle.dumps(("error", error))
                pickle.loads(content)  # some can be written and not be read
                return content
        text = " ".join(f"{type(error).__name__}: {error}".split())
        error = ValueError(f"a worker process cannot run this function: {text}")
        return pickle.dumps(("error", error))


def _listen(pipe, received, stopped):
    """Hand on jobs; end the process, whatever it does, when its parent is gone."""
    with suppress(OSError, EOFError):
        while True:
            item = pipe.recv()
            if item is None:
                stopped.set()
            else:
                received.put(item)
    os._exit(1)


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

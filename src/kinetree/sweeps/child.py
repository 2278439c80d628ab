"""A case in a process of its own, which can be ended: what never ends, in compiled code too, hits its limit.

A worker keeps one such process and gives it one case after the other, until one takes too long.
"""

from __future__ import annotations

import atexit
import os
import pickle
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import CancelledError
from typing import IO, Any, NamedTuple

from kinetree.sweeps.outcome import ERROR, TIMEOUT, CaseOutcome, Order, Refused, cut

Work = Callable[[Order], "list[CaseOutcome] | Refused"]
_local = threading.local()
_NEVER = threading.Event()
ALL: list[Child] = []
PROGRAM = "from kinetree.sweeps import case, child; child.serve(case.work_here)"
START = 120.0  # s that the start of the process, with all imports, may take


def in_child(order: Order) -> list[CaseOutcome] | Refused:
    """The cases of an order, each in a child process, ended after ``order.timeout`` s."""
    found: list[CaseOutcome] = []
    size = len(order.cases) if _is_block(order) else 1
    for k in range(0, len(order.cases), size):
        few = order._replace(cases=order.cases[k : k + size], values=order.values[k : k + size], timeout=None)
        limit = None if order.timeout is None else order.timeout * size
        answer = _child().ask(few, limit)
        if isinstance(answer, Lost) and not answer.late and not _closing().is_set():
            answer = _child().ask(few, limit)  # killed, perhaps, by someone from outside
        if _closing().is_set():
            raise CancelledError
        if isinstance(answer, Lost):
            stated = f"took longer than the limit of {order.timeout or 0:g} s"
            stated = stated if answer.late else f"its process crashed twice, with exit code {answer.code}"
            status = TIMEOUT if answer.late else ERROR
            found += [CaseOutcome(case, status, stated, {}, {}, order.timeout or 0.0) for case in few.cases]
        elif isinstance(answer, Refused):
            return answer
        else:
            found += answer
    return found


def _is_block(order: Order) -> bool:
    return '"lanes": true' in order.text


class Lost(NamedTuple):
    """A process that gave no answer: because it was too late, or by itself."""

    late: bool
    code: int


class Child:
    """The process; it speaks in pickled messages, each after its length."""

    def __init__(self) -> None:
        command = [sys.executable, "-c", PROGRAM]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.ready, self.closing = False, _closing()
        ALL.append(self)
        atexit.register(self.end)

    def ask(self, order: Order, limit: float | None) -> Any:
        """The answer, or that there will be none: then the process is gone."""
        assert self.process.stdin is not None and self.process.stdout is not None
        if not self.ready and isinstance(lost := self._heard(START), Lost):
            return lost._replace(late=False)
        self.ready = True
        try:
            send(self.process.stdin, order)
        except BrokenPipeError:
            self.end()
            return Lost(False, self.process.returncode)
        return self._heard(limit)

    def _heard(self, limit: float | None) -> Any:
        late = threading.Event()

        def stop() -> None:
            late.set()
            self.process.kill()

        timer = threading.Timer(limit if limit is not None else threading.TIMEOUT_MAX, stop)
        if limit is not None:
            timer.start()
        try:
            assert self.process.stdout is not None
            answer = received(self.process.stdout)
        finally:
            timer.cancel()
        if answer is None:
            self.end()
            return Lost(late.is_set(), self.process.returncode)
        return answer

    def end(self) -> None:
        """End the process."""
        atexit.unregister(self.end)
        if self in ALL:
            ALL.remove(self)
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()
        if getattr(_local, "child", None) is self:
            del _local.child


def join_pool(closing: threading.Event) -> None:
    """Let this thread start no process once the pool that it belongs to is closing."""
    _local.closing = closing


def _closing() -> threading.Event:
    """The event of the pool of this thread; one that no one sets if there is no pool."""
    found: threading.Event = getattr(_local, "closing", _NEVER)
    return found


def _child() -> Child:
    if _closing().is_set():
        raise CancelledError
    if not hasattr(_local, "child"):
        _local.child = Child()
    child: Child = _local.child
    if _closing().is_set():  # the pool may not have seen it
        child.end()
        raise CancelledError
    return child


def send(pipe: IO[bytes], message: Any) -> None:
    """Write a message."""
    content = pickle.dumps(message)
    pipe.write(struct.pack("<Q", len(content)) + content)
    pipe.flush()


def received(pipe: IO[bytes]) -> Any:
    """Read a message; None if there is none any more."""
    head = pipe.read(8)
    if len(head) < 8:
        return None
    content = pipe.read(struct.unpack("<Q", head)[0])
    return pickle.loads(content)


def serve(work: Work) -> None:
    """Do the work of orders until the input ends; what cases print goes to standard error."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that waits
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    answers, sys.stdout = sys.stdout.buffer, sys.stderr
    send(answers, "ready")
    while True:
        order = received(sys.stdin.buffer)
        if order is None:
            return
        send(answers, _worked(work, order))


def _worked(work: Work, order: Order) -> list[CaseOutcome] | Refused:
    """The outcomes of an order; an error that no case caught is the message of all of them."""
    try:
        return work(order)
    except Exception as error:
        stated = cut(f"{type(error).__name__}: {error}")
        return [CaseOutcome(case, ERROR, stated, {}, {}, 0.0) for case in order.cases]


def _end_with(parent: int) -> None:
    """End this process once its parent has gone, in whatever it is busy with."""
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)

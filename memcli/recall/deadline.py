"""Work with a deadline, done in threads that are abandoned when the time is over."""

from collections.abc import Callable
from queue import Empty, SimpleQueue
from threading import Thread
from time import monotonic
from typing import Generic, TypeVar

from ..errors import MemError

T = TypeVar("T")


class Race(Generic[T]):
    """Several attempts at one answer; the first to arrive counts, and nobody waits past the deadline.

    A thread cannot be ended. Who leaves one busy should leave the process without waiting for it.
    """

    def __init__(self, deadline: float) -> None:
        """Take the time of the monotonic clock, in seconds, at which all waiting ends."""
        self.deadline = deadline
        self.failures: tuple[str, ...] = ()
        self._threads: list[Thread] = []
        self._running = 0
        self._arrived: SimpleQueue[tuple[T | None, str]] = SimpleQueue()

    @property
    def is_busy(self) -> bool:
        """Return whether a thread still works."""
        return any(thread.is_alive() for thread in self._threads)

    def enter(self, work: Callable[[], T | None]) -> None:
        """Start another attempt."""

        def run() -> None:
            try:
                self._arrived.put((work(), ""))
            except MemError as error:
                self._arrived.put((None, str(error)))
            except Exception as error:  # a thread has nobody to raise it to
                self._arrived.put((None, f"{type(error).__name__}: {error}"))

        thread = Thread(target=run, daemon=True)
        self._threads.append(thread)
        self._running += 1
        thread.start()

    def first(self, seconds: float | None = None) -> T | None:
        """Return the first answer within `seconds` and the deadline; None where all failed or none came in time."""
        end = self.deadline if seconds is None else min(self.deadline, monotonic() + seconds)
        while self._running:
            try:
                answer, failure = self._arrived.get(timeout=max(end - monotonic(), 0.0))
            except Empty:
                return None
            self._running -= 1
            if answer is not None:
                return answer
            if failure:
                self.failures = (*self.failures, failure)
        return None

    def settled(self) -> None:
        """Wait for the attempt started last, at most until the deadline."""
        self._threads[-1].join(max(self.deadline - monotonic(), 0.0))

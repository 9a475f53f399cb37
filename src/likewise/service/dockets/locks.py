"""A fair lock: threads take it in the order in which they asked.

Python's own locks let the thread that has just released one take it again; under load others
would wait for seconds.
"""

from __future__ import annotations

import threading
from collections import deque


class FairLock:
    """A reentrant lock that is handed on in the order of asking.

    >>> lock = FairLock()
    >>> with lock, lock:
    ...     lock.held
    True
    """

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._waiting: deque[tuple[int, threading.Lock]] = deque()
        self._owner: int | None = None
        self._depth = 0

    @property
    def held(self) -> bool:
        """Tell if this thread holds it."""
        return self._owner == threading.get_ident()

    def __enter__(self) -> FairLock:
        me = threading.get_ident()
        with self._guard:
            if self._owner in (None, me):
                self._owner, self._depth = me, self._depth + 1
                return self
            turn = threading.Lock()
            turn.acquire()
            self._waiting.append((me, turn))
        try:
            turn.acquire()
        except BaseException:
            # Interrupted while waiting: the lock must not be handed to a thread that has gone.
            self._give_up(me, turn)
            raise
        return self

    def _give_up(self, me: int, turn: threading.Lock) -> None:
        with self._guard:
            if (me, turn) in self._waiting:
                self._waiting.remove((me, turn))
                return
        self.__exit__()

    def __exit__(self, *_: object) -> None:
        with self._guard:
            self._depth -= 1
            if self._depth:
                return
            if self._waiting:
                self._owner, turn = self._waiting.popleft()
                self._depth = 1
                turn.release()
            else:
                self._owner = None

"""Values that hold within a block, such as who acts, or the language in use."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Generic, TypeVar

T = TypeVar("T")
V = TypeVar("V")
W = TypeVar("W")


class Scoped(Generic[V]):
    """A value that holds within a block, such as the actor or the language in use."""

    def __init__(self, name: str, default: V) -> None:
        self._value = ContextVar(name, default=default)

    def get(self) -> V:
        return self._value.get()

    @contextmanager
    def within(self, value: V) -> Iterator[None]:
        before = self._value.set(value)
        try:
            yield
        finally:
            self._value.reset(before)

    def during(self, value: V, task: Callable[[W], T]) -> Callable[[W], T]:
        """Return a task that runs with the value, in whatever thread it is called."""

        def act(worker: W) -> T:
            with self.within(value):
                return task(worker)

        return act

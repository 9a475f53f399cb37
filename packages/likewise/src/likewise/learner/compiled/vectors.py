"""Registers: vectors of integers that compiled code keeps where the processor adds and compares.

A register here holds 128 bytes: 64 numbers of 16 bits, 32 of 32, 16 of 64. The compiler maps it to
the processor's, such as two of 512 bits or four of 256. They are explicit, since the compiler does
not find out that a best, a second best and a place can stay in registers over a long loop.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cache
from threading import Lock
from typing import Any, TypeVar, cast

from likewise.errors import SlowEngine, missing

try:
    from llvmlite import ir
    from numba import config, extending, njit, types
except ImportError as error:
    raise missing("The compiled engine", "numba", "fast", error) from error


_Function = TypeVar("_Function", bound=Callable[..., Any])
_warned: list[str] = []


def compiled(function: _Function) -> _Function:
    """Compile and keep the result on disk; numpy's division allows loops to be vectorised.

    Without ``fastmath`` every operation is as written, so every bit is the same.
    """
    options = {"nogil": True, "error_model": "numpy"}
    try:
        return cast(_Function, njit(cache=True, **options)(function))
    except RuntimeError as error:
        # numba finds no folder that it can write: everything works, and is compiled at every start.
        if "cannot cache" not in str(error):
            raise
        if not _warned:
            _warned.append(str(error))
            warnings.warn(
                "Compiled code cannot be kept: neither the package's folder nor the user's cache "
                "folder can be written. Every start compiles anew, which takes some seconds. Name "
                "a folder that can be written in NUMBA_CACHE_DIR.",
                SlowEngine,
                stacklevel=2,
            )
        return cast(_Function, njit(**options)(function))


def built_in(function: Callable[..., Any]) -> Any:
    """An operation of compiled code in the compiler's own language."""
    return extending.intrinsic(function)


def threads() -> int:
    """The number of threads: the processors of this process, or ``NUMBA_NUM_THREADS``.

    If games are played side by side, each process has its share.
    """
    return int(config.NUMBA_NUM_THREADS)


REGISTER_BYTES = 128


class Register(types.Type):  # type: ignore[misc] # numba has no types
    """A vector of integers as long as a register."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype
        super().__init__(name=f"Register({dtype})")


@extending.register_model(Register)
class _RegisterModel(extending.models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _vector(kind.dtype))


def _vector(dtype: Any) -> Any:
    return ir.VectorType(ir.IntType(dtype.bitwidth), REGISTER_BYTES * 8 // dtype.bitwidth)


def _place(context: Any, builder: Any, kind: Any, table: Any, row: Any) -> Any:
    """A pointer to a row of a C-ordered table that is a register wide."""
    data = context.make_array(kind)(context, builder, table).data
    vectors = builder.bitcast(data, _vector(kind.dtype).as_pointer())
    return builder.gep(vectors, [row])


@built_in
def load(_: Any, table: Any, row: Any) -> Any:  # noqa: ARG001
    """A row of a table that is a register wide."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = _place(context, builder, signature.args[0], *arguments)
        return builder.load(place, align=table.dtype.bitwidth // 8)

    return Register(table.dtype)(table, types.intp), generate


@built_in
def store(_: Any, table: Any, row: Any, register: Any) -> Any:  # noqa: ARG001
    """Write a row of a table that is a register wide."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = _place(context, builder, signature.args[0], arguments[0], arguments[1])
        builder.store(arguments[2], place, align=table.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(table, types.intp, register), generate


@built_in
def store_short(_: Any, table: Any, row: Any, register: Any) -> Any:  # noqa: ARG001
    """Write the numbers of a register as 16 bits each, into a table with as many columns."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        short = ir.VectorType(ir.IntType(16), _vector(register.dtype).count)
        place = builder.gep(builder.bitcast(data, short.as_pointer()), [arguments[1]])
        builder.store(builder.trunc(arguments[2], short), place, align=2)
        return context.get_dummy_value()

    return types.void(table, types.intp, register), generate


@built_in
def everywhere(_: Any, number: Any) -> Any:
    """The same number in every place."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
        vector = _vector(number)
        nothing = ir.Constant(vector, ir.Undefined)
        first = builder.insert_element(nothing, arguments[0], ir.Constant(ir.IntType(32), 0))
        zeros = ir.Constant(ir.VectorType(ir.IntType(32), vector.count), [0] * vector.count)
        return builder.shuffle_vector(first, nothing, zeros)

    return Register(number)(number), generate


def _instruction(write: Callable[..., Any]) -> Callable[..., Any]:
    """The code of an operation that the compiler's builder writes from its arguments alone."""
    return lambda context, builder, signature, arguments: write(builder, *arguments)  # noqa: ARG005


@built_in
def plus(_: Any, a: Any, b: Any) -> Any:
    """a + b; what does not fit wraps around."""
    return a(a, b), _instruction(ir.IRBuilder.add)


@built_in
def minus(_: Any, a: Any, b: Any) -> Any:
    """a − b; what does not fit wraps around."""
    return a(a, b), _instruction(ir.IRBuilder.sub)


@built_in
def if_less(_: Any, a: Any, b: Any, smaller: Any, otherwise: Any) -> Any:
    """``smaller`` where a < b, and ``otherwise`` elsewhere."""

    def select(builder: Any, a: Any, b: Any, smaller: Any, otherwise: Any) -> Any:
        return builder.select(builder.icmp_signed("<", a, b), smaller, otherwise)

    return smaller(a, b, smaller, otherwise), _instruction(select)


@built_in
def bits_of_float(_: Any, x: Any) -> Any:  # noqa: ARG001
    """The bits of a float, without a detour through memory, or no loop would be vectorised."""
    code = _instruction(lambda builder, x: builder.bitcast(x, ir.IntType(64)))
    return types.uint64(types.float64), code


@built_in
def float_of_bits(_: Any, x: Any) -> Any:  # noqa: ARG001
    """The float of these bits."""
    code = _instruction(lambda builder, x: builder.bitcast(x, ir.DoubleType()))
    return types.float64(types.uint64), code


@built_in
def fused(_: Any, a: Any, b: Any, c: Any) -> Any:  # noqa: ARG001
    """a·b + c, rounded once."""
    number = types.float64
    return number(number, number, number), _instruction(ir.IRBuilder.fma)


@cache
def _helpers() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads() - 1, thread_name_prefix="likewise-draws")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_helpers.cache_clear)


def pieces(total: int, most: int, multiple: int) -> list[tuple[int, int]]:
    """Pieces (start, size) of ``total``, as even as possible among the threads.

    Their sizes are at most ``most``, and all but the last are multiples of ``multiple``.
    """
    turns = max(1, -(-total // (most * threads())))
    even = -(-total // (turns * threads()))
    size = max(multiple, min(most, -(-even // multiple) * multiple))
    return [(start, min(size, total - start)) for start in range(0, total, size)]


def share_out(task: Callable[[int, int], None], parts: Sequence[tuple[int, int]]) -> None:
    """Do ``task(start, size)`` for every part, here and on the other threads.

    An exception of a task is raised here when all tasks have ended.
    """
    left, lock = iter(parts), Lock()

    def work() -> None:
        while True:
            with lock:
                part = next(left, None)
            if part is None:
                return
            task(*part)

    count = min(threads(), len(parts)) - 1
    helping = [_helpers().submit(work) for _ in range(count)]
    try:
        work()
    finally:
        # A job that has not begun has nothing left to do.
        begun = [job for job in helping if not job.cancel()]
        wait(begun)
    for job in begun:
        job.result()

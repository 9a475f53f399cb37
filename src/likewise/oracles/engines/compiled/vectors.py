"""Registers: vectors of integers that compiled code keeps where the processor adds and compares.

A register here holds 128 bytes: 64 numbers of 16 bits, 32 of 32, 16 of 64. The compiler makes of it
what the processor has, such as two registers of 512 bits or four of 256. Written out, since it
would not find by itself that a best, a second best and a place can stay in registers over a long
loop.
"""

from __future__ import annotations

from typing import Any

from likewise.oracles.engines.compiled.compilation import built_in, extending, ir, types

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


@built_in
def plus(_: Any, a: Any, b: Any) -> Any:
    """a + b; what does not fit wraps around."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
        return builder.add(*arguments)

    return a(a, b), generate


@built_in
def minus(_: Any, a: Any, b: Any) -> Any:
    """a − b; what does not fit wraps around."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
        return builder.sub(*arguments)

    return a(a, b), generate


@built_in
def if_less(_: Any, a: Any, b: Any, smaller: Any, otherwise: Any) -> Any:
    """``then`` where a < b, and ``other`` elsewhere."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
        less = builder.icmp_signed("<", arguments[0], arguments[1])
        return builder.select(less, arguments[2], arguments[3])

    return smaller(a, b, smaller, otherwise), generate


@built_in
def bits_of_float(_: Any, x: Any) -> Any:  # noqa: ARG001
    """The bits of a float, without a detour through memory, or no loop would be vectorised."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
        return builder.bitcast(arguments[0], ir.IntType(64))

    return types.uint64(types.float64), generate


@built_in
def float_of_bits(_: Any, x: Any) -> Any:  # noqa: ARG001
    """The float of these bits."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
        return builder.bitcast(arguments[0], ir.DoubleType())

    return types.float64(types.uint64), generate


@built_in
def fused(_: Any, a: Any, b: Any, c: Any) -> Any:  # noqa: ARG001
    """a·b + c, rounded once."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
        return builder.fma(*arguments)

    return types.float64(types.float64, types.float64, types.float64), generate

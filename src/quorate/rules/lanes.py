"""Many votes at a time: what a compiled loop over votes does with the machine's vectors.

Compilers find vectors in a loop by themselves, but not these: votes have 8 bits, weights 8 or 16, sums 32. The
operations here are written in LLVM's own language, for vectors of `LANES` votes, and name no machine: each makes of
them what it has.

Rows of up to `FEW` votes have their weights, of 16 bits, in a register. Longer rows have them in memory, of 8 or
of 16 bits. With 8, votes are moved up by one, to 0, 1 and 2, as machines multiply unsigned bytes by signed ones: what
comes out is too large by the sum of the weights, and `learn` tells how that changes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from quorate._extras import load
from quorate.rules.lane_builder import BYTE, INT, LANES, LONG, SHORT, Builder, all_lanes, lanes_of

__all__ = [
    "FEW",
    "LANES",
    "absent",
    "few",
    "highest",
    "hold",
    "keep",
    "learn",
    "learn_few",
    "nothing",
    "nothing_few",
    "row",
]

extending, types = (load(module, "A rule's compiled run") for module in ("numba.extending", "numba.core.types"))

FEW = 16


class _Register(types.Type):  # type: ignore[misc, name-defined]
    """Numbers held in a register: `LANES` of 8 bits, or `FEW` of 16."""

    def __init__(self, element: Any, count: int) -> None:
        self.lanes = lanes_of(element, count)
        super().__init__(name=f"quorate.register({element}, {count})")


@extending.register_model(_Register)
class _RegisterModel(extending.models.PrimitiveModel):  # type: ignore[misc, name-defined]
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, kind.lanes)


_bytes, _few_bytes, _few_weights = _Register(BYTE, LANES), _Register(BYTE, FEW), _Register(SHORT, FEW)


def _operation(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make an operation that compiled code calls with all arguments but the first, `typing`."""
    operation: Callable[..., Any] = extending.intrinsic(function)
    return operation


@_operation
def nothing(typing: Any) -> Any:
    """What `row` has seen at first."""
    return _bytes(), lambda context, builder, signature, arguments: all_lanes(BYTE, 0, LANES)


@_operation
def nothing_few(typing: Any) -> Any:
    """What `few` has seen at first."""
    return _few_bytes(), lambda context, builder, signature, arguments: all_lanes(BYTE, 0, FEW)


@_operation
def highest(typing: Any, seen: Any) -> Any:
    """The largest vote that `row` has seen, moved up by one: above 2 where some was not a vote."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return Builder(context, builder).call(f"llvm.vector.reduce.umax.v{arguments[0].type.count}i8", BYTE, *arguments)

    return types.uint8(seen), build


@_operation
def row(typing: Any, votes: Any, at: Any, weights: Any, first: Any, width: Any, seen: Any) -> Any:
    """Sum the votes at `at` times the weights at `first`; give that, and what was seen. 8-bit weights: moved up."""
    result = types.Tuple([types.int32, seen])
    narrow = weights.dtype == types.int8

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        make = Builder(context, builder)
        row_votes, row_weights = make.start(votes, *arguments[:2]), make.start(weights, *arguments[2:4])

        def body(place: Any, sums: Any, highest: Any) -> list[Any]:
            given = make.load(row_votes, place, BYTE)
            raised = make.raised(given)
            if narrow:
                added = make.pairs(raised, make.load(row_weights, place, BYTE))
            else:
                added = make.products(given, make.load(row_weights, place, SHORT))
            return [builder.add(sums, added), make.larger(highest, raised)]

        zeros = all_lanes(SHORT, 0, LANES // 2) if narrow else all_lanes(INT, 0, LANES)
        sums, highest = make.loop(arguments[4], [zeros, arguments[5]], body)
        return context.make_tuple(builder, result, [make.total(sums), highest])

    return result(votes, types.intp, weights, types.intp, types.intp, seen), build


@_operation
def learn(typing: Any, votes: Any, at: Any, label: Any, weights: Any, first: Any, width: Any, mask: Any) -> Any:
    """Add a label times the votes at `at` to the weights at `first`; give how the sum of 8-bit weights changes."""
    narrow = weights.dtype == types.int8

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        make = Builder(context, builder)
        row_votes, row_weights = make.start(votes, *arguments[:2]), make.start(weights, *arguments[3:5])
        row_mask, element = make.start(mask, arguments[6]), BYTE if narrow else SHORT

        def body(place: Any, changes: Any) -> list[Any]:
            given, kept = make.load(row_votes, place, BYTE), make.load(row_mask, place, BYTE)
            change = make.signed(given, arguments[2], kept)
            wide = change if narrow else builder.sext(change, lanes_of(SHORT, LANES))
            learned = builder.add(make.load(row_weights, place, element), wide)
            builder.store(learned, make.at(row_weights, place, element), align=1)
            return [builder.add(changes, change)]

        (changes,) = make.loop(arguments[5], [all_lanes(BYTE, 0, LANES)], body)
        if not narrow:
            return INT(0)
        # Moved up by 128, which machines can sum: they have an instruction for the sum of unsigned bytes.
        unsigned = builder.zext(builder.xor(changes, all_lanes(BYTE, 128, LANES)), lanes_of(INT, LANES))
        return builder.sub(make.total(unsigned), INT(128 * LANES))

    kinds = votes, types.intp, types.int8, weights, types.intp, types.intp, mask
    return types.int32(*kinds), build


@_operation
def hold(typing: Any, weights: Any, first: Any) -> Any:
    """The `FEW` weights at `first`, in a register."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        make = Builder(context, builder)
        return make.load(make.start(weights, arguments[0]), arguments[1], SHORT, FEW)

    return _few_weights(weights, types.intp), build


@_operation
def keep(typing: Any, weights: Any, first: Any, held: Any) -> Any:
    """Write a register back to the weights at `first`."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        make = Builder(context, builder)
        place = make.at(make.start(weights, arguments[0]), arguments[1], SHORT, FEW)
        builder.store(arguments[2], place, align=1)
        return context.get_dummy_value()

    return types.void(weights, types.intp, held), build


@_operation
def few(typing: Any, votes: Any, at: Any, held: Any, seen: Any) -> Any:
    """Sum the votes at `at` times the weights in a register; give that, and what was seen."""
    result = types.Tuple([types.int32, seen])

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        make = Builder(context, builder)
        given = make.load(make.start(votes, *arguments[:2]), LONG(0), BYTE, FEW)
        sums = make.total(make.products(given, arguments[2]))
        return context.make_tuple(builder, result, [sums, make.larger(arguments[3], make.raised(given))])

    return result(votes, types.intp, held, seen), build


@_operation
def learn_few(typing: Any, votes: Any, at: Any, label: Any, held: Any, mask: Any) -> Any:
    """The weights in a register after a label times the votes at `at` was added to them."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        make = Builder(context, builder)
        given = make.load(make.start(votes, *arguments[:2]), LONG(0), BYTE, FEW)
        kept = make.load(make.start(mask, arguments[4]), LONG(0), BYTE, FEW)
        change = make.signed(given, arguments[2], kept)
        return builder.add(arguments[3], builder.sext(change, arguments[3].type))

    return held(votes, types.intp, types.int8, held, mask), build


@_operation
def absent(typing: Any, votes: Any, at: Any, width: Any, mask: Any) -> Any:
    """Whether one of the votes at `at` is 0 where the mask is set."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        make = Builder(context, builder)
        row_votes, row_mask = make.start(votes, *arguments[:2]), make.start(mask, arguments[3])

        def body(place: Any, present: Any) -> list[Any]:
            outside = builder.not_(make.load(row_mask, place, BYTE))
            return [builder.and_(present, builder.or_(make.load(row_votes, place, BYTE), outside))]

        (present,) = make.loop(arguments[2], [all_lanes(BYTE, 1, LANES)], body)  # the lowest bit of -1 and of +1 is set
        least = make.call(f"llvm.vector.reduce.and.v{LANES}i8", BYTE, present)
        return builder.icmp_unsigned("==", least, BYTE(0))

    return types.boolean(votes, types.intp, types.intp, mask), build

"""LLVM's own language for vectors of votes and weights: what `quorate.rules.lanes` is written in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from quorate._extras import load

__all__ = ["BYTE", "INT", "LANES", "LONG", "SHORT", "Builder", "all_lanes", "lanes_of"]

ir = load("llvmlite.ir", "A rule's compiled run")

LANES = 64
BYTE, SHORT, INT, LONG = (ir.IntType(bits) for bits in (8, 16, 32, 64))


def lanes_of(element: Any, count: int) -> Any:
    """The type of a vector."""
    return ir.VectorType(element, count)


def all_lanes(element: Any, value: int, count: int) -> Any:
    """A vector of the same number everywhere."""
    return ir.Constant(lanes_of(element, count), [value] * count)


class Builder:
    """LLVM's builder, with the few things said here again and again."""

    def __init__(self, context: Any, builder: Any) -> None:
        self.context, self.llvm = context, builder

    def start(self, kind: Any, array: Any, offset: Any = None) -> Any:
        """Where an array begins in memory, or its element at an offset."""
        data = self.context.make_array(kind)(self.context, self.llvm, array).data
        return data if offset is None else self.llvm.gep(data, [offset])

    def at(self, start: Any, place: Any, element: Any, count: int = LANES) -> Any:
        """Where a vector of an array's elements is."""
        return self.llvm.bitcast(self.llvm.gep(start, [place]), lanes_of(element, count).as_pointer())

    def load(self, start: Any, place: Any, element: Any, count: int = LANES) -> Any:
        """Read a vector of an array's elements, which may begin anywhere."""
        return self.llvm.load(self.at(start, place, element, count), align=1)

    def call(self, name: str, result: Any, *arguments: Any) -> Any:
        """Call one of LLVM's own functions."""
        kind = ir.FunctionType(result, [each.type for each in arguments])
        found = self.llvm.module.globals.get(name)
        return self.llvm.call(found or ir.Function(self.llvm.module, kind, name), arguments)

    def products(self, votes: Any, weights: Any) -> Any:
        """Votes times 16-bit weights, 32 bits wide."""
        wide = lanes_of(INT, votes.type.count)
        return self.llvm.mul(self.llvm.sext(votes, wide), self.llvm.sext(weights, wide))

    def pairs(self, raised: Any, weights: Any) -> Any:
        """Sums of two votes, moved up by one, times 8-bit weights, 16 bits wide."""
        half, pairs = LANES // 2, []
        for first in (0, 1):
            places = ir.Constant(lanes_of(INT, half), list(range(first, LANES, 2)))
            votes, each = (
                self.llvm.shuffle_vector(both, ir.Constant(both.type, ir.Undefined), places)
                for both in (raised, weights)
            )
            wide = lanes_of(INT, half)
            pairs.append(self.llvm.mul(self.llvm.zext(votes, wide), self.llvm.sext(each, wide)))
        # Votes and weights never reach the ends, but x86's one instruction for all of this stops there.
        name = f"v{half}i32"
        total = self.call(f"llvm.smax.{name}", pairs[0].type, self.llvm.add(*pairs), all_lanes(INT, -(2**15), half))
        total = self.call(f"llvm.smin.{name}", pairs[0].type, total, all_lanes(INT, 2**15 - 1, half))
        return self.llvm.trunc(total, lanes_of(SHORT, half))

    def total(self, sums: Any) -> Any:
        """The sum of a vector, 32 bits wide."""
        wide = lanes_of(INT, sums.type.count)
        sums = sums if sums.type == wide else self.llvm.sext(sums, wide)
        return self.call(f"llvm.vector.reduce.add.v{wide.count}i32", INT, sums)

    def raised(self, votes: Any) -> Any:
        """Votes moved up by one: 0, 1 and 2, and what is no vote above them, as bytes without a sign."""
        return self.llvm.add(votes, all_lanes(BYTE, 1, votes.type.count))

    def larger(self, one: Any, other: Any) -> Any:
        """Lane by lane the larger byte of two, without a sign."""
        return self.call(f"llvm.umax.v{one.type.count}i8", one.type, one, other)

    def signed(self, votes: Any, label: Any, mask: Any) -> Any:
        """Votes times a label where the mask is set: minus a number is its bits turned over, less -1."""
        count = votes.type.count
        sign = self.llvm.ashr(label, BYTE(7))
        signs = self.llvm.insert_element(all_lanes(BYTE, 0, count), sign, INT(0))
        signs = self.llvm.shuffle_vector(signs, signs, all_lanes(INT, 0, count))
        return self.llvm.and_(self.llvm.sub(self.llvm.xor(votes, signs), signs), mask)

    def loop(self, width: Any, starts: Sequence[Any], body: Callable[..., Sequence[Any]]) -> list[Any]:
        """Repeat `body(place, *values)`, which gives the next values, for every `LANES` places up to `width`."""
        llvm = self.llvm
        before, inside, after = llvm.block, llvm.append_basic_block("lanes"), llvm.append_basic_block("after")
        llvm.branch(inside)
        llvm.position_at_end(inside)
        place, *values = (llvm.phi(start.type) for start in (LONG(0), *starts))
        after_this = [llvm.add(place, LONG(LANES)), *body(place, *values)]
        for value, start, following in zip((place, *values), (LONG(0), *starts), after_this, strict=True):
            value.add_incoming(start, before)
            value.add_incoming(following, llvm.block)
        back = llvm.cbranch(llvm.icmp_signed("<", after_this[0], width), inside, after)
        back.set_metadata("llvm.loop", self._rolled())
        llvm.position_at_end(after)
        return after_this[1:]

    def _rolled(self) -> Any:
        """Ask that a loop not be unrolled: only as it is written LLVM finds the machine's multiply-and-add in it."""
        module = self.llvm.module
        wish = module.add_metadata([ir.MetaDataString(module, "llvm.loop.unroll.disable")])
        loop = ir.values.MDValue(module, [wish], name=str(len(module.metadata)))
        loop.operands = (loop, wish)  # a loop's metadata begins with itself
        return loop

"""Algorithm 2 of the paper, written naively from its text, with dictionaries keyed by name and slot.

It shares no code with the package. What the paper leaves open is as the design decides.
"""

from __future__ import annotations


class Reference:
    def __init__(self, members: list[str], horizon: int, bias: bool = True) -> None:
        self.members = list(members)
        self.horizon = horizon
        self.bias = bias
        self.w_s = dict.fromkeys(["", *members], 0)  # "" is the virtual learner that always votes +1
        self.w_a = dict.fromkeys(["", *members], 0)
        self.open: dict[int, dict[str, int]] = {}
        self.waiting: dict[int, int] = {}
        self.closed: dict[int, tuple[dict[str, int], bool]] = {}
        self.labelled: set[int] = set()
        self.order: list[int] = []

    def vote(self, slot: int, name: str, value: int) -> None:
        if self.order and slot <= self.order[-1]:
            return
        votes = self.open.setdefault(slot, {})
        if value:
            votes.setdefault(name, value)

    def close(self, slot: int) -> int:
        self.open.setdefault(slot, {})
        self.open = {n: votes for n, votes in self.open.items() if n >= slot}
        self.waiting = {n: y for n, y in self.waiting.items() if n >= slot}
        votes = self.open.pop(slot)
        s = {"": 1 if self.bias else 0} | {j: votes.get(j, 0) for j in self.members}
        synchronous = all(s[j] != 0 for j in self.members)
        w = self.w_s if synchronous else self.w_a
        decision = 1 if sum(w[j] * s[j] for j in s) >= 0 else -1
        self.closed[slot] = s, synchronous
        self.order.append(slot)
        if slot in self.waiting:
            self.label(slot, self.waiting.pop(slot))
        for old in self.order[: -1 - self.horizon]:
            self.closed.pop(old, None)
        return decision

    def label(self, slot: int, y: int) -> None:
        if slot in self.open:
            self.waiting.setdefault(slot, y)
        elif slot in self.closed and slot not in self.labelled:
            self.labelled.add(slot)
            s, synchronous = self.closed[slot]
            w = self.w_s if synchronous else self.w_a
            if y != (1 if sum(w[j] * s[j] for j in s) >= 0 else -1):
                for j in s:
                    w[j] += y * s[j]

    def join(self, name: str) -> None:
        self.members.append(name)
        self.w_s[name] = self.w_a[name] = 0
        for s, _ in self.closed.values():
            s[name] = 0

    def leave(self, name: str) -> None:
        self.members.remove(name)
        del self.w_s[name], self.w_a[name]
        for votes in self.open.values():
            votes.pop(name, None)
        for s, _ in self.closed.values():
            s.pop(name, None)

    @property
    def weights(self) -> tuple[list[int], list[int]]:
        return [self.w_s[j] for j in ["", *self.members]], [self.w_a[j] for j in ["", *self.members]]

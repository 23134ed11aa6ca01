"""The rings of a graph: what leads back to itself."""

from __future__ import annotations

from collections.abc import Sequence


def components(edges: Sequence[Sequence[int]]) -> list[list[int]]:
    """The strongly connected components, each after all those that it leads to (Tarjan, without recursion)."""
    walk = _Walk(edges)
    for node in range(len(edges)):
        if walk.entered[node] is None:
            walk.from_(node)
    return walk.found


class _Walk:
    def __init__(self, edges: Sequence[Sequence[int]]) -> None:
        self.edges = edges
        self.entered: list[int | None] = [None] * len(edges)
        self.found: list[list[int]] = []
        self._lowest = [0] * len(edges)
        self._open: list[int] = []
        self._is_open = [False] * len(edges)
        self._count = 0

    def from_(self, start: int) -> None:
        way = [(start, iter(self.edges[start]))]
        self._enter(start)
        while way:
            node, onward = way[-1]
            for to in onward:
                if self.entered[to] is None:
                    self._enter(to)
                    way.append((to, iter(self.edges[to])))
                    break
                if self._is_open[to]:
                    self._lowest[node] = min(self._lowest[node], self._lowest[to])
            else:
                way.pop()
                if way:
                    before = way[-1][0]
                    self._lowest[before] = min(self._lowest[before], self._lowest[node])
                self._leave(node)

    def _enter(self, node: int) -> None:
        self.entered[node] = self._lowest[node] = self._count
        self._count += 1
        self._open.append(node)
        self._is_open[node] = True

    def _leave(self, node: int) -> None:
        if self._lowest[node] != self.entered[node]:
            return
        component: list[int] = []
        while not component or component[-1] != node:
            component.append(self._open.pop())
            self._is_open[component[-1]] = False
        self.found.append(component)

"""Stacked bars as SVG: where each rectangle stands, and what it says. Knows no colours.

Across, places are percentages, so that the bars fill any width while the text keeps its size.
Numbers are texts: a template would write them as the reader's language does, which SVG cannot read.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

HEIGHT: Final = 180
"""Of the plot, in pixels."""

_GAP: Final = 0.18
"""The part of a bar's place that stays free."""
_SLIVER: Final = 1.5
"""Pixels: a part of a bar that is not nothing can be seen."""
_LABELS: Final = 8
"""At most, under the bars; every other one is for wide screens alone."""


@dataclass(frozen=True, slots=True)
class Part:
    """One rectangle."""

    kind: str
    y: str
    height: str


@dataclass(frozen=True, slots=True)
class Bar:
    """What is stacked in one place, with a sentence about it, and a label under some.

    Where bars are narrow, the first label begins at the edge: its half would stand outside.
    """

    x: str
    width: str
    label_x: str
    anchor: str
    parts: list[Part]
    told: str
    label: str = ""
    minor: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """A line across the plot, and the number it stands for."""

    y: str
    value: int


@dataclass(frozen=True, slots=True)
class Chart:
    """All that the template draws."""

    bars: list[Bar]
    lines: list[Line]
    height: int = HEIGHT


Stack = Sequence[tuple[Any, int]]
"""Kinds and numbers, from the bottom up."""


def stacked(stacks: Sequence[Stack], labels: Sequence[str], told: Sequence[str]) -> Chart:
    """A bar for each stack."""
    top = ceiling(max((sum(n for _, n in stack) for stack in stacks), default=0))
    place = 100 / max(len(stacks), 1)
    every = -(-len(stacks) // _LABELS) or 1
    bars = [
        Bar(
            x=f"{place * (number + _GAP / 2):.3f}%",
            width=f"{place * (1 - _GAP):.3f}%",
            label_x=f"{place * (number + 0.5):.3f}%" if number or every == 1 else "0%",
            anchor="middle" if number or every == 1 else "start",
            parts=_parts(stack, top),
            told=told[number],
            label=labels[number] if number % every == 0 else "",
            minor=every > 1 and number // every % 2 == 1,
        )
        for number, stack in enumerate(stacks)
    ]
    return Chart(bars, [Line(_pixels(HEIGHT * (1 - n / top)), n) for n in _marks(top)])


def ceiling(most: int) -> int:
    """The top of an axis: the least of 1, 2, 4 or 5 times a power of ten that is not below."""
    power = 1
    while True:
        for step in (1, 2, 4, 5):
            if step * power >= most:
                return step * power
        power *= 10


def _marks(top: int) -> list[int]:
    return [top // 2, top] if top % 2 == 0 else [top]


def _parts(stack: Stack, top: int) -> list[Part]:
    parts, under = [], 0.0
    for kind, number in stack:
        if number:
            height = max(HEIGHT * number / top, _SLIVER)
            under += height
            parts.append(Part(str(kind), _pixels(max(HEIGHT - under, 0)), _pixels(height)))
    return parts


def _pixels(number: float) -> str:
    return f"{number:.2f}"

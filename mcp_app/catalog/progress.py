"""The progress that a generator tool yields."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a call has come: `progress` of `total`, in whatever unit the tool counts.

    `2026-07-28 basic/patterns/progress`: `progress` must grow with each report, also where the
    total is unknown.
    """

    progress: float
    total: float | None = None
    message: str | None = None

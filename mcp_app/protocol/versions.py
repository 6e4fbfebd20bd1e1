"""The protocol revisions that are served, each with its era and what its messages may carry."""

from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from types import MappingProxyType
from typing import Final


class Era(Enum):
    """How a revision carries version, identity and capabilities (`2026-07-28 basic/versioning`)."""

    LEGACY = "legacy"
    """By an `initialize` handshake (2025-11-25 and earlier)."""
    MODERN = "modern"
    """By metadata on each request (2026-07-28 and later)."""


@dataclass(frozen=True, slots=True, eq=False)
class ProtocolVersion:
    """One revision: its date is its name, and dates order revisions. There is one object of each.

    The flags say which fields the revision's own schema knows, so that a strict client of an
    older revision is never sent a field that it has no name for.
    """

    name: str
    era: Era
    batches: bool = False
    """`2025-03-26 basic/index` Batching: receiving is a MUST there and gone afterwards."""
    annotations: bool = False
    audio: bool = False
    completions: bool = False
    """The capability; 2024-11-05 has the method only."""
    progress_messages: bool = False
    titles: bool = False
    output_schema: bool = False
    """Also `structuredContent`, which the schema describes."""
    resource_links: bool = False
    item_meta: bool = False
    """`_meta` on a definition or content block."""
    icons: bool = False
    url_elicitation: bool = False
    elicitation_ids: bool = False
    """URL elicitations are named; 2025-11-25 alone."""
    priming_events: bool = False
    """A stream opens with an event that only has an id (2025-11-25 alone)."""
    version_header: bool = False
    """`MCP-Protocol-Version` exists from 2025-06-18 on."""

    def __str__(self) -> str:
        return self.name


V_2024_11_05: Final = ProtocolVersion("2024-11-05", Era.LEGACY)
V_2025_03_26: Final = ProtocolVersion(
    "2025-03-26",
    Era.LEGACY,
    batches=True,
    annotations=True,
    audio=True,
    completions=True,
    progress_messages=True,
)
V_2025_06_18: Final = ProtocolVersion(
    "2025-06-18",
    Era.LEGACY,
    annotations=True,
    audio=True,
    completions=True,
    progress_messages=True,
    titles=True,
    output_schema=True,
    resource_links=True,
    item_meta=True,
    version_header=True,
)
V_2025_11_25: Final = ProtocolVersion(
    "2025-11-25",
    Era.LEGACY,
    annotations=True,
    audio=True,
    completions=True,
    progress_messages=True,
    titles=True,
    output_schema=True,
    resource_links=True,
    item_meta=True,
    icons=True,
    url_elicitation=True,
    elicitation_ids=True,
    priming_events=True,
    version_header=True,
)
V_2026_07_28: Final = ProtocolVersion(
    "2026-07-28",
    Era.MODERN,
    annotations=True,
    audio=True,
    completions=True,
    progress_messages=True,
    titles=True,
    output_schema=True,
    resource_links=True,
    item_meta=True,
    icons=True,
    url_elicitation=True,
    version_header=True,
)

VERSIONS: Final = (V_2026_07_28, V_2025_11_25, V_2025_06_18, V_2025_03_26, V_2024_11_05)
"""Every revision this code speaks, newest first."""

BY_NAME: Final = MappingProxyType({version.name: version for version in VERSIONS})

WITHOUT_HEADER: Final = V_2025_03_26
"""What a request with no version header and no session speaks (`2025-11-25 basic/transports`)."""


@lru_cache(maxsize=32)
def of_era(versions: tuple[ProtocolVersion, ...], era: Era) -> tuple[ProtocolVersion, ...]:
    """The revisions of one era among those given, newest first."""
    return tuple(sorted((v for v in versions if v.era is era), reverse=True, key=lambda v: v.name))

"""What a token's secret looks like in a text, however it is written. Makes, reads and stores none.

A secret reads `mcp_<lookup>_<random><checksum>`. A text may hold it percent-encoded, escaped with
backslashes as JSON and Python do, several times over, or in Base64.
"""

import string
from typing import Final

ALPHABET: Final = string.digits + string.ascii_uppercase + string.ascii_lowercase
PREFIX: Final = "mcp_"
"""What begins with it is meant to be one of our secrets, well formed or not."""
LOOKUP_LENGTH: Final = 12

ENCODES: Final = r"%[2-7]|\\[\\ux]"
"""A pattern without which no text has an encoded character."""

BASE64_STARTS: Final = "bWNwX|1jcF[89]|tY3Bf"
"""A pattern for `mcp_` and the character behind it as Base64 has them, at each of three offsets."""


def plain(least: int) -> str:
    """A pattern for a secret as it is, of which `least` hidden characters are there or more.

    Its one group is the public prefix.
    """
    return rf"({PREFIX}[0-9A-Za-z]{{{LOOKUP_LENGTH}}})_[0-9A-Za-z]{{{least},}}"


def encoded(least: int) -> str:
    """The same, with any of its characters percent-encoded or escaped."""
    start = "".join(map(_written, PREFIX))
    public = f"{start}{_written(ALPHABET)}{{{LOOKUP_LENGTH}}}"
    return f"({public}{_written('_')}){_written(ALPHABET)}{{{least},}}"


def base64(least: int) -> str:
    """A pattern for a secret inside Base64, from its beginning to the end of what is encoded."""
    characters = (LOOKUP_LENGTH + least) * 4 // 3
    # Programs break its lines, and others show the breaks as escapes.
    broken = r"(?:\\[rn]|[\r\n]){0,2}"
    return rf"(?:{BASE64_STARTS})(?:{broken}[\w+/-]){{{characters},}}={{0,2}}"


def _written(characters: str) -> str:
    """A pattern for one of the characters as itself, percent-encoded, or escaped with a backslash.

    Also encoded or escaped several times over, as where one log line quotes another. Where it is
    one character each way begins with one, so that a search skips all others quickly.
    """
    codes = "|".join(f"{ord(character):02x}" for character in characters)
    itself = characters if len(characters) == 1 else f"[{characters}]"
    return rf"(?:{itself}|%(?:25){{0,8}}(?i:{codes})|\\\\{{0,7}}(?:u00|x)(?i:{codes}))"

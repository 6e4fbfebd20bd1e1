"""The ways in which a text may hold a secret, each of which a reader can undo."""

import base64
import json
import re
import urllib.parse


def percent(text: str) -> str:
    """Each character percent-encoded, which is as good to a server."""
    return "".join(f"%{ord(character):02X}" for character in text)


def escaped(text: str) -> str:
    """Each character as JSON may write it."""
    return "".join(f"\\u{ord(character):04x}" for character in text)


def forms(secret: str) -> dict[str, str]:
    """The secret in each way that leaves its public prefix to be read, by the way's name."""
    return {
        "plain": secret,
        "cut off": secret[:-20],
        "underscores encoded": secret.replace("_", "%5F"),
        "small letters": secret.replace("_", "%5f"),
        "all encoded": percent(secret),
        "encoded twice": urllib.parse.quote(percent(secret)),
        "half encoded": secret[:20] + percent(secret[20:]),
        "json": secret.replace("_", "\\u005f"),
        "json in json": json.dumps(json.dumps(secret).replace("_", "\\u005f")),
        "all escaped": escaped(secret),
        "python": secret.replace("_", "\\x5f"),
    }


def in_base64(secret: str) -> dict[str, str]:
    """It behind so many bytes in Base64, in both alphabets, and with its lines broken."""
    told = {}
    for before in ("", ":", "ab", "abc", 'with "é": '):
        text = f"{before}{secret} and more".encode()
        told[f"behind {before!r}"] = base64.b64encode(text).decode()
        told[f"behind {before!r}, for addresses"] = base64.urlsafe_b64encode(text).decode()
        told[f"behind {before!r}, in lines"] = base64.encodebytes(text * 2).decode()
    return told


def out_of_base64(text: str) -> str:
    """Whatever a reader finds by decoding any part of the text."""
    letters = re.sub(r"\\[rn]|[^\w+/-]", "", text, flags=re.ASCII).translate({45: "+", 95: "/"})
    parts = (letters[start : len(letters) - (len(letters) - start) % 4] for start in range(4))
    return " ".join(base64.b64decode(part).decode("latin-1") for part in parts)

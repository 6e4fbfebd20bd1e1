"""Typed dicts made at run time, which pydantic validates to plain dicts.

They take any field name, where a model would claim names of its own, and hand their config down
to the dataclasses and typed dicts inside.
"""

from collections.abc import Mapping
from typing import Any, Final

import typing_extensions
from pydantic import ConfigDict, TypeAdapter

# Typed as Any: a type checker only knows typed dicts that are written out.
_TYPED_DICT: Final[Any] = typing_extensions.TypedDict


def adapter(name: str, fields: Mapping[str, Any], config: ConfigDict) -> TypeAdapter[Any]:
    """The adapter of a typed dict with `fields`, which map names to annotations."""
    shape = _TYPED_DICT(name, dict(fields))
    shape.__pydantic_config__ = config
    return TypeAdapter(shape)


def first_line(error: Exception) -> str:
    """What pydantic says of a type, without its advice."""
    text = str(error)
    return text.splitlines()[0] if text else type(error).__name__

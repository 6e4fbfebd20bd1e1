"""The published schemas of each protocol revision, as validators."""

import json
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

from mcp_app.protocol.versions import ProtocolVersion

SCHEMAS = Path(__file__).parents[1] / "schema"


@cache
def validator(version: ProtocolVersion, name: str) -> Draft202012Validator:
    """What `version` says about the type `name`."""
    schema = json.loads((SCHEMAS / version.name / "schema.json").read_text())
    keyword = "$defs" if "$defs" in schema else "definitions"
    return Draft202012Validator({"$ref": f"#/{keyword}/{name}", keyword: schema[keyword]})


def check(version: ProtocolVersion, name: str, value: Any) -> None:
    """Fail where `value` is not a `name` of `version`."""
    json.dumps(value, allow_nan=False)
    validator(version, name).validate(value)

"""How each method tells what its function returned, and how it failed.

A tool's failure is a result, which the model reads; everything else fails by a JSON-RPC error.
"""

from typing import Any, Final, NoReturn, cast

from mcp_app.catalog.completers import to_completion
from mcp_app.catalog.contents import to_contents
from mcp_app.catalog.definition import Tool
from mcp_app.catalog.errors import is_missing
from mcp_app.catalog.prompts import Prompt, to_messages
from mcp_app.catalog.resources import Readable
from mcp_app.catalog.results import to_result
from mcp_app.dispatch.calls import Call, Manner
from mcp_app.protocol.errors import Failed, InvalidParams, ResourceNotFound


def failed_result(text: str) -> dict[str, Any]:
    """A CallToolResult that says what went wrong, for the model to read."""
    return {"content": [{"type": "text", "text": text}], "isError": True}


def _call_result(call: Call, value: Any) -> dict[str, Any]:
    return to_result(cast(Tool, call.target), value, call.inbound.route.version)


def _call_failure(call: Call, text: str, error: BaseException | None) -> dict[str, Any]:
    return failed_result(text)


def _contents(call: Call, value: Any) -> dict[str, Any]:
    resource, uri = cast(Readable, call.target), call.inbound.params["uri"]
    return to_contents(resource, uri, value, call.inbound.route.version)


def _read_failure(call: Call, text: str, error: BaseException | None) -> NoReturn:
    if error is not None and is_missing(error):
        raise ResourceNotFound(call.inbound.params["uri"])
    raise Failed(text)


def _messages(call: Call, value: Any) -> dict[str, Any]:
    return to_messages(cast(Prompt, call.target), value, call.inbound.route.version)


def _completion(call: Call, value: Any) -> dict[str, Any]:
    return to_completion(value)


def _failure(call: Call, text: str, error: BaseException | None) -> NoReturn:
    raise InvalidParams(text) if error is not None and is_missing(error) else Failed(text)


CALLING: Final = Manner("tool", _call_result, _call_failure)
READING: Final = Manner("resource", _contents, _read_failure)
PROMPTING: Final = Manner("prompt", _messages, _failure)
COMPLETING: Final = Manner("completer", _completion, _failure)

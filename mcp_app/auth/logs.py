"""A filter for the log handlers of whatever writes addresses: servers put query strings there.

For `MCP_APP["ALLOW_QUERY_TOKEN"]`. In `LOGGING`: `"filters": {"secrets": {"()":
"mcp_app.auth.logs.HideSecrets"}}`, and that filter on the handlers of `uvicorn.access`,
`gunicorn.access` or `django.server`.
"""

import logging
from collections.abc import Mapping
from contextlib import suppress
from copy import copy
from typing import Any, Final, cast

from mcp_app.auth.hashing import hidden

_TRACEBACKS: Final = logging.Formatter()


class HideSecrets(logging.Filter):
    """Leaves of each of our secrets, or of much of one, no more than its public prefix.

    In messages and their arguments of any type, tracebacks, stacks and whatever else a record
    has; as secrets are written, percent-encoded, or escaped as JSON and Python do. What holds one
    and is no text becomes its text: an exception leaves its traceback, without the frames that a
    formatter could look into.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Rewrite the record; none is dropped."""
        _hide_exception(record)
        args = record.args
        if isinstance(args, Mapping):
            record.args = _hidden_in(args)
        elif args:
            record.args = tuple(map(_hidden, args))
        for name, value in list(vars(record).items()):
            if name not in ("args", "exc_info"):
                setattr(record, name, _hidden(value))
        _hide_joined(record)
        return True


def _hide_exception(record: logging.LogRecord) -> None:
    if not record.exc_info:
        return
    with suppress(Exception):
        told = _TRACEBACKS.formatException(record.exc_info)
        if (text := hidden(told)) != told:
            record.exc_info, record.exc_text = None, text


def _hide_joined(record: logging.LogRecord) -> None:
    """What the message holds although none of its parts does, as they were looked at."""
    with suppress(Exception):
        told = record.getMessage()
        if (text := hidden(told)) != told:
            record.msg, record.args = text, None


def _hidden_in(args: Mapping[str, Any]) -> Mapping[str, Any]:
    """The arguments, of their own type: gunicorn's know what stands for a header that is absent."""
    said = {name: (value, _hidden(value)) for name, value in args.items()}
    changed = {name: told for name, (value, told) in said.items() if told is not value}
    if not changed:
        return args
    try:
        copied: Any = copy(args)
        copied.update(changed)
    except (AttributeError, TypeError):  # of a mapping that nobody may change
        copied = {**args, **changed}
    return cast("Mapping[str, Any]", copied)


def _hidden(value: Any) -> Any:
    """The text without secrets; another value as it is, unless its text would hold one."""
    if value is None or isinstance(value, bool | int | float):
        return value
    try:
        text = str(value)
    except Exception:
        return value
    found = hidden(text)
    return value if found == text else found

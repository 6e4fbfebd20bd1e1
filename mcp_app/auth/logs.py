"""A filter for the log handlers of whatever writes addresses: servers put query strings there.

For `MCP_APP["ALLOW_QUERY_TOKEN"]`. In `LOGGING`: `"filters": {"secrets": {"()":
"mcp_app.auth.logs.HideSecrets"}}`, and that filter on the handlers of `uvicorn.access`,
`gunicorn.access` or `django.server`.
"""

import logging
from collections.abc import Mapping
from typing import Any

from mcp_app.auth.hashing import SECRET

_HIDDEN = r"mcp_\1_[hidden]"


class HideSecrets(logging.Filter):
    """Leaves of each of our secrets no more than its public prefix.

    In messages and their arguments, as secrets are written; not percent-encoded ones, and not in
    the tracebacks that a formatter adds.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Rewrite the record; none is dropped."""
        record.msg = _hidden(record.msg)
        if isinstance(record.args, Mapping):
            record.args = {name: _hidden(value) for name, value in record.args.items()}
        elif record.args:
            record.args = tuple(map(_hidden, record.args))
        return True


def _hidden(value: Any) -> Any:
    """The text without secrets; another value as it is, unless its text would hold one."""
    if isinstance(value, bool | int | float):
        return value
    text = str(value)
    found = SECRET.sub(_HIDDEN, text)
    return value if found == text else found

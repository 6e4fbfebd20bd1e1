"""What mcp_app announces. Every signal is sent with `send_robust`: a receiver cannot break a call.

Token signals are sent after the transaction that made the change has been committed, and never
carry a secret.
"""

from django.dispatch import Signal

tool_called = Signal()
"""A tool call ended, however it ended, except by refusal (see `tool_denied`).

Sender: the class `mcp_app.dispatch.interfaces.CallRecord`. Arguments: `record`, the `CallRecord`
with its arguments already redacted.
"""

tool_denied = Signal()
"""A tool call was refused before the tool ran: permission, scope, throttle or credentials.

Sender and arguments are those of `tool_called`.
"""

token_issued = Signal()
"""Sender: the class `Token`. Arguments: `token`, and `by`, the acting user or None."""

token_rotated = Signal()
"""Sender: the class `Token`. Arguments: `token`, `by`, and `valid_until`, the old secret's end."""

token_secret_ended = Signal()
"""One secret was ended at once, and its token lives on.

Sender: the class `Token`. Arguments: `token`, `lookup` (the secret's public part), and `by`.
"""

token_due = Signal()
"""A secret is due: sent by `manage.py mcp_token due --notify`, for each at each run.

Sender: the class `Token`. Arguments: `token`, `lookup` (the secret's public part), `reason` (an
`mcp_app.auth.upkeep.DueReason`), and `ends_at`, when the secret ends by itself, or None.
"""

token_revoked = Signal()
"""Sender: the class `Token`. Arguments: `token`, and `by`, the acting user or None."""

"""What `MCP_APP["BEFORE_CALL"]` hooks return: `from mcp_app.hooks import allow, confirm, deny`.

A hook is `f(ctx, tool, arguments)` and returns one of these, or None for `allow()`. Hooks are asked
in order after the arguments were validated and before the tool runs; the first `deny` decides, and
one that raises denies.
"""

from mcp_app.dispatch.hooks import Allow as allow
from mcp_app.dispatch.hooks import Confirm as confirm
from mcp_app.dispatch.hooks import Deny as deny

__all__ = ["allow", "confirm", "deny"]

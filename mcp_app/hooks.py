"""What `MCP_APP["BEFORE_CALL"]` hooks return: `from mcp_app.hooks import allow, confirm, deny`.

A hook is `f(ctx, tool, arguments)` and returns one of these, or None for `allow()`. Hooks are asked
in order after the arguments were validated and before the tool runs; the first `deny` decides, and
one that raises denies. They are asked again once a person has agreed: the call runs if the question
is still the same one then, in the same words, so put nothing into it that changes by itself.

`MCP_APP["LIST_TOOLS"]` hooks are `f(ctx, tools)` and return the tools to keep. They are given all
that the caller's permissions admit, for a list and for a call alike: what they leave out is not
callable. `MCP_APP["SERVER_INFO"]` hooks are `f(ctx)` and return any of `name`, `title`, `version`
and `instructions`. All hooks are plain functions, called in worker threads; their `ctx` cannot ask.
"""

from mcp_app.dispatch.hooks import Allow as allow
from mcp_app.dispatch.hooks import Confirm as confirm
from mcp_app.dispatch.hooks import Deny as deny

__all__ = ["allow", "confirm", "deny"]

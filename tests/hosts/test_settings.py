"""What was read of `MCP_APP` is kept as long as the dict is the same, and no longer."""

from typing import Any

from mcp_app.conf import DEFAULTS, Settings
from mcp_app.conf import settings as ours

_DERIVED = (
    *("enabled", "versions", "server_info", "authentication_classes", "permission_classes"),
    *("throttle_classes", "origin_check", "server_info_hooks", "list_tools", "before_call"),
    "session_ttl",
)
_OTHER: dict[str, Any] = {
    "ENABLED": False,
    "VERSIONS": ["2025-06-18"],
    "SERVER_NAME": "other",
    "AUTHENTICATION_CLASSES": ["rest_framework.authentication.SessionAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.AllowAny"],
    "DEFAULT_THROTTLE_CLASSES": ["mcp_app.access.throttling.UserThrottle"],
    "ORIGIN_CHECK": str.isascii,
    "SERVER_INFO": [dict],
    "LIST_TOOLS": [list],
    "BEFORE_CALL": [print],
    "SESSION_TTL": 1,
    "WORKERS": 3,
}


def _seen(settings: Settings) -> dict[str, Any]:
    return {name: getattr(settings, name) for name in (*DEFAULTS, *_DERIVED)}


def test_each_setting_is_read_anew_when_they_change(settings: Any) -> None:
    before = _seen(ours)
    settings.MCP_APP = _OTHER
    after = _seen(ours)
    assert after == _seen(Settings())
    assert {name for name in after if after[name] != before[name]} >= {*_OTHER, *_DERIVED}

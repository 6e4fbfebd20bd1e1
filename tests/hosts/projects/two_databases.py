"""A project whose default database is empty, and whose calls are recorded in one of their own."""

import tempfile
from typing import Any

from tests.settings import *  # noqa: F403
from tests.settings import MCP_APP, RUN

_FOLDER = tempfile.mkdtemp(prefix="mcp_app_hosts_")
_SQLITE = {"ENGINE": "django.db.backends.sqlite3", "OPTIONS": {"timeout": 20}}


def _sqlite(name: str) -> dict[str, Any]:
    test = {"NAME": f"{_FOLDER}/{RUN}_{name}", "DEPENDENCIES": []}
    return _SQLITE | {"NAME": f"{_FOLDER}/{name}", "TEST": test}


DATABASES = {"default": {}, "main": _sqlite("main"), "calls": _sqlite("calls")}
DATABASE_ROUTERS = ["tests.hosts.projects.routing.Everywhere"]
MCP_APP = {**MCP_APP, "AUDIT_DATABASE": "calls", "ATOMIC": True}
ROOT_URLCONF = "tests.interaction.urls"

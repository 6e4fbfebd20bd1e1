"""A project that reads from a replica, here one that lags behind for ever."""

import tempfile

from tests.settings import *  # noqa: F403
from tests.settings import RUN

_FOLDER = tempfile.mkdtemp(prefix="mcp_app_hosts_")
_SQLITE = {"ENGINE": "django.db.backends.sqlite3", "OPTIONS": {"timeout": 20}}

DATABASES = {
    name: _SQLITE | {"NAME": f"{_FOLDER}/{name}", "TEST": {"NAME": f"{_FOLDER}/{RUN}_{name}"}}
    for name in ("default", "replica")
}
DATABASE_ROUTERS = ["tests.hosts.projects.routing.LaggingReplica"]
ROOT_URLCONF = "tests.interaction.urls"

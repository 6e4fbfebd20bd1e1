"""The example's settings with what tests need: quick hashing, no files kept, names of their own.

`EXAMPLE_DATABASE` and `REDIS_URL` choose PostgreSQL and Redis, as they do for the example.
"""

import os
import tempfile

os.environ.setdefault("SECRET_KEY", "for tests only, and nothing is signed with it elsewhere")
os.environ.setdefault("EXAMPLE_STATE", tempfile.gettempdir())

from project.settings import *  # noqa: F403
from project.settings import CACHES, CHANNEL_LAYERS, DATABASES, MCP_APP

DEBUG = False
ALLOWED_HOSTS = ["localhost", "127.0.0.1", "[::1]", "testserver"]
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]

# Several test runs may share one PostgreSQL and one Redis.
RUN = f"mcp_app_{os.getpid()}"
DATABASES["default"]["TEST"] = {"NAME": f"test_{RUN}"}
if DATABASES["default"]["ENGINE"] == "django.db.backends.postgresql":
    # A test's commits need not outlive a crash of PostgreSQL; others see them as ever.
    options = DATABASES["default"].setdefault("OPTIONS", {})
    options["options"] = "-c synchronous_commit=off"
if "REDIS_URL" in os.environ:
    CACHES["default"]["KEY_PREFIX"] = RUN
    CHANNEL_LAYERS["default"]["CONFIG"]["prefix"] = RUN

# Tests of one process send more bad requests than a product's strangers do.
MCP_APP = {**MCP_APP, "UNAUTHENTICATED_ROWS": None}  # type: ignore[dict-item]

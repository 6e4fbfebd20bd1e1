"""A small product for the conformance suite; it shares the example's databases and cache."""

import os
from pathlib import Path

from project.environment import cache_and_layer, database, secret_key, state_folder

STATE_DIR = state_folder(Path(".conformance"))
SECRET_KEY = secret_key(STATE_DIR)
ALLOWED_HOSTS = ["localhost", "127.0.0.1", "[::1]"]
INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "rest_framework",
    "channels",
    "mcp_app",
    "tests.conformance.server",
]
ROOT_URLCONF = "tests.conformance.server.urls"
DATABASES = {"default": database(STATE_DIR)}
CACHES, CHANNEL_LAYERS = cache_and_layer(os.environ.get("REDIS_URL"))
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
USE_TZ = True
MCP_APP = {"SERVER_NAME": "conformance-fixture", "SERVER_TITLE": "Conformance fixture"}
if os.environ.get("CONFORMANCE_ANONYMOUS") == "1":
    MCP_APP |= {
        "ALLOW_ANONYMOUS": True,
        "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.AllowAny"],
    }

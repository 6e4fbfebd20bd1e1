"""The settings of the small product; `EXAMPLE_STATE` names the folder of its database."""

import os

from tests.settings import *  # noqa: F403
from tests.settings import CACHES, CHANNEL_LAYERS, MCP_APP

ROOT_URLCONF = "tests.servers.site.urls"
ASGI_APPLICATION = "tests.servers.site.asgi.application"

if "SITE_PREFIX" in os.environ:
    # Processes that are to be one product share what they tell each other.
    CACHES["default"]["KEY_PREFIX"] = os.environ["SITE_PREFIX"]
    CHANNEL_LAYERS["default"]["CONFIG"]["prefix"] = os.environ["SITE_PREFIX"]
    MCP_APP = {**MCP_APP, "KEEP_ALIVE": 1.0}

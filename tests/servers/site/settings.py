"""The settings of the small product; `EXAMPLE_STATE` names the folder of its database.

`SITE_MCP_APP` holds settings of the app as JSON, `SITE_CONN_MAX_AGE` the seconds that a database
connection is kept, `SITE_DOOR` is "view" where Django's handler is to serve the endpoint, and
`SITE_CALLS` names a PostgreSQL database for the call log.
"""

import json
import os

from tests.settings import *  # noqa: F403
from tests.settings import CACHES, CHANNEL_LAYERS, DATABASES, MCP_APP

ROOT_URLCONF = "tests.servers.site.urls"
ASGI_APPLICATION = "tests.servers.site.asgi.application"

if "SITE_PREFIX" in os.environ:
    # Processes that are to be one product share what they tell each other.
    CACHES["default"]["KEY_PREFIX"] = os.environ["SITE_PREFIX"]
    CHANNEL_LAYERS["default"]["CONFIG"]["prefix"] = os.environ["SITE_PREFIX"]
    MCP_APP = {**MCP_APP, "KEEP_ALIVE": 1.0}
MCP_APP = {**MCP_APP, **json.loads(os.environ.get("SITE_MCP_APP", "{}"))}
if "SITE_CONN_MAX_AGE" in os.environ:
    DATABASES["default"]["CONN_MAX_AGE"] = int(os.environ["SITE_CONN_MAX_AGE"])
if "SITE_CALLS" in os.environ:
    DATABASES["calls"] = {**DATABASES["default"], "NAME": os.environ["SITE_CALLS"]}
    MCP_APP["AUDIT_DATABASE"] = "calls"

"""The settings of the small product; `EXAMPLE_STATE` names the folder of its database."""

from tests.settings import *  # noqa: F403

ROOT_URLCONF = "tests.servers.site.urls"
ASGI_APPLICATION = "tests.servers.site.asgi.application"

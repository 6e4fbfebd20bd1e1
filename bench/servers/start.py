"""Starts a Django project with DRF and pydantic, and mcp_app where it is asked for.

It prints the CPU seconds that this took and the MiB that the process holds then.
"""

import re
import sys
import time
from pathlib import Path

import django
from django.conf import settings

OURS = sys.argv[1:] == ["mcp_app"]

settings.configure(
    SECRET_KEY="of the bench alone, and nothing is signed with it elsewhere",
    ROOT_URLCONF="mcp_app.urls" if OURS else "bench.servers.plain",
    INSTALLED_APPS=[
        "django.contrib.auth",
        "django.contrib.contenttypes",
        "rest_framework",
        *(["channels", "mcp_app"] if OURS else []),
    ],
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
    USE_TZ=True,
)
django.setup()

# What a project that uses them has loaded anyway: pydantic loads its parts when they are asked for.
from django.core.asgi import get_asgi_application  # noqa: E402
from django.urls import get_resolver  # noqa: E402
from pydantic import BaseModel, TypeAdapter  # noqa: E402
from rest_framework.views import APIView  # noqa: E402, F401


class Payload(BaseModel):
    """Any model at all."""

    number: int


TypeAdapter(list[Payload]).json_schema()
get_asgi_application()
assert get_resolver().url_patterns is not None
if OURS:
    import mcp_app.routing

    mcp_app.routing.urlpatterns()

held = re.search(r"^VmRSS:\s+(\d+)", Path("/proc/self/status").read_text(), re.MULTILINE)
assert held
print(time.process_time(), int(held[1]) / 1024)

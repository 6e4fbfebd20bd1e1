"""What mcp_app adds to a Django process with DRF before its first request: time and memory.

Each figure is a fresh process's own, and the median of several that take turns.
"""

import statistics
import sys
from dataclasses import dataclass
from typing import Final

from bench import processes

_TURNS: Final = 5
_PRINT: Final = (
    "import re, time; status = open('/proc/self/status').read(); "
    "print(time.process_time(), re.search(r'VmRSS:\\s+(\\d+)', status)[1])"
)
_PLAIN: Final = (
    "import django; from django.conf import settings; "
    "settings.configure(SECRET_KEY='bench', USE_TZ=True, ROOT_URLCONF='bench.servers.plain', "
    "INSTALLED_APPS=['django.contrib.auth', 'django.contrib.contenttypes', 'rest_framework'"
    "{apps}], DATABASES={{'default': {{'ENGINE': 'django.db.backends.sqlite3', "
    "'NAME': ':memory:'}}}}); django.setup(); "
    "import pydantic, rest_framework.views; from django.core.asgi import get_asgi_application; "
    "get_asgi_application(); from django.urls import get_resolver; get_resolver().url_patterns; "
    "{more}"
)
_WITH: Final = "import mcp_app.routing, mcp_app.urls; "


@dataclass(frozen=True, slots=True)
class Footprint:
    """CPU seconds until a process is ready, and the MiB that it holds then."""

    seconds: float
    mebibytes: float


def added() -> tuple[Footprint, Footprint]:
    """A Django process with DRF and pydantic, and what mcp_app adds to it."""
    plain = _PLAIN.format(apps="", more="") + _PRINT
    ours = _PLAIN.format(apps=", 'channels', 'mcp_app'", more=_WITH) + _PRINT
    runs = [(_run(plain), _run(ours)) for _ in range(_TURNS)]
    before = _median([first for first, _ in runs])
    after = _median([second for _, second in runs])
    grown = Footprint(after.seconds - before.seconds, after.mebibytes - before.mebibytes)
    return before, grown


def _run(code: str) -> Footprint:
    printed = processes.printed([sys.executable, "-c", code], {})
    seconds, kibibytes = printed.split()
    return Footprint(float(seconds), int(kibibytes) / 1024)


def _median(footprints: list[Footprint]) -> Footprint:
    return Footprint(
        statistics.median(footprint.seconds for footprint in footprints),
        statistics.median(footprint.mebibytes for footprint in footprints),
    )

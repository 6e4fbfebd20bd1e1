"""Where Django learns of the example itself: its landing page and its `run_example` command."""

import logging
from typing import Final

from django.apps import AppConfig

from mcp_app.auth.logs import HideSecrets

ACCESS_LOGS: Final = ("uvicorn.access", "gunicorn.access", "django.server", "django.request")
"""Where addresses are written down, by whichever server there is."""


class ExampleConfig(AppConfig):
    """The product around the quiz; it has no models."""

    name = "project"
    label = "example"

    def ready(self) -> None:
        """Keep secrets out of access lines, also where nobody should have put one in an address."""
        for name in ACCESS_LOGS:
            # Not in LOGGING, which would take the servers' own handlers away.
            logging.getLogger(name).addFilter(HideSecrets())

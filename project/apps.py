"""Where Django learns of the example itself: its landing page and its `run_example` command."""

from django.apps import AppConfig


class ExampleConfig(AppConfig):
    """The product around the quiz; it has no models."""

    name = "project"
    label = "example"

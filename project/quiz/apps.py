"""Where Django learns of the quiz app."""

from django.apps import AppConfig


class QuizConfig(AppConfig):
    """The quiz back office; its tools stand in `mcp.py` and are found by autodiscovery."""

    name = "project.quiz"
    label = "quiz"
    verbose_name = "Quiz back office"
    default_auto_field = "django.db.models.BigAutoField"

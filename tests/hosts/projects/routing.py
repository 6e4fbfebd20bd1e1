"""Database routers of host projects."""

from typing import Any


class Everywhere:
    """Everything in `main`, and the calls in one of their own; `default` is empty."""

    def db_for_read(self, model: Any, **hints: Any) -> str:
        return "main"

    def db_for_write(self, model: Any, **hints: Any) -> str:
        return "main"

    def allow_migrate(
        self, db: str, app_label: str, model_name: str | None = None, **hints: Any
    ) -> bool:
        kept = app_label == "mcp_app" and model_name in {"callevent", "seal"}
        return db == ("calls" if kept else "main")


class LaggingReplica:
    """mcp_app's rows are read from a replica that has received none of them yet."""

    def db_for_read(self, model: Any, **hints: Any) -> str | None:
        return "replica" if model._meta.app_label == "mcp_app" else None

    def allow_relation(self, first: Any, second: Any, **hints: Any) -> bool:
        return True

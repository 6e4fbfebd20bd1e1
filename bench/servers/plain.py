"""The addresses of a Django project that has none."""

from typing import Any, Final

urlpatterns: Final[list[Any]] = []

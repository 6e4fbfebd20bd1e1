"""The pages that delete rows: they name these alone, and count what goes with them."""

from typing import Any, ClassVar

from django.contrib import admin
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.text import capfirst

from mcp_app.admin.links import row_link


class DeletePages(admin.ModelAdmin):  # type: ignore[type-arg]  # no subscript at run time
    """Put before another admin: `parts` are the models whose rows are parts of its rows."""

    parts: ClassVar[tuple[Any, ...]] = ()

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Django's would name each part, which may be thousands, and ask permission to delete it.

        Who may delete the whole may delete its parts, and is told no names that they may not see.
        """
        _named, counts, lacking, protected = super().get_deleted_objects(objs, request)
        kind = capfirst(self.opts.verbose_name)
        rows = [format_html("{}: {}", kind, row_link(request, row, str(row))) for row in objs]
        return rows, counts, lacking - {part._meta.verbose_name for part in self.parts}, protected

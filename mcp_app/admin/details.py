"""All that is known of one declaration, in groups of facts for its page."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from django.template.defaultfilters import filesizeformat
from django.utils.html import format_html_join
from django.utils.translation import gettext as _

from mcp_app.access.explanation import permission_classes, throttle_classes
from mcp_app.access.permissions import class_text
from mcp_app.access.throttling import rate_of
from mcp_app.access.view import method_of
from mcp_app.admin.display import codes
from mcp_app.admin.entries import HINTS, Entry
from mcp_app.admin.schemas import Property, properties
from mcp_app.catalog.definition import Declaration, Tool
from mcp_app.catalog.resources import Readable
from mcp_app.conf import settings
from mcp_app.scopes import description
from mcp_app.transports.context import tokens_of

Fact = tuple[str, Any]


@dataclass(frozen=True, slots=True)
class Details:
    """One declaration for its page.

    Attributes:
        input, output: schemas as JSON; None where there is none.
        arguments, results: their properties, a row each.
        tokens: the estimate of what its definition costs a client's context.
    """

    entry: Entry
    hints: list[Fact]
    guards: list[Fact]
    limits: list[Fact]
    arguments: list[Property]
    input: Any
    results: list[Property]
    output: Any
    size: int
    tokens: int


def details(entry: Entry) -> Details:
    """What its page shows."""
    declared = entry.declared
    output = declared.output.schema if isinstance(declared, Tool) else None
    size = len(declared.definition_json(settings.versions[0]))
    return Details(
        entry=entry,
        hints=list(_hints(declared)),
        guards=list(_guards(declared)),
        limits=list(_limits(declared)),
        arguments=properties(declared.arguments.schema, declared.sensitive),
        input=declared.arguments.schema,
        results=properties(output or {}),
        output=output,
        size=size,
        tokens=tokens_of(size),
    )


def _hints(declared: Declaration) -> Iterator[Fact]:
    said = {True: _("yes"), False: _("no"), None: _("not said")}
    means = {
        "read_only": _("it changes nothing"),
        "destructive": _("it may delete or overwrite"),
        "idempotent": _("the same call again changes nothing more"),
        "open_world": _("it reaches beyond this product"),
    }
    if isinstance(declared, Tool):
        for name, word in HINTS.items():
            hint = getattr(declared, name)
            yield str(word), f"{said[hint]}: {means[name]}" if hint else said[hint]
    if isinstance(declared, Readable):
        yield _("Media type"), declared.mime_type or _("not said")
    yield _("Declared in"), codes([declared.module])


def _guards(declared: Declaration) -> Iterator[Fact]:
    classes = codes([class_text(cls) for cls in permission_classes(declared)])
    usual = "" if declared.permission_classes is not None else _("(the project's default)")
    yield _("Permission classes"), format_html_join(" ", "{}", ((classes,), (usual,)))
    yield _("HTTP method that these are shown"), codes([method_of(declared)])
    yield _("Scopes that a token needs"), _scopes(declared)
    if declared.client_capabilities:
        yield _("Capabilities of the client"), codes([*declared.client_capabilities])
    if isinstance(declared, Tool):
        yield _("A person is asked first"), declared.confirm or _("no")
    yield _("Arguments in the call log"), _kept(declared.audit or settings.AUDIT_ARGUMENTS)


def _kept(level: str) -> str:
    """What a call's row has of its arguments."""
    return {
        "none": _("none"),
        "names": _("their names, without values"),
        "redacted": _("names and values; secrets and what is marked sensitive are left out"),
        "digest": _("a digest keyed with SECRET_KEY: equal ones mean equal arguments"),
    }[level]


def _scopes(declared: Declaration) -> Any:
    return _lines(f"{scope}: {_description(scope)}" for scope in declared.scopes)


def _description(scope: str) -> str:
    return description(scope) if scope in settings.SCOPES else _("not declared in the settings")


def _limits(declared: Declaration) -> Iterator[Fact]:
    yield _("Throttles"), _lines(map(_throttle(declared), throttle_classes(declared)))
    own = declared.timeout
    yield _("Time limit"), _("%(n)g s") % {"n": settings.TOOL_TIMEOUT if own is None else own}
    most = settings.MAX_QUERIES
    yield _("Database queries"), _("no limit") if most is None else most
    yield _("Size of a result"), filesizeformat(settings.MAX_RESULT_BYTES)


def _throttle(declared: Declaration) -> Any:
    def told(cls: Any) -> str:
        rate = rate_of(cls, declared.throttle_scope)
        return f"{class_text(cls)}: {rate or _('no rate, so no limit')}"

    return told


def _lines(texts: Iterable[str]) -> Any:
    return format_html_join("", "{}<br>", ((text,) for text in texts)) or _("none")

"""From a function, a URI and keywords to a Resource or a ResourceTemplate: their rules."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from mcp_app.catalog import keywords, signature
from mcp_app.catalog.completers import completers
from mcp_app.catalog.keywords import CommonOptions
from mcp_app.catalog.problems import Problem, Refused
from mcp_app.catalog.resources import CacheScope, Resource, ResourceTemplate
from mcp_app.catalog.texts import TextArguments
from mcp_app.catalog.uris import TemplateInvalid, UriTemplate, check_uri, is_template

_MIME_TYPE: Final = re.compile(r"[\w.+-]+/[\w.+-]+(;.*)?", re.ASCII)
_AUDIENCES: Final = ({"user"}, {"assistant"}, {"user", "assistant"})
_ANNOTATIONS: Final = {"audience", "priority", "lastModified"}


class ResourceOptions(CommonOptions, total=False):
    """The keywords of `resource`."""

    mime_type: str | None
    size: int | None
    annotations: Mapping[str, Any] | None
    ttl_ms: int
    cache_scope: CacheScope
    complete: Mapping[str, Any]


def declared_resource(
    uri: str, function: Callable[..., Any], options: ResourceOptions
) -> Resource | ResourceTemplate:
    """What `function` gives at `uri`: a template where that has variables.

    Raises:
        Refused: with the first rule that the declaration breaks.
    """
    keywords.check_keywords(options, ResourceOptions.__annotations__)
    signed = signature.read(function)
    template = _template(uri)
    arguments = TextArguments(
        signed.parameters,
        context_name=signed.context_name,
        sensitive=keywords.names(options, "sensitive", Problem.SENSITIVE),
    )
    _check_variables(template.names if template is not None else (), arguments)
    guards: dict[str, Any] = {
        "name": keywords.text(options.get("name", function.__name__)),
        "description": keywords.docstring(function, options),
        **keywords.common(function, signed, options),
    }
    run: dict[str, Any] = {"function": function, "kind": signed.kind, "arguments": arguments}
    if template is None:
        _check_size(options)
        _refuse_completers(options)
        return Resource(uri=uri, size=options.get("size"), **run, **guards, **_facts(options))
    _refuse_size(options)
    offered = completers(options.get("complete", {}), arguments, guards)
    return ResourceTemplate(
        uri_template=template, completers=offered, **run, **guards, **_facts(options)
    )


def _template(uri: Any) -> UriTemplate | None:
    try:
        if not isinstance(uri, str):
            raise TemplateInvalid(f"{uri!r} is no text")
        if is_template(uri):
            return UriTemplate(uri)
        check_uri(uri)
    except TemplateInvalid as error:
        raise Refused(
            Problem.URI,
            str(error),
            "Write an absolute URI such as orders://recent, or a template such as"
            " orders://{id}, files:///{+path} or orders://list{?status,page}.",
        ) from None
    return None


def _check_variables(names: tuple[str, ...], arguments: TextArguments) -> None:
    parameters = set(arguments.schema["properties"])
    unknown = sorted(set(names) - parameters)
    unfilled = sorted(parameters - set(names))
    if unknown:
        raise Refused(
            Problem.VARIABLES,
            f"the function has no parameter for the variables {', '.join(unknown)}",
            "Name its parameters as the template's variables.",
        )
    if unfilled:
        raise Refused(
            Problem.VARIABLES,
            f"the URI has no variable for the parameters {', '.join(unfilled)}",
            f"Add them, such as {{?{','.join(unfilled)}}} at its end.",
        )


def _facts(options: ResourceOptions) -> dict[str, Any]:
    return {
        "mime_type": _mime_type(options.get("mime_type")),
        "annotations": _annotations(options.get("annotations")),
        "ttl_ms": _ttl(options.get("ttl_ms", 0)),
        "cache_scope": _scope(options.get("cache_scope", "private")),
    }


def _mime_type(value: Any) -> str | None:
    if value is None or (isinstance(value, str) and _MIME_TYPE.fullmatch(value)):
        return value
    raise Refused(Problem.CONTENTS, f"{value!r} is no media type", "Write one like text/plain.")


def _check_size(options: ResourceOptions) -> None:
    size: Any = options.get("size")
    if size is not None and not _is_count(size):
        raise Refused(Problem.CONTENTS, f"size is {size!r}", "Give it in bytes, or leave it out.")


def _refuse_size(options: ResourceOptions) -> None:
    if options.get("size") is not None:
        raise Refused(
            Problem.CONTENTS, "a template has a size", "Leave it out: each resource has its own."
        )


def _refuse_completers(options: ResourceOptions) -> None:
    if options.get("complete"):
        raise Refused(
            Problem.COMPLETERS,
            "a resource without variables has completers",
            "Leave complete out, or write a template.",
        )


def _ttl(value: Any) -> int:
    if _is_count(value):
        return int(value)
    raise Refused(
        Problem.CACHING, f"ttl_ms is {value!r}", "Give whole milliseconds, 0 for no caching."
    )


def _scope(value: Any) -> CacheScope:
    if value in ("public", "private"):
        scope: CacheScope = value
        return scope
    raise Refused(Problem.CACHING, f"cache_scope is {value!r}", 'Write "public" or "private".')


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _annotations(value: Any) -> Mapping[str, Any] | None:
    """`2026-07-28 server/resources` Annotations."""
    if value is None:
        return None
    if isinstance(value, Mapping) and set(value) <= _ANNOTATIONS and _are_fitting(value):
        return dict(value)
    raise Refused(
        Problem.ANNOTATIONS,
        "the annotations are not those of a resource",
        'Write {"audience": ["user", "assistant"], "priority": 0.5, "lastModified": "…"},'
        " as far as they apply.",
    )


def _are_fitting(value: Mapping[str, Any]) -> bool:
    audience, priority = value.get("audience", ["user"]), value.get("priority", 0)
    listed = isinstance(audience, list | tuple) and all(isinstance(who, str) for who in audience)
    number = isinstance(priority, int | float) and not isinstance(priority, bool)
    return (
        listed
        and set(audience) in _AUDIENCES
        and number
        and 0 <= priority <= 1
        and isinstance(value.get("lastModified", ""), str)
    )

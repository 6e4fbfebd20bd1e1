"""System checks: what is wrong with the settings and with declarations, before the first call.

Ids of declarations are those of `catalog.problems`.
"""

import logging
from typing import Any, Final

from channels.layers import InMemoryChannelLayer, get_channel_layer
from django.conf import settings as django_settings
from django.core.checks import CheckMessage, Error, Warning, register
from django.core.exceptions import ImproperlyConfigured

from mcp_app.catalog.registry import default_server
from mcp_app.conf import DEFAULTS, settings

TAG: Final = "mcp_app"
logger: Final = logging.getLogger("mcp_app")


def report() -> None:
    """At start-up: log what was left out, and stop for a scope that nobody can hold.

    Servers do not run system checks, and neither fault should wait for the first call.

    Raises:
        ImproperlyConfigured: something needs an undeclared scope.
    """
    for problem in default_server.problems:
        logger.error("%s %s (mcp_app.%s)", problem.message, problem.hint, problem.id)
    for error in check_scopes():
        raise ImproperlyConfigured(f"{error.msg} {error.hint}")


@register(TAG)
def check_setting_names(**kwargs: Any) -> list[CheckMessage]:
    """`mcp_app.E001`: a key that means nothing is a key misspelt."""
    return [
        Error(
            f"MCP_APP has no setting {name!r}.",
            hint=f"The settings are {', '.join(sorted(DEFAULTS))}.",
            id="mcp_app.E001",
        )
        for name in sorted(set(settings.raw) - set(DEFAULTS))
    ]


@register(TAG)
def check_declarations(**kwargs: Any) -> list[CheckMessage]:
    """A declaration that was left out, and why."""
    return [
        Error(problem.message, hint=problem.hint, id=f"mcp_app.{problem.id}")
        for problem in default_server.problems
    ]


@register(TAG)
def check_scopes(**kwargs: Any) -> list[CheckMessage]:
    """`mcp_app.E002`: a scope that no token can be given keeps everybody out."""
    return [
        Error(
            f"{declared.noun.capitalize()} {declared.key!r} of {declared.module} needs {scope!r},"
            " a scope that is not declared.",
            hint=f"Add it to MCP_APP['SCOPES'], with a description: {{{scope!r}: '…'}}.",
            id="mcp_app.E002",
        )
        for kind in default_server.kinds()
        for declared in default_server.listed(kind)
        for scope in declared.scopes
        if scope not in settings.SCOPES
    ]


@register(TAG, deploy=True)
def check_channel_layer(**kwargs: Any) -> list[CheckMessage]:
    """`mcp_app.W002`: without a shared layer, processes that stream do not hear each other."""
    layer = get_channel_layer()
    streams = getattr(django_settings, "ASGI_APPLICATION", None)
    if not streams or not (layer is None or isinstance(layer, InMemoryChannelLayer)):
        return []
    return [
        Warning(
            "Streams are served without a channel layer that several processes share.",
            hint="With more than one process, set CHANNEL_LAYERS to channels_redis.",
            id="mcp_app.W002",
        )
    ]


@register(TAG)
def check_anonymous(**kwargs: Any) -> list[CheckMessage]:
    """`mcp_app.W001`: an endpoint where nobody can authenticate answers 401 to everybody."""
    if settings.authentication_classes or settings.ALLOW_ANONYMOUS:
        return []
    return [
        Warning(
            "MCP_APP['AUTHENTICATION_CLASSES'] is empty, so that every request is refused.",
            hint="Name a class, or set MCP_APP['ALLOW_ANONYMOUS'] = True.",
            id="mcp_app.W001",
        )
    ]

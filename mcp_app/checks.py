"""System checks: what is wrong with the settings and with declarations, before the first call.

Ids of declarations are those of `catalog.problems`.
"""

import inspect
import logging
from functools import partial
from typing import Any, Final

from asgiref.sync import iscoroutinefunction
from channels.layers import InMemoryChannelLayer, get_channel_layer
from django.conf import settings as django_settings
from django.core.checks import CheckMessage, Error, Warning, register
from django.core.exceptions import ImproperlyConfigured

from mcp_app import scopes
from mcp_app.catalog.registry import default_server
from mcp_app.conf import DEFAULTS, HOOKS, settings
from mcp_app.dispatch.hooks import name_of

TAG: Final = "mcp_app"
logger: Final = logging.getLogger("mcp_app")


def report() -> None:
    """At start-up: log what was left out, and stop for what could only fail at every call.

    Servers do not run system checks, and no such fault should wait for the first call.

    Raises:
        ImproperlyConfigured: something needs or implies an undeclared scope, a scope implies
            itself, or a hook is async.
    """
    for problem in default_server.problems:
        logger.error("%s %s (mcp_app.%s)", problem.message, problem.hint, problem.id)
    for error in [*check_scopes(), *check_implied_scopes(), *check_hooks()]:
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


@register(TAG)
def check_implied_scopes(**kwargs: Any) -> list[CheckMessage]:
    """`mcp_app.E004`, `mcp_app.E005`: implied scopes that are not declared, or imply themselves."""
    undeclared = [
        Error(
            f"The scope {scope!r} implies {name!r}, a scope that is not declared.",
            hint=f"Add {name!r} to MCP_APP['SCOPES'], or take it out of the list 'implies'.",
            id="mcp_app.E004",
        )
        for scope in settings.SCOPES
        for name in scopes.listed(scope)
        if name not in settings.SCOPES
    ]
    circular = [
        Error(
            f"A scope implies itself: {' → '.join(way)}.",
            hint="Whoever holds one of them holds all: take one out of a list 'implies'."
            " A scope implies those that its name begins, too.",
            id="mcp_app.E005",
        )
        for way in scopes.cycles()
    ]
    return [*undeclared, *circular]


@register(TAG)
def check_hooks(**kwargs: Any) -> list[CheckMessage]:
    """`mcp_app.E003`: an async hook would never be awaited, and a coroutine is as good as a yes."""
    return [
        Error(
            f"MCP_APP[{name!r}] has the async function {name_of(hook)!r}; hooks are called by"
            " worker threads, which await nothing.",
            hint="Write a plain function; async_to_sync(…) makes one of what has to be awaited.",
            id="mcp_app.E003",
        )
        for name in HOOKS
        for hook in settings.hooks(name)
        if _is_async(hook)
    ]


def _is_async(hook: Any) -> bool:
    while isinstance(hook, partial):
        hook = hook.func
    called = hook if inspect.isroutine(hook) else getattr(hook, "__call__", None)  # noqa: B004
    return iscoroutinefunction(called) or inspect.isasyncgenfunction(called)


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

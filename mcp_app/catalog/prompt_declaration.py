"""From a function and its keywords to a Prompt: the rules that only prompts have."""

from collections.abc import Callable, Mapping
from typing import Any

from mcp_app.catalog import keywords, signature
from mcp_app.catalog.completers import completers
from mcp_app.catalog.keywords import CommonOptions
from mcp_app.catalog.problems import Problem
from mcp_app.catalog.prompts import Prompt
from mcp_app.catalog.texts import TextArguments


class PromptOptions(CommonOptions, total=False):
    """The keywords of `prompt`."""

    complete: Mapping[str, Any]


def declared_prompt(function: Callable[..., Any], options: PromptOptions) -> Prompt:
    """The prompt that `function` and its keywords declare.

    Raises:
        Refused: with the first rule that they break.
    """
    keywords.check_keywords(options, PromptOptions.__annotations__)
    signed = signature.read(function)
    arguments = TextArguments(
        signed.parameters,
        context_name=signed.context_name,
        sensitive=keywords.names(options, "sensitive", Problem.SENSITIVE),
    )
    guards: dict[str, Any] = {
        "name": keywords.checked_name(options.get("name", function.__name__), Prompt.noun),
        "description": keywords.described(function, options, Prompt.noun),
        **keywords.common(function, signed, options),
    }
    return Prompt(
        function=function,
        kind=signed.kind,
        arguments=arguments,
        completers=completers(options.get("complete", {}), arguments, guards),
        **guards,
    )

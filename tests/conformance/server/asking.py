"""The suite's fixture tools that ask their client for input while they run."""

from dataclasses import dataclass

from mcp_app import (
    Context,
    Elicit,
    ListRoots,
    Sample,
    TextContent,
    ToolError,
    prompt,
    tool,
)
from mcp_app.catalog.inputs import Elicited


@dataclass(frozen=True)
class Name:
    """Who somebody is."""

    name: str


@dataclass(frozen=True)
class Account:
    """What an account needs."""

    username: str
    email: str


@dataclass(frozen=True)
class Agreement:
    """A yes or a no."""

    ok: bool


@tool(read_only=True)
def test_sampling(ctx: Context, prompt: str) -> str:
    """Asks the client's model."""
    return f"LLM response: {ctx.sample(prompt, max_tokens=100).text}"


@tool(read_only=True)
def test_elicitation(ctx: Context, message: str) -> str:
    """Asks the user for an account."""
    return _told(ctx.elicit(message, Account))


@tool(read_only=True)
async def test_elicitation_sep1034_defaults(ctx: Context) -> str:
    """Asks with a default for each kind of field."""
    form = {
        "type": "object",
        "properties": {
            "name": {"type": "string", "default": "John Doe"},
            "age": {"type": "integer", "default": 30},
            "score": {"type": "number", "default": 95.5},
            "status": {
                "type": "string",
                "enum": ["active", "inactive", "pending"],
                "default": "active",
            },
            "verified": {"type": "boolean", "default": True},
        },
        "required": [],
    }
    return _told(await ctx.aelicit("Please review the defaults", form))


@tool(read_only=True)
async def test_elicitation_sep1330_enums(ctx: Context) -> str:
    """Asks with each kind of choice."""
    titled = [{"const": f"value{n}", "title": f"Option {n}"} for n in (1, 2, 3)]
    form = {
        "type": "object",
        "properties": {
            "untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
            "titledSingle": {"type": "string", "oneOf": titled},
            "legacyEnum": {
                "type": "string",
                "enum": ["opt1", "opt2", "opt3"],
                "enumNames": ["Option 1", "Option 2", "Option 3"],
            },
            "untitledMulti": {
                "type": "array",
                "items": {"type": "string", "enum": ["option1", "option2", "option3"]},
            },
            "titledMulti": {"type": "array", "items": {"anyOf": titled}},
        },
        "required": [],
    }
    return _told(await ctx.aelicit("Please choose", form))


@tool(read_only=True)
def test_streaming_elicitation(ctx: Context) -> str:
    """Asks, which a stream of the stateless era must not do by itself."""
    return _told(ctx.elicit("What is your name?", Name))


@tool(read_only=True, client_capabilities=["sampling"])
def test_missing_capability() -> str:
    """Needs a client that can sample."""
    return "The client can sample."


@tool(read_only=True)
def test_input_required_result_elicitation(ctx: Context) -> str:
    """Greets whoever the user says they are."""
    answer = ctx.elicit("What is your name?", Name, key="user_name")
    if not answer.accepted or answer.content is None:
        raise ToolError("Nobody to greet.")
    return f"Hello, {answer.content.name}!"


@tool(read_only=True)
def test_input_required_result_sampling(ctx: Context) -> str:
    """Asks the client's model for a capital."""
    said = ctx.sample("What is the capital of France?", max_tokens=100, key="capital_question")
    return said.text


@tool(read_only=True)
def test_input_required_result_list_roots(ctx: Context) -> str:
    """Lists the client's roots."""
    return ", ".join(root.uri for root in ctx.roots(key="client_roots"))


@tool(read_only=True)
def test_input_required_result_request_state(ctx: Context) -> str:
    """Asks for a confirmation, whose answer comes with the state."""
    ctx.elicit("Please confirm", Agreement, key="confirm")
    return "state-ok"


@tool(read_only=True)
def test_input_required_result_multiple_inputs(ctx: Context) -> str:
    """Asks three things at once."""
    answers = ctx.ask(
        {
            "user_name": Elicit("What is your name?", Name),
            "greeting": Sample("Generate a greeting", max_tokens=50),
            "client_roots": ListRoots(),
        }
    )
    return f"{answers['greeting'].text} ({len(answers['client_roots'])} roots)"


@tool(read_only=True)
def test_input_required_result_multi_round(ctx: Context) -> str:
    """Asks one thing after another."""
    first = ctx.elicit("Step 1: what is your name?", Name, key="step1")
    color = {"type": "object", "properties": {"color": {"type": "string"}}, "required": ["color"]}
    second = ctx.elicit("Step 2: what is your favourite color?", color, key="step2")
    return f"{_told(first)} {_told(second)}"


@tool(read_only=True)
def test_input_required_result_tampered_state(ctx: Context) -> str:
    """Asks for a confirmation; a state that was tampered with is refused."""
    ctx.elicit("Please confirm", Agreement, key="confirm")
    return "state-ok"


@tool(read_only=True)
def test_input_required_result_capabilities(ctx: Context) -> str:
    """Asks for what the client declared that it can do."""
    if "sampling" in ctx.client_capabilities:
        return ctx.sample("What is the capital of France?", max_tokens=100, key="capital").text
    return _told(ctx.elicit("What is your name?", Name, key="user_name"))


@prompt
def test_input_required_result_prompt(ctx: Context) -> TextContent:
    """A prompt that asks for its context first."""
    form = {
        "type": "object",
        "properties": {"context": {"type": "string"}},
        "required": ["context"],
    }
    answer = ctx.elicit("What context should the prompt have?", form, key="user_context")
    content = answer.content or {}
    return TextContent(f"Use this context: {content.get('context', 'none')}")


def _told(answer: Elicited[object]) -> str:
    return f"Elicitation completed: action={answer.action}, content={answer.content}"

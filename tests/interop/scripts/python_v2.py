"""The official Python SDK 2.x walks through everything; prints JSON.

Environment: URL, TOKEN, MODE ("legacy", "auto" or a revision).
"""

import asyncio
import json
import os
from typing import Any

import anyio
import httpx2
import mcp_types as types
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import ResourceUpdated

MODE = os.environ["MODE"]
NOTE = "notes://a"
answers = [
    types.ElicitResult(action="accept", content={"name": "Ada"}),
    types.ElicitResult(action="decline"),
]
logs: list[str] = []
heard: asyncio.Queue[str] = asyncio.Queue()


async def elicit(context: Any, params: Any) -> types.ElicitResult:
    """Accept the first time, decline the second."""
    return answers.pop(0)


async def sample(context: Any, params: Any) -> types.CreateMessageResult:
    """Be a model."""
    text = types.TextContent(type="text", text="fine")
    return types.CreateMessageResult(role="assistant", model="m", content=text)


async def roots(context: Any) -> types.ListRootsResult:
    """Work in one place."""
    return types.ListRootsResult(roots=[types.Root(uri="file:///work")])


async def note_log(params: Any) -> None:
    """Keep a log message."""
    logs.append(params.data)


async def note_message(message: Any) -> None:
    """Keep what a handshake session is told of changes."""
    if isinstance(message, types.ToolListChangedNotification):
        heard.put_nowait("tools")
    elif isinstance(message, types.ResourceUpdatedNotification):
        heard.put_nowait(message.params.uri)


async def walk(client: Client) -> dict[str, Any]:
    """Use each feature once, and say what came of it."""
    seen: dict[str, Any] = {"version": client.protocol_version}
    seen["tools"] = sorted(tool.name for tool in (await client.list_tools()).tools)
    told = await client.call_tool("total", {"a": 2, "b": 3})
    seen["structured"] = told.structured_content
    failed = await client.call_tool("fail")
    seen["failed"] = [failed.is_error, failed.content[0].text]
    seen["progress"] = []

    async def report(progress: float, of: float | None, message: str | None) -> None:
        seen["progress"].append([progress, of, message])

    seen["text"] = (await client.call_tool("steps", progress_callback=report)).content[0].text
    seen["logs"] = logs
    for name in ("accepted", "declined"):
        seen[name] = (await client.call_tool("greet")).content[0].text
    seen["sampled"] = (await client.call_tool("think")).content[0].text
    seen["roots"] = (await client.call_tool("look")).content[0].text
    seen["read"] = (await client.read_resource(NOTE)).contents[0].text
    templates = await client.list_resource_templates()
    seen["templates"] = [template.uri_template for template in templates.resource_templates]
    seen["prompts"] = [prompt.name for prompt in (await client.list_prompts()).prompts]
    got = await client.get_prompt("cheer", {"mood": "glad"})
    seen["prompt"] = got.messages[0].content.text
    reference = types.PromptReference(type="ref/prompt", name="cheer")
    completed = await client.complete(reference, {"name": "mood", "value": "g"})
    seen["completed"] = completed.completion.values
    seen["heard"] = await (changes if MODE == "legacy" else subscription)(client)
    await client.call_tool("promote", {"staff": True})
    seen["cancelled"] = await cancelled(client)
    return seen


async def change(client: Client) -> None:
    """What the others are to be told of."""
    await client.call_tool("touch", {"name": "a"})
    await client.call_tool("promote", {"staff": False})


async def changes(client: Client) -> list[str]:
    """A handshake session's own stream."""
    await client.subscribe_resource(NOTE)
    await change(client)
    kinds = set()
    async with asyncio.timeout(20):
        while len(kinds) < 2:
            kinds.add(await heard.get())
    return sorted(kinds)


async def subscription(client: Client) -> list[str]:
    """A stream of its own."""
    kinds: set[str] = set()
    async with (
        asyncio.timeout(20),
        client.listen(tools_list_changed=True, resource_subscriptions=[NOTE]) as listening,
    ):
        await change(client)
        async for event in listening:
            kinds.add(event.uri if isinstance(event, ResourceUpdated) else "tools")
            if len(kinds) == 2:
                break
    return sorted(kinds)


async def cancelled(client: Client) -> bool:
    """Give a call up once it runs."""
    with anyio.CancelScope() as scope:

        async def give_up(*_: Any) -> None:
            scope.cancel()

        await client.call_tool("wait", progress_callback=give_up)
    await client.call_tool("read")  # leaving at once would drop what is on its way
    return scope.cancelled_caught


async def main() -> None:
    """Connect, walk, print."""
    headers = {"Authorization": f"Bearer {os.environ['TOKEN']}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=30) as http,
        Client(
            streamable_http_client(os.environ["URL"], http_client=http),
            mode=MODE,
            elicitation_callback=elicit,
            sampling_callback=sample,
            list_roots_callback=roots,
            logging_callback=note_log,
            log_level="info",
            message_handler=note_message,
            client_info=types.Implementation(name=os.environ["NAME"], version="1"),
        ) as client,
    ):
        if MODE == "legacy":
            await client.set_logging_level("info")
        print(json.dumps(await walk(client)))


asyncio.run(main())

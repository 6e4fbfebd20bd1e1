"""FastMCP's client walks through everything; prints JSON.

Environment: URL, TOKEN, MODE ("legacy", "auto" or a revision).
"""

import asyncio
import json
import os
from typing import Any

import mcp_types as types
from fastmcp import Client
from fastmcp.client.elicitation import ElicitResult
from fastmcp.client.transports import StreamableHttpTransport

MODE = os.environ["MODE"]
NOTE = "notes://a"
answers = [ElicitResult(action="accept", content={"name": "Ada"}), ElicitResult(action="decline")]
logs: list[str] = []
heard: asyncio.Queue[str] = asyncio.Queue()


async def elicit(message: str, response_type: Any, params: Any, context: Any) -> Any:
    """Accept the first time, decline the second."""
    return answers.pop(0)


async def sample(messages: Any, params: Any, context: Any) -> str:
    """Be a model."""
    return "fine"


async def note_log(message: Any) -> None:
    """Keep a log message."""
    logs.append(message.data)


async def note_message(message: Any) -> None:
    """Keep what a handshake session is told of changes."""
    if isinstance(message, types.ToolListChangedNotification):
        heard.put_nowait("tools")
    elif isinstance(message, types.ResourceUpdatedNotification):
        heard.put_nowait(str(message.params.uri))


async def walk(client: Client) -> dict[str, Any]:
    """Use each feature once, and say what came of it."""
    seen: dict[str, Any] = {"version": client.protocol_version}
    seen["tools"] = sorted(tool.name for tool in await client.list_tools())
    seen["structured"] = (await client.call_tool("total", {"a": 2, "b": 3})).structured_content
    failed = await client.call_tool("fail", raise_on_error=False)
    seen["failed"] = [failed.is_error, failed.content[0].text]
    seen["progress"] = []

    async def report(progress: float, of: float | None, message: str | None) -> None:
        seen["progress"].append([progress, of, message])

    meta = {"io.modelcontextprotocol/logLevel": "info"} if MODE != "legacy" else None
    told = await client.call_tool("steps", progress_handler=report, meta=meta)
    seen["text"], seen["logs"] = told.content[0].text, logs
    for name in ("accepted", "declined"):
        seen[name] = (await client.call_tool("greet")).content[0].text
    seen["sampled"] = (await client.call_tool("think")).content[0].text
    seen["roots"] = (await client.call_tool("look")).content[0].text
    seen["read"] = (await client.read_resource(NOTE))[0].text
    templates = await client.list_resource_templates()
    seen["templates"] = [template.uri_template for template in templates]
    seen["prompts"] = [prompt.name for prompt in await client.list_prompts()]
    got = await client.get_prompt("cheer", {"mood": "glad"})
    seen["prompt"] = got.messages[0].content.text
    reference = types.PromptReference(type="ref/prompt", name="cheer")
    seen["completed"] = (await client.complete(reference, {"name": "mood", "value": "g"})).values
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
    await client.session.subscribe_resource(NOTE)
    await change(client)
    kinds: set[str] = set()
    async with asyncio.timeout(20):
        while len(kinds) < 2:
            kinds.add(await heard.get())
    return sorted(kinds)


async def subscription(client: Client) -> list[str]:
    """A stream of its own, as the SDK beneath offers it."""
    from mcp.client.subscriptions import ResourceUpdated, listen

    kinds: set[str] = set()
    async with (
        asyncio.timeout(20),
        listen(client.session, tools_list_changed=True, resource_subscriptions=[NOTE]) as heard,
    ):
        await change(client)
        async for event in heard:
            kinds.add(event.uri if isinstance(event, ResourceUpdated) else "tools")
            if len(kinds) == 2:
                break
    return sorted(kinds)


async def cancelled(client: Client) -> bool:
    """Give a call up once it runs."""
    began = asyncio.Event()

    async def begin(*_: Any) -> None:
        began.set()

    call = asyncio.create_task(client.call_tool("wait", progress_handler=begin))
    await began.wait()
    call.cancel()
    await asyncio.wait({call})
    await client.call_tool("read")  # leaving at once would drop what is on its way
    return call.cancelled()


async def main() -> None:
    """Connect, walk, print."""
    async with Client(
        StreamableHttpTransport(os.environ["URL"]),
        auth=os.environ["TOKEN"],
        mode=MODE,
        elicitation_handler=elicit,
        sampling_handler=sample,
        roots=["file:///work"],
        log_handler=note_log,
        message_handler=note_message,
        client_info=types.Implementation(name=os.environ["NAME"], version="1"),
    ) as client:
        if MODE == "legacy":
            await client.set_logging_level("info")
        print(json.dumps(await walk(client)))


asyncio.run(main())

"""The official Python SDK 1.x, of the handshake era, walks through everything; prints JSON.

Environment: URL, TOKEN.
"""

import asyncio
import json
import os
from typing import Any

from mcp import ClientSession, types
from mcp.client.streamable_http import streamablehttp_client
from pydantic import AnyUrl

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
    return types.ListRootsResult(roots=[types.Root(uri=AnyUrl("file:///work"))])


async def note_log(params: Any) -> None:
    """Keep a log message."""
    logs.append(params.data)


async def note_message(message: Any) -> None:
    """Keep what the session is told of changes."""
    if isinstance(message, types.ServerNotification):
        if isinstance(message.root, types.ToolListChangedNotification):
            heard.put_nowait("tools")
        elif isinstance(message.root, types.ResourceUpdatedNotification):
            heard.put_nowait(str(message.root.params.uri))


async def walk(session: ClientSession) -> dict[str, Any]:
    """Use each feature once, and say what came of it."""
    seen: dict[str, Any] = {"version": (await session.initialize()).protocolVersion}
    await session.set_logging_level("info")
    seen["tools"] = sorted(tool.name for tool in (await session.list_tools()).tools)
    seen["structured"] = (await session.call_tool("total", {"a": 2, "b": 3})).structuredContent
    failed = await session.call_tool("fail")
    seen["failed"] = [failed.isError, failed.content[0].text]
    seen["progress"] = []

    async def report(progress: float, of: float | None, message: str | None) -> None:
        seen["progress"].append([progress, of, message])

    told = await session.call_tool("steps", progress_callback=report)
    seen["text"], seen["logs"] = told.content[0].text, logs
    for name in ("accepted", "declined"):
        seen[name] = (await session.call_tool("greet")).content[0].text
    seen["sampled"] = (await session.call_tool("think")).content[0].text
    seen["roots"] = (await session.call_tool("look")).content[0].text
    seen["read"] = (await session.read_resource(AnyUrl(NOTE))).contents[0].text
    templates = (await session.list_resource_templates()).resourceTemplates
    seen["templates"] = [template.uriTemplate for template in templates]
    seen["prompts"] = [prompt.name for prompt in (await session.list_prompts()).prompts]
    got = await session.get_prompt("cheer", {"mood": "glad"})
    seen["prompt"] = got.messages[0].content.text
    reference = types.PromptReference(type="ref/prompt", name="cheer")
    completed = await session.complete(reference, {"name": "mood", "value": "g"})
    seen["completed"] = completed.completion.values
    seen["heard"] = await changes(session)
    await session.call_tool("promote", {"staff": True})
    seen["cancelled"] = await cancelled(session)
    return seen


async def changes(session: ClientSession) -> list[str]:
    """What the session's own stream tells."""
    await session.subscribe_resource(AnyUrl(NOTE))
    await session.call_tool("touch", {"name": "a"})
    await session.call_tool("promote", {"staff": False})
    kinds: set[str] = set()
    async with asyncio.timeout(20):
        while len(kinds) < 2:
            kinds.add(await heard.get())
    return sorted(kinds)


async def cancelled(session: ClientSession) -> bool:
    """Give a call up once it runs; this client leaves it to its user to say so."""
    request_id = session._request_id
    began = asyncio.Event()

    async def begin(*_: Any) -> None:
        began.set()

    call = asyncio.create_task(session.call_tool("wait", progress_callback=begin))
    await began.wait()
    params = types.CancelledNotificationParams(requestId=request_id)
    notification = types.CancelledNotification(method="notifications/cancelled", params=params)
    await session.send_notification(types.ClientNotification(notification))
    await session.send_ping()
    call.cancel()
    await asyncio.wait({call})
    return call.cancelled()


async def main() -> None:
    """Connect, walk, print."""
    headers = {"Authorization": f"Bearer {os.environ['TOKEN']}"}
    async with (
        streamablehttp_client(os.environ["URL"], headers=headers) as (incoming, outgoing, _),
        ClientSession(
            incoming,
            outgoing,
            elicitation_callback=elicit,
            sampling_callback=sample,
            list_roots_callback=roots,
            logging_callback=note_log,
            message_handler=note_message,
            client_info=types.Implementation(name=os.environ["NAME"], version="1"),
        ) as session,
    ):
        print(json.dumps(await walk(session)))


asyncio.run(main())

"""Other people's clients, each as one function: list the tools, call one, say what was seen."""

import asyncio
import json
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx2
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

from tests.peers.install import environment, install, node

HERE: Final = Path(__file__).parent
MODERN: Final = "2026-07-28"
LEGACY: Final = "2025-11-25"
_LIMIT: Final = 60  # seconds a client


@dataclass(frozen=True)
class Call:
    """What a client is to do, and the scratch folder it may use."""

    url: str
    token: str
    tool: str
    arguments: Mapping[str, Any]
    scratch: Path


@dataclass(frozen=True)
class Seen:
    """What the client saw; `version` is None where it does not tell."""

    version: str | None
    tools: list[str]
    result: Mapping[str, Any]


def python_sdk(call: Call, mode: str) -> Seen:
    """The official Python SDK, in this process."""
    return asyncio.run(_python_sdk(call, mode))


async def _python_sdk(call: Call, mode: str) -> Seen:
    headers = {"Authorization": f"Bearer {call.token}"}
    async with httpx2.AsyncClient(headers=headers, timeout=30) as http:
        transport = streamable_http_client(call.url, http_client=http)
        async with Client(transport, mode=mode) as client:
            tools = (await client.list_tools()).tools
            result = await client.call_tool(call.tool, dict(call.arguments))
            return Seen(
                client.protocol_version,
                [tool.name for tool in tools],
                result.model_dump(mode="json", by_alias=True, exclude_none=True),
            )


def typescript_v1(call: Call, mode: str) -> Seen:
    """The TypeScript SDK 1.x."""
    return _typescript("typescript_v1.mjs", call, mode)


def typescript_v2(call: Call, mode: str) -> Seen:
    """The TypeScript SDK 2.x."""
    return _typescript("typescript_v2.mjs", call, mode)


def _typescript(script: str, call: Call, mode: str) -> Seen:
    peers = install()
    seen = _json_of(
        [str(node(peers)), str(HERE / script)],
        PEERS=str(peers),
        URL=call.url,
        TOKEN=call.token,
        MODE=mode,
        TOOL=call.tool,
        ARGUMENTS=json.dumps(call.arguments),
    )
    return Seen(seen["version"], seen["tools"], seen["result"])


def inspector(call: Call, mode: str) -> Seen:
    """The Inspector's command line; it runs one method at a time."""
    arguments = [f"{name}={json.dumps(value)}" for name, value in call.arguments.items()]
    listed = inspect(call, mode, "tools/list")
    called = inspect(
        call,
        mode,
        *["tools/call", "--tool-name", call.tool],
        *(part for argument in arguments for part in ("--tool-arg", argument)),
    )
    return Seen(None, [tool["name"] for tool in listed["tools"]], called)


def inspect(call: Call, mode: str, method: str, *more: str) -> Any:
    """What one method of the Inspector's command line prints."""
    peers = install()
    program = peers / "node_modules" / ".bin" / "mcp-inspector"
    answer = _json_of(
        [
            *[str(node(peers)), str(program), "--cli"],
            *["--server-url", call.url, "--transport", "http", "--protocol-era", mode],
            *["--header", f"Authorization: Bearer {call.token}", "--stored-auth-only"],
            *["--format", "json", "--method", method, *more],
        ],
        HOME=str(call.scratch),
    )
    return answer["result"]


def _json_of(command: list[str], **more: str) -> Any:
    done = subprocess.run(
        command,
        env=environment(install(), **more),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_LIMIT,
        check=False,
    )
    if done.returncode:
        raise AssertionError(f"{command[1]} exits {done.returncode}:\n{done.stderr}{done.stdout}")
    return json.loads(done.stdout)


@dataclass(frozen=True)
class Peer:
    """One client in one mode, and the revision that it should arrive at."""

    run: Callable[[Call, str], Seen]
    mode: str
    version: str | None

    def __str__(self) -> str:
        return f"{self.run.__name__}-{self.mode}"


PEERS: Final = (
    Peer(python_sdk, "legacy", LEGACY),
    Peer(python_sdk, "auto", MODERN),
    Peer(python_sdk, MODERN, MODERN),
    Peer(typescript_v1, "legacy", LEGACY),
    Peer(typescript_v2, "legacy", LEGACY),
    Peer(typescript_v2, "auto", MODERN),
    Peer(typescript_v2, MODERN, MODERN),
    Peer(inspector, "legacy", None),
    Peer(inspector, "auto", None),
    Peer(inspector, "modern", None),
)

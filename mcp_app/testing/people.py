"""Who answers what calls ask: the client's user, or its model, as a test wants them."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from mcp_app.testing.answer import Answer, events_in

Answers = Mapping[str, Any] | Callable[[dict[str, Any]], Mapping[str, Any]]
"""The result for every question, or a function of the request that asks."""

Heard = Callable[[bytes], None]
"""Hears the next bytes of a stream."""

_MOST: Final = 50
"""Questions of one client: a call that asks on and on fails its test."""


def accept(**content: Any) -> dict[str, Any]:
    """The user agrees, with what they entered in the form."""
    return {"action": "accept", "content": content}


def decline() -> dict[str, Any]:
    """The user says no."""
    return {"action": "decline"}


def cancel() -> dict[str, Any]:
    """The user closes the question."""
    return {"action": "cancel"}


class Person:
    """Answers questions, and remembers them."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers
        self.asked: list[dict[str, Any]] = []

    def answered(self, answer: Answer) -> dict[str, Any] | None:
        """The params to call again with, where a call of 2026-07-28 ended with questions."""
        ends = (message["result"] for message in answer.messages if "result" in message)
        result = next((r for r in ends if r.get("resultType") == "input_required"), None)
        if result is None:
            return None
        told = {key: self._answer(asks) for key, asks in result["inputRequests"].items()}
        return {"inputResponses": told, "requestState": result["requestState"]}

    def ear(self, post: Callable[[Mapping[str, Any]], None]) -> Heard:
        """What hears a stream's bytes, and posts a response for each request in them."""
        unread = b""

        def hear(chunk: bytes) -> None:
            nonlocal unread
            events, separator, unread = (unread + chunk).rpartition(b"\n\n")
            for message in events_in(events + separator):
                if "method" in message and "id" in message:
                    result = self._answer(message)
                    post({"jsonrpc": "2.0", "id": message["id"], "result": result})

        return hear

    def _answer(self, asks: Mapping[str, Any]) -> dict[str, Any]:
        request = {"method": asks["method"], "params": asks.get("params", {})}
        self.asked.append(request)
        assert len(self.asked) <= _MOST, f"asked on and on: {request}"
        return dict(self._answers(request) if callable(self._answers) else self._answers)

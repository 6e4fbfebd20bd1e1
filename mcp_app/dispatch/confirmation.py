"""Whether a person has agreed to a call, in the very words that hold when it runs.

A call that waited for its answer is judged once more. Where its caller may not make it any more, it
does not run; where the hooks' question is another one by then, it is asked again.
"""

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from mcp_app.catalog.inputs import CONFIRMATION, Confirmation
from mcp_app.dispatch.calls import Call, Ran
from mcp_app.dispatch.hooks import (
    Confirm,
    Declined,
    Dismissed,
    NotAnswered,
    NotConfirmed,
    QuestionChanged,
)
from mcp_app.dispatch.inputs import CannotAsk, Unanswered
from mcp_app.protocol.errors import MissingCapability

ROUNDS: Final = 3
"""How often a person is asked in other words before the call is refused."""


def ask(call: Call) -> Ran | None:
    """Ask the client of a call that awaits agreement. What ends the call, if it does.

    Never raises.
    """
    confirm = _question(call)
    try:
        call.inbound.cancellation.check()
        answers = call.inbound.inputs.ask({CONFIRMATION: Confirmation(confirm.message)})
        return _heard(call, confirm, answers)
    except BaseException as error:
        return Ran(error=_reason(confirm, error))


async def aask(call: Call) -> Ran | None:
    """`ask` from async code.

    Raises:
        asyncio.CancelledError: the task was cancelled.
    """
    confirm = _question(call)
    try:
        call.inbound.cancellation.check()
        answers = await call.inbound.inputs.aask({CONFIRMATION: Confirmation(confirm.message)})
        return _heard(call, confirm, answers)
    except asyncio.CancelledError:
        raise
    except BaseException as error:
        return Ran(error=_reason(confirm, error))


def given_up(call: Call) -> Ran | None:
    """What ends a call whose question was another one each time; None for one that may go on."""
    if not call.awaits_agreement:
        return None
    return Ran(error=QuestionChanged())


def _question(call: Call) -> Confirm:
    assert isinstance(call.verdict, Confirm), "only such a call awaits agreement"
    return call.verdict


def _heard(call: Call, confirm: Confirm, answers: Mapping[str, Any]) -> Ran | None:
    if answers[CONFIRMATION] != "accept":
        return Ran(error=Declined() if answers[CONFIRMATION] == "decline" else Dismissed())
    call.agreed_to = confirm.message
    return None


def _reason(confirm: Confirm, error: BaseException) -> BaseException:
    """Why the call does not run: a fallback is for clients whose user cannot be asked."""
    if isinstance(error, Unanswered):
        return NotAnswered(str(error))
    if isinstance(error, CannotAsk):
        return NotConfirmed(str(error), confirm.fallback)
    if isinstance(error, MissingCapability) and confirm.fallback is not None:
        return NotConfirmed(str(error), confirm.fallback)
    return error

"""The strictest policy that a host may set: nothing inline, and nothing from anywhere else."""

from collections.abc import Callable
from typing import Final

from django.http import HttpRequest, HttpResponseBase

POLICY: Final = "default-src 'self'"

Answer = Callable[[HttpRequest], HttpResponseBase]


def content_security_policy(get_response: Answer) -> Answer:
    """Middleware that says so in every answer; what breaks it is an error in the console."""

    def answer(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        response["Content-Security-Policy"] = POLICY
        return response

    return answer

"""A request without the session that its cookie stands for, since a token decides who calls."""

from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.contrib.sessions.backends.base import SessionBase
from django.http import HttpRequest


def sessionless(request: HttpRequest) -> HttpRequest:
    """The same request without cookies and the user that the host's middleware found by them.

    The host's own middleware keeps the request that it has.
    """
    made: HttpRequest = HttpRequest.__new__(type(request))
    bare: Any = made
    vars(bare).update(vars(request))
    # What Django has made of the headers is made anew.
    vars(bare).pop("headers", None)
    bare.META = {key: value for key, value in request.META.items() if key != "HTTP_COOKIE"}
    bare.COOKIES = {}
    if hasattr(request, "user"):
        bare.user, bare.auser = AnonymousUser(), _nobody
    if isinstance(session := getattr(request, "session", None), SessionBase):
        bare.session = type(session)()
    return made


async def _nobody() -> AnonymousUser:
    return AnonymousUser()

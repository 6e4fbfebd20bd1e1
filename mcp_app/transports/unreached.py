"""What a host's middleware refuses before the view is reached, answered as the view would have.

Django's `handler400`: CommonMiddleware and SecurityMiddleware ask for the Host before any view can.
"""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import Resolver404, resolve
from django.views.defaults import bad_request as page

from mcp_app.transports.view import EndpointView


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """JSON where the address is an endpoint's, and Django's own page elsewhere.

    In the root `urls.py`: `handler400 = "mcp_app.urls.bad_request"`. With DEBUG nobody asks it.
    """
    view = _view_of(request)
    return view.refuse(request) if isinstance(view, EndpointView) else page(request, exception)


def _view_of(request: HttpRequest) -> Any:
    try:
        return resolve(request.path_info, getattr(request, "urlconf", None)).func
    except Resolver404:
        return None

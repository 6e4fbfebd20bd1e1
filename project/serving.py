"""Knows how to run the example under daphne in the foreground; knows nothing of its data."""

import errno
import socket
from collections.abc import Callable

from django.core.management.base import CommandError

HOST = "127.0.0.1"


def refuse_busy_port(port: int) -> None:
    """Raise `CommandError` where something listens on the port already, before work is done."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise CommandError(_sentence(port, error)) from error


def _sentence(port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"Port {port} is in use; choose another with `make run PORT={port + 1}`."
    return f"Port {port} of {HOST} cannot be used: {error.strerror}."


def serve(port: int, ready: Callable[[], None]) -> None:
    """Serve `project.asgi` until the process is told to stop; `ready` is called once it listens."""
    from daphne.endpoints import build_endpoint_description_strings
    from daphne.server import Server

    from project.asgi import application

    Server(
        application=application,
        endpoints=build_endpoint_description_strings(host=HOST, port=port),
        ready_callable=ready,
        verbosity=0,
    ).run()

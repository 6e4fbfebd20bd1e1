"""`manage.py run_example`, behind `make run`: from nothing to a served example in one command."""

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand
from django.db import connections

from mcp_app.auth.verification import verify
from mcp_app.transports.first_call import first_call
from project.people import read
from project.serving import HOST, refuse_busy_port, serve
from project.welcome import welcome


class Command(BaseCommand):
    """Prints where to connect, and with what, once the server listens."""

    help = "Prepare the example and serve it with daphne until Ctrl-C."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--port", type=int, default=8000)
        parser.add_argument("--fresh", action="store_true", help="delete the data and start over")

    def handle(self, *args: Any, **options: Any) -> None:
        port: int = options["port"]
        refuse_busy_port(port)
        call_command("prepare_example", fresh=options["fresh"], stdout=self.stdout)
        credentials = read(settings.CREDENTIALS_FILE)
        tool = first_call(verify(credentials.token).token, source="example")
        connections.close_all()  # the server has threads and connections of its own
        text = welcome(f"http://{HOST}:{port}", credentials, tool)
        serve(port, ready=lambda: self._say(text))

    def _say(self, text: str) -> None:
        self.stdout.write(text)
        self.stdout.flush()  # whoever reads a pipe waits for it

"""`python -m bench.servers.peers.prepare MODULE`: make its tables, and print the token it takes."""

import importlib
import sys

peer = importlib.import_module(f"bench.servers.peers.{sys.argv[1]}")

from django.core.management import call_command  # noqa: E402

call_command("migrate", run_syncdb=True, verbosity=0)
print(peer.credentials())

"""`make conformance`: the official suite against our fixture server, one line a leg.

Prints `LEG <version|all> <successes>/<failures>/<warnings>`, counted from the suite's own results,
and exits 1 where a leg failed: an unexpected failure or warning, or an expected one that passes.
Every request carries a token, so that the real authentication runs too; or none does, with
`--anonymous`. One process is on SQLite, several share PostgreSQL and Redis.
"""

import argparse
import contextlib
import secrets
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests import live
from tests.conformance.legs import LEGS, Leg, Suite, expect, expect_nothing
from tests.peers.install import install

MODULE = "tests.conformance.server"
USER = "conformance"


def main() -> int:
    """Run the legs that were asked for; the exit code says whether all passed."""
    options = _options()
    legs = [leg for leg in LEGS if not options.leg or leg.name in options.leg]
    peers = install()
    with tempfile.TemporaryDirectory(prefix="conformance-") as name:
        state = Path(name)
        log = state / "server.log"
        kind = "sqlite" if options.processes == 1 else "postgresql"
        with (
            live.scratch_database(kind) as database,
            _server(state, options, log, database) as (url, token),
        ):
            suite = Suite(peers, url, token, state)
            passed = [_leg(leg, suite, options) for leg in legs]
        if not all(passed):
            print("The server's log ends:", *log.read_text().splitlines()[-40:], sep="\n  ")
    return 0 if all(passed) else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--processes", type=int, default=1, help="server processes behind the port")
    parser.add_argument("--server", choices=["daphne", "uvicorn"], help="daphne for one process")
    parser.add_argument("--anonymous", action="store_true", help="send no token")
    parser.add_argument("--leg", action="append", choices=[leg.name for leg in LEGS])
    parser.add_argument("--verbose", action="store_true", help="print what the suite prints")
    parser.add_argument(
        "--write-expected-failures", action="store_true", help="expect exactly what fails now"
    )
    options = parser.parse_args()
    options.server = options.server or ("daphne" if options.processes == 1 else "uvicorn")
    if options.server == "daphne" and options.processes > 1:
        parser.error("daphne has one process; choose uvicorn")
    return options


@contextlib.contextmanager
def _server(
    state: Path, options: argparse.Namespace, log: Path, database: str
) -> Iterator[tuple[str, str]]:
    """The fixture server's address, and a token or none; several processes share Redis."""
    environment = live.environment(
        state,
        f"{MODULE}.settings",
        EXAMPLE_DATABASE=database,
        CONFORMANCE_ANONYMOUS=str(int(options.anonymous)),
    )
    if options.processes > 1:
        environment.setdefault("REDIS_URL", "redis://127.0.0.1:6379/0")
    live.manage(environment, "migrate", "--verbosity", "0")
    token = "" if options.anonymous else _token(environment)
    port = live.free_port()
    command = live.command(options.server, port, MODULE, options.processes)
    with live.running(command, port, environment, log):
        yield f"http://{live.HOST}:{port}/mcp", token


def _token(environment: dict[str, str]) -> str:
    live.manage(
        environment | {"DJANGO_SUPERUSER_PASSWORD": secrets.token_urlsafe()},
        *["createsuperuser", "--no-input"],
        *["--username", USER, "--email", f"{USER}@example.com"],
    )
    name = "Conformance suite"
    return live.manage(environment, "mcp_token", "create", USER, "--name", name, "--plain").strip()


def _leg(leg: Leg, suite: Suite, options: argparse.Namespace) -> bool:
    if options.write_expected_failures:
        expect_nothing(leg)
        expect(leg, suite.run(leg))
    outcome = suite.run(leg)
    print(f"LEG {leg.name} {outcome}", flush=True)
    if options.verbose or not outcome.passed:
        summary = outcome.output.partition("=== SUMMARY ===")[2]
        print(outcome.output if options.verbose or not summary else summary.strip(), flush=True)
    return outcome.passed


if __name__ == "__main__":
    sys.exit(main())

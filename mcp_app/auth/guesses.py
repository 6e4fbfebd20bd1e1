"""What failed credentials cost: they spend the budget of the address that they come from.

A good credential never does, and is let in from an address whose budget is spent: whoever shares
an address with a guesser is not locked out by them.
"""

from typing import Final

from mcp_app.address import network_of
from mcp_app.conf import settings
from mcp_app.rates import counters, outage
from mcp_app.rates.window import Rate

_KEY: Final = "failed-auth:"


def spend(address: str | None) -> float:
    """Count one failed credential: 0, or the seconds to wait where the budget is spent.

    Where it cannot be counted nothing is refused: the credential has failed anyway.
    """
    rate: str | None = settings.FAILED_AUTH_RATE
    if rate is None:
        return 0.0
    try:
        return counters.take(f"{_KEY}{network_of(address)}", Rate.parse(rate)).wait
    except Exception as error:
        outage.note(error)
        return 0.0

"""Other people's servers as targets, in environments of their own."""

from bench.targets import Target

PEERS: tuple[Target, ...] = ()

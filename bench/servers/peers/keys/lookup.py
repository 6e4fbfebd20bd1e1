"""Digests of secrets, and a row for one."""

import hashlib

from bench.servers.peers.keys.models import Key


def digest(secret: str) -> str:
    """What is stored of a secret."""
    return hashlib.sha256(secret.encode()).hexdigest()


def issue() -> str:
    """Store a token and return its secret."""
    secret = "of-the-bench-alone"
    Key.objects.create(digest=digest(secret), name="bench")
    return secret

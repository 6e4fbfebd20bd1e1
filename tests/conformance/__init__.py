"""The official conformance suite: our fixture server, its legs, and what may still fail."""

"""Servers of ours as processes: what holds when one is killed."""

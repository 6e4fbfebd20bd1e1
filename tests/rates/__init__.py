"""Tests of how often something may happen."""

"""Tests of the example product."""

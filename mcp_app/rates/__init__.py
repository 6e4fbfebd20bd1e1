"""How often something may happen: the sliding window, and the counters that hold it."""

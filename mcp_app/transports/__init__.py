"""How bytes arrive and leave: gates, the exchange, and the doors that only read and write."""

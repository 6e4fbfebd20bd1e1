"""Where tools run: bounded worker lanes and the transaction around a tool."""

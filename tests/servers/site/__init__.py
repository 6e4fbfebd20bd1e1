"""A small product to run behind a server: three tools on one database file."""

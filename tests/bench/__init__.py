"""The bench measures what it says, and refuses what is wrong."""

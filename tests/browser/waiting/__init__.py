"""What the example lacks: a tool that runs until somebody stops it."""

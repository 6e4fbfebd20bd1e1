"""The servers that are measured. Each offers the same tools; none imports the harness."""

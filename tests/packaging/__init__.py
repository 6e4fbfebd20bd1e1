"""What is shipped: the wheel, and the files that say what it needs."""

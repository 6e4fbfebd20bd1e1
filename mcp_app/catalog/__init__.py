"""What a product declares: tools, their arguments and results, and the servers that hold them."""

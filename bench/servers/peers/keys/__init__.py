"""A table of tokens, for peers that ask the project to look them up."""

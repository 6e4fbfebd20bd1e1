"""A table of notes, for the peer whose tools come from models."""

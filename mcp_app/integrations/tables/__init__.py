"""Tools over the rows of a model: what may be named of it, asked for, shown and written."""

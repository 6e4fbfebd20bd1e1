"""What a call costs: ours and other people's servers, measured side by side by `make bench`."""

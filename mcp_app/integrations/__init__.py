"""What a Django product already has, made known to the catalogue."""

"""IP lists: reading, comparing, importing and subscribing to them."""

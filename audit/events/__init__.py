"""Security events: their kinds, recording, queries, filters and statistics."""

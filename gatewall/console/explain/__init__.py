"""Pages that explain a decision."""

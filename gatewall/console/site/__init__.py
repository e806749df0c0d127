"""Dashboard, proxy doctor, and the base of all operator pages."""

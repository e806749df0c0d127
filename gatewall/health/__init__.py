"""Health checks, indicators, dashboard figures and metrics."""

"""How Gatewall is doing: health checks, indicators, dashboard figures and metrics."""

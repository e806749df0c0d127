"""Pages of the whole site: dashboard, proxy doctor, and what all pages share."""

"""IP lists, countries, WAF rules and registered domains: rows, services, API."""

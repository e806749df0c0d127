"""What is allowed: IP lists, countries, WAF rules and authorized domains."""

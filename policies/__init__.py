"""The policy: domains, groups, access rules, grants, IP lists, countries, WAF rules. Models, services, API, admin."""

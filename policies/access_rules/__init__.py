"""Access rules: services, serializers, warnings, coverage of later rules, and summaries."""

"""What both logs share of a query: filters, wildcards, lists in JSON columns, export."""

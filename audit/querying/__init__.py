"""What both logs share: filters, pages by keyset, the list over HTTP, export."""

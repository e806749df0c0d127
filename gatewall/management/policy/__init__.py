"""``gatewall policy``: export, compare and apply the policy document, on this host or over the API."""

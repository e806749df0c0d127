"""``gatewall policy``: export, compare, plan and apply the policy document, on this host or over the API."""

"""Proxy doctor: send probes to a site through its proxy, and diagnose what reaches the gate."""

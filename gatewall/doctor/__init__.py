"""The proxy doctor: probes a site through its proxy, and diagnoses what reached the gate."""

"""The policy enforcement point: a proxy's subrequest in, HTTP answer and access record out. No Django."""

"""The policy enforcement point: turns a proxy's subrequest into a question, and the answer into HTTP."""

"""The shadow policy: a policy document that every worker tries on real requests, without changing an answer."""

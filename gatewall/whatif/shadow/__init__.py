"""The shadow policy: a policy document that every worker tries beside the live policy."""

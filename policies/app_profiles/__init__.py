"""App profiles: access rules that let the native clients, webhooks and share links of well-known apps through."""

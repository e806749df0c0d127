"""IP lists: bulk changes, imports, previews of imports, and subscriptions."""

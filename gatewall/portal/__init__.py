"""Pages for visitors: guard page, own account, first administrator."""

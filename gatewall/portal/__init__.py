"""The pages that visitors see: guard page, account, first run."""

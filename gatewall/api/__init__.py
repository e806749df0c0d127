"""The DRF plumbing that every resource shares: problems, pages, permissions, strict input."""

"""The DRF plumbing that every resource shares: problems, pagination, permissions, strict input."""

"""Shared API infrastructure on DRF: problem details, pagination, permissions, strict input."""

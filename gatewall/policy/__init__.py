"""What a change of policy is: its kinds, the revision it makes, and the system settings."""

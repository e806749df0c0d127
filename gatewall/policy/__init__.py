"""What a change of policy is: the revision it makes, and the system settings."""

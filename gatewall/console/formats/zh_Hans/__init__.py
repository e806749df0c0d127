"""Time format of the console in Chinese; its script finds times by this form."""

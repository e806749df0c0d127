"""Time format of the console in English; its script finds times by this form."""

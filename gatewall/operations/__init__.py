"""What operators run and look at: health, settings, the admin site, the launcher."""

"""Attacks in bodies, written so that a firewall may read them in another way than the site; the site is the judge."""

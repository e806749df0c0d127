"""Bans: banning clients and networks, and lifting bans."""

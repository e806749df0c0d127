"""Formats of Django."""

DATETIME_FORMAT = r"Y-m-d H:i:s \U\T\C"

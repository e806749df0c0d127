"""Django's date and time formats for Chinese."""

DATETIME_FORMAT = r"Y-m-d H:i:s \U\T\C"

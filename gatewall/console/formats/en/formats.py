"""Django's date and time formats for English."""

DATETIME_FORMAT = r"Y-m-d H:i:s \U\T\C"

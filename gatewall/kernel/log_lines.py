"""Log formats: text lines on stderr, or JSON on stdout; and problems logged once. Pure."""

import json
import logging
from datetime import UTC, datetime
from typing import Any

LINE, JSON = "LINE", "JSON"
FORMATS = (LINE, JSON)


class JsonLine(logging.Formatter):
    """Formats a log record as one line of JSON: at, level, logger, message and, if any, exception."""

    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        fields = {
            "at": at.replace("+00:00", "Z"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            fields["exception"] = self.formatException(record.exc_info)
        return json.dumps(fields)


def configuration(level: str, form: str) -> dict[str, Any]:
    """Return the settings for ``logging.config.dictConfig`` and Django's ``LOGGING``."""
    is_json = form == JSON
    handler = {"class": "logging.StreamHandler", "formatter": form.lower()}
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "line": {"format": "%(asctime)s %(levelname)s %(name)s %(message)s"},
            "json": {"()": "gatewall.kernel.log_lines.JsonLine"},
        },
        "handlers": {"out": {**handler, "stream": "ext://sys.stdout" if is_json else "ext://sys.stderr"}},
        "root": {"handlers": ["out"], "level": level},
    }


class ProblemLog:
    """Logs a problem when it begins and when it ends."""

    def __init__(self, logger: logging.Logger, prefix: str, recovered: str) -> None:
        self._logger = logger
        self._prefix = prefix
        self._recovered = recovered
        self.problem = ""
        """The current problem, or empty."""

    def say(self, problem: str) -> None:
        """Log ``problem`` unless it is the current one; empty means recovered."""
        if problem != self.problem:
            level = logging.ERROR if problem else logging.INFO
            self._logger.log(level, "%s%s", self._prefix, problem or self._recovered)
        self.problem = problem

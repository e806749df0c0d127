"""Plain Python that any part may use: environment, client address, refusals, log lines, downloads. No Django."""

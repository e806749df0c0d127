"""Plain Python that any part may use: environment, client address, refusals, downloads, detectors. No Django."""

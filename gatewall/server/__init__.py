"""HTTP/1.1 servers of both planes: parser, connections, workers, and the gunicorn master. No Django."""

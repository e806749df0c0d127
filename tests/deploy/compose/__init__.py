"""Run Compose files without a container engine: each service is a process in namespaces of its own."""

"""Compose files run without a container engine: each service is a process in namespaces of its own."""

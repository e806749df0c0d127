"""Probes of the proxy doctor, the checks of what reached the gate and the visitor, and their findings. No Django."""

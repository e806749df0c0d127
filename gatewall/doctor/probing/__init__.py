"""The proxy doctor: probes, what arrived, and the findings. No Django."""

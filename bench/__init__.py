"""Measurements that anybody can repeat. Every figure is a ratio to a limit taken in the same rounds."""

#!/usr/bin/env python3
"""Runs one of Gatewall's commands, as the console command ``gatewall`` does (``bin/gatewall``)."""

from gatewall.management.command_line import main

if __name__ == "__main__":
    main()

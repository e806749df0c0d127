"""Parsers of request bodies for the WAF: forms, multipart, JSON, XML, text and files. Bounded, no I/O.

Each gives texts with their names. Content that a parser cannot read is returned raw, so that nothing is left out.
"""

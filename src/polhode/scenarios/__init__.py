"""Scenario files: problems in TOML, their runs into folders, the reports of these.

The commands that start them are in ``cli``.
"""

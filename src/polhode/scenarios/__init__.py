"""Scenario files: problems described in TOML, runs that write their results to a folder, and reports of runs.

The commands that start these runs are in ``cli``.
"""

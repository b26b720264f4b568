"""Visualization of results: ``plot`` draws figures with matplotlib, ``page`` writes interactive pages for browsers.

Text reports of runs are in ``scenarios``.
"""

"""Visualization of results: ``plot`` draws figures and films with matplotlib, ``page`` writes pages for browsers.

What pages and films show is in ``scene``. Text reports of runs are in ``scenarios``.
"""

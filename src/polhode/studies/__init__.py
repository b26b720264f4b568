"""Methods compared: ``order_study``, ``work_precision``, and ``cite``, which says whose work they are.

The experiments of the papers are no part of the package.
"""

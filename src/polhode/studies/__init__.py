"""Comparison of methods: ``order_study`` and ``work_precision``, and ``cite`` for the publications behind them.

The experiments of the papers are not part of this package.
"""

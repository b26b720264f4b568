"""The exact flow: one body, blocks of bodies, dense output, derivatives, periods.

Steps that are repeated live in ``stepping``.
"""

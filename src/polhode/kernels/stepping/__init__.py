"""Compiled loops over steps, with and without torques, and the signatures that they share.

The formulas of a flow or a method are in its own file, in ``flows`` or ``methods``.
"""

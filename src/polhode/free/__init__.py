"""Torque-free motion: ``propagate``, ``FreeMotion``, their geometry, and derivatives with error bounds.

This package contains no torques and no time stepping.
"""

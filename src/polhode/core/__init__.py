"""Foundations of the package: errors, checks, array types, threads, progress, references, rotations, bodies, states.

This package contains nothing that computes a motion.
"""

"""Graphs of expressions, and code that is generated from them.

Functions of the user become graphs in ``forces``; nothing in this package calls such a function.
"""

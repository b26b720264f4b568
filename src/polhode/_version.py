"""The version, alone: nothing has to be loaded to know it."""

__version__ = "0.1.0"

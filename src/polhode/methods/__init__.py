"""Methods for torqued bodies, one file each."""

from __future__ import annotations

"""Trajectories on disk: netCDF, Zarr, CSV and CCSDS files, and long runs that are written while they are computed.

Stores of ensembles live in ``ensembles``, scenario files in ``scenarios``.
"""

"""Trajectories on disk: netCDF, Zarr, CSV and CCSDS files, and long runs that are written while they are computed.

Stores of ensembles are in ``polhode.ensembles``, scenario files in ``polhode.scenarios``.
"""

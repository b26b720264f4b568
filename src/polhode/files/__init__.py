"""Trajectories on disk: netCDF, Zarr, CSV, CCSDS, XYZ and GSD files, and long runs, written while they are computed.

Stores of ensembles are in ``polhode.ensembles``, scenario files in ``polhode.scenarios``.
"""

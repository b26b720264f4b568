"""Limits of the input of kernels.

This module imports nothing, so that the user layer can use the limits without loading the compiler.
"""

NORM_TOLERANCE = 1e-6  # largest deviation of |q| from 1 that is accepted for an attitude
LARGEST_RATIO = 1e150  # largest ratio of two moments of one body
LONGEST = 1e150  # longest step, in about radians: beyond, squares of small components underflow, but not their effect
MOST_RADIANS = 2.0**52  # with which an error of one rounding of the time moves a body by about a radian
NOBODY = 2**62  # returned in place of the index of a body; larger than every index, so that minima ignore it

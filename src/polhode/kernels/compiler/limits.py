"""What input the kernels take. Imports nothing, so that the user layer can say it without loading the compiler."""

NORM_TOLERANCE = 1e-6  # how far |q| of an attitude may be from 1
LARGEST_RATIO = 1e150  # of the moments of one body
LONGEST = 1e150  # radians, or so; beyond, squares of small components underflow while their effect does not
NOBODY = 2**62  # in place of the number of a body; larger than all, so that the least of several numbers counts

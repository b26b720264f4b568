"""Places of numbers in a block of the generated code for Taylor steps, and constants that go with them.

Other modules read them as ``at.UNIT``, as those of other blocks of lanes.
"""

from __future__ import annotations

# Places of numbers in a block: the state at the beginning of a step, and that at its end; constants of the body, those
# that depend on the unit of time for the unit 1; times. Vectors begin at multiples of four.
ATTITUDE, MOMENTUM, NEW_ATTITUDE, NEW_MOMENTUM = 0, 4, 8, 12
INERTIA, GYRO, KICK, WEIGHT = 16, 20, 24, 28  # WEIGHT: the moments of inertia in units of J
LOW_GYRO, LOW_KICK = 32, 36  # what GYRO and KICK lack
PREDICTED = 40  # du/dT at the end of a step, by the series
T, NEW_T, UNIT, LENGTH = 44, 45, 46, 47  # LENGTH: of the next step, by which its unit of time is chosen
END, LONGEST, SIGN, NEXT, LEFT, ACTIVE, FACTOR = 48, 49, 50, 51, 52, 53, 54  # see ``steps``
BOUND, SIZE, REACH, DOUBT, GROWTH = 55, 56, 57, 58, 59  # see ``steps``
RATE, SCALE, DRAG, AXES, PARAMS = 60, 61, 62, 71, 80
STEPS, COEFFICIENTS, TRIAL = 0, 1, 2  # what generated code does: see ``steps``
DOUBTFUL, WRONG = 1.0, 2.0  # kinds of DOUBT; 0 if there is none
RECOVERY = 2.0  # largest ratio of a step to the one before, after one that was shortened
ROW = 8  # length of a row of coefficients of a body: q and u, and one that is not used
ROUNDING = 3.0 * 2.0**-52  # of the square of the length of q

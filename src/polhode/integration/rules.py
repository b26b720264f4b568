"""Thresholds of the choice of a method and a step size, all in one table.

Comments give the meaning of each, where it comes from, and what changes if it is halved. *Derived* values follow from
the arithmetic or from another definition; *measured* ones are best, or safe, in the named benchmark; where the origin
is *taste*, other values are about as good. ``benchmarks/thresholds.py`` halves one after the other and prints how the
torques of ``benchmarks/rtol.py``, and the errors and warnings of ``benchmarks/promises.py``, change.
"""

from __future__ import annotations

# -- the search: `step_search` ----------------------------------------------------------------------------------------

AIM = 0.3  # part of the wanted error that the next trial run aims at
HIGHEST = 0.7  # part of the wanted error that an estimate may have
ROUNDING = 2.0**-46  # smallest error that can be asked for
ASYMPTOTIC = 0.1  # a larger error does not predict the error of a shorter step
MOST_TRIALS = 12
STALLED = 3  # successive trials that did not halve the error, after which the search ends; twice as many if it is large
STALLED_FACTOR = 0.6  # largest ratio of the next step to one whose error was not half of that before
SLOWEST = 0.1  # least relative decrease of the error that is assumed
BY_CHANCE = 2.5  # observed order, relative to that of the method, above which two trials may agree by chance
STEEPEST = 1.5  # largest observed order, relative to that of the method, that chooses the next step
OF_TWO = 3.0  # times the difference of two trials that the error may be: of many bodies, some agree by chance
COARSE_STEP, OF_COARSE = 1.6, 0.75  # radians per step above which only this part of the order is trusted
STEPS = (1 / 2, 1 / 1.25)  # smallest and largest ratio of the step sizes of successive trials
IRREGULAR = (0.43, 1 / 1.3)  # the same with torques that jump: halved steps would end at the same times
TOLERANCES = (1e-4, 1 / 8)  # the same for tolerances
TRUSTED = 0.8  # part of the expected order that is trusted, if it is not higher than the nominal one
CAUTIOUS = 0.5  # part of that order which is trusted if jumps and kinks of a torque of the user may affect one run only

# -- runs: `trials` ---------------------------------------------------------------------------------------------------

MOST_TORQUES = 1_000_000  # torque evaluations in a first trial run; longer runs are judged by their first part
SHORTER = 4  # factor by which steps of that trial run may still become shorter
PER_OCTAVE = 32  # numbers of steps of a run between one and its double: many bodies of a batch have equal ones
STEP_ROUNDING = 4.0 * 2.0**-53  # round-off error, per radian and per square root of the number of steps
RESONANT = 1.2  # radians per step; errors with longer steps grow in resonance with the rotation ...
RESONANT_TIME = 160.0  # ... in a time of more radians than this
TRUTH = 0.05  # part of the wanted error that the truth may have, if it is computed

# -- step sizes: `step_sizes` -----------------------------------------------------------------------------------------

COARSE = (2.5, 1.5)  # first step sizes of a short time span, relative to the expected one
FIRST_PART = 1 / 64  # part of a long time span in which the step size is found first ...
FIRST_RADIANS = 40.0  # ... if it is not shorter than this
LONG = 16  # times that part that a long time span has at least
MOST_CALIBRATING = 8  # trial runs in that part
FIRST_FINER = 1.3  # times the expected step size that the first of these has
FINER_STEP = 1.7  # ratio of their step sizes
CORRECTIONS = 3  # trial runs in that part with step sizes between these
NEARLY = 0.97  # part of the largest error that these aim at
CLOSE = 1.07  # ratio of two step sizes between which no other is tried
VISIBLE = 3.0  # parts of the round-off error that errors have at least, so that it does not hide them
AIM_OF_PAIR = 0.37  # part of the wanted error that the step size of the whole time span aims at ...
AIM_OF_STEP = 1.25  # ... unless steps would be so many times shorter than those with the wanted error
COARSER = (4.0, 3.0, 2.5, 2.0, 1.7, 1.5)  # ratios of the step sizes of two runs over a long time span
COARSEST = 2.4  # radians per step of the coarser run, if possible
GROWTH = 2.0  # least ratio of the errors of these runs in the first part
LARGEST_ERROR = 0.02  # expected of the coarser run at the end, so that it shows how errors grow
DOUBT = 1.7  # factor by which the ratio of their errors may be smaller than in the first part
THREE = (3.0, 1.7, 1.0)  # step sizes of three such runs, if the ratio of their errors is not known

# -- tolerances: `step_sizes.find_tolerance` --------------------------------------------------------------------------

FINER = 32.0  # ratio of the first tolerances
TOLERANCE_ORDER = 0.8  # with which errors decrease with the tolerance ...
LOWEST_ORDER = 0.65  # ... and the lowest that is expected of smooth torques, and of methods that verify their steps
TRUSTED_TOLERANCE = (0.2, 0.3)  # the order that is trusted of others: by two trials, or by three if a torque jumps
LARGEST_TOLERANCE = 1e-2
RUNGE_KUTTA = 8.0  # order of ``Adaptive``

# -- the method: `choice_by_trials` -----------------------------------------------------------------------------------

SLOW_TRIALS = 2  # trials whose errors decrease at less than half the order, after which a scheme is rejected
CLEARLY_BETTER = 0.1  # part of the error of a scheme that ``Adaptive`` may have if neither meets the wanted error
LOOKS = 4  # searches with shorter and shorter steps, until none passes over a feature of the torque
TAYLOR_STEPS = 1.55  # steps of ``Taylor`` per radian
TAYLOR_STEP, TAYLOR_ORDER = 0.4, 0.32  # cost of a step and of each order, in torque evaluations of a splitting
TAYLOR_TRIALS = 1.8  # cost of all trial runs in a long time, relative to those of a splitting, which are shorter
ONE_MORE_TRIAL = 400.0  # torque evaluations in the time of the trial run that splittings need more in a short time

# -- the size of the torque: `strength` -------------------------------------------------------------------------------

RADIANS = 20.0  # rotation in the time from which samples are taken
SAMPLES = 64  # of each body
WEAK_TORQUE = 0.015  # part of the momentum per radian
WEAKEST = 1e-16  # of torques that are zero where they are sampled
LENGTH = 25.0  # radians in which the power laws give the error
LONGEST_STEP = 4.0  # radians
LOOSE, TIGHT = 3e-6, 3e-12  # errors in LENGTH radians, above and below which orders 4 and 8 are better than order 6

# -- systems: `systems.choice` ----------------------------------------------------------------------------------------

STEPS_PER_RADIAN = 8  # of the default step size
LEAST_TRIAL = 2000  # evaluations of all forces in a trial run of a large system

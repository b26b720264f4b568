"""Thresholds of the choice of a method and a step size, all in one table.

Comments give the meaning of each, its origin, and what changes if it is halved. *Derived* values follow from others or
from the arithmetic. For *measured* ones half the value needs clearly more torques, or breaks a promise, or leads to a
warning. *Taste* means that other values are about as good for the runs of the benchmark.

``python benchmarks/thresholds.py`` halves one after the other and counts the torques of seven long runs (*long*), of
300 satellites with given methods (*batch*) and of 39 random problems of ``benchmarks/promises.py`` (*random*), errors
above rtol and warnings. A torque of ``Taylor`` takes less time than one of a splitting. The tables of power laws are
in ``strength``, and the thresholds of the second look in ``second_look``.
"""

from __future__ import annotations

# -- the search: `step_search` ----------------------------------------------------------------------------------------

# Part of the wanted error that the next trial run aims at. Taste. Halved: random -2 %.
AIM = 0.3
# Part of the wanted error that an estimate may have. Taste. Halved: nothing seen.
HIGHEST = 0.7
# Smallest error that can be asked for. Derived: 128 times the rounding of a number near 1. Halved: nothing seen.
ROUNDING = 2.0**-46
# A larger error does not predict the error of a shorter step. Taste. Halved: nothing seen.
ASYMPTOTIC = 0.1
# Taste. Halved: nothing seen.
MOST_TRIALS = 12
# Successive trials that did not halve the error, after which the search ends; twice as many if it is large. Taste.
# Halved: nothing seen.
STALLED = 3
# Largest ratio of the next step to one whose error was not half of that before. Measured. Halved: batch +2 %.
STALLED_FACTOR = 0.6
# Least relative decrease of the error that is assumed. Derived: it keeps a quotient finite. Halved: random -7 %.
SLOWEST = 0.1
# Observed order, relative to that of the method, above which two trials may agree by chance. Measured. Halved: batch
# +13 %.
BY_CHANCE = 2.5
# Largest observed order, relative to that of the method, that chooses the next step. Measured. Halved: long +106 %,
# batch +1 %, random -8 %, 1 warning.
STEEPEST = 1.5
# Times the difference of two trials that the error may be: of many bodies, some agree by chance. Measured on 600
# satellites and 600 tops, ABA1064 and RKN6_14a: with these three, 3 errors of 7200 exceeded rtol instead of 8.
# Halved: batch -2 %.
OF_TWO = 3.0
# Radians per step above which only this part of the order is trusted. Measured as OF_TWO; with (0.8, 0.5), 2 errors
# exceeded rtol, but short runs of weak tops needed half as many torques again. Halved: COARSE_STEP: batch +4 %;
# OF_COARSE: batch +2 %.
COARSE_STEP, OF_COARSE = 1.6, 0.75
# Smallest and largest ratio of the step sizes of successive trials. Measured. Halved: batch +42 %.
STEPS = (1 / 2, 1 / 1.25)
# The same with torques that jump: halved steps would end at the same times. Taste. Halved: nothing seen.
IRREGULAR = (0.43, 1 / 1.3)
# The same for tolerances. Measured. Halved: random +3 %.
TOLERANCES = (1e-4, 1 / 8)
# Part of the expected order that is trusted, if it is not higher than the nominal one. Measured. Halved: batch +12 %.
TRUSTED = 0.8
# Part of that order which is trusted if jumps and kinks of a torque of the user may affect one run only. Taste.
# Halved: nothing seen.
CAUTIOUS = 0.5

# -- runs: `trials` ---------------------------------------------------------------------------------------------------

# Torque evaluations in a first trial run; longer runs are judged by their first part. Taste. Halved: nothing seen.
MOST_TORQUES = 1_000_000
# Factor by which steps of that trial run may still become shorter. Taste. Halved: nothing seen.
SHORTER = 4
# Numbers of steps of a run between one and its double: many bodies of a batch have equal ones. Measured by rtol.py,
# and on 1000 satellites, whose runs take 10 % more time than with 8, for 1 to 3 % fewer steps. Halved: long +3 %.
PER_OCTAVE = 32
# Round-off error, per radian and per square root of the number of steps. Taste. Halved: nothing seen.
STEP_ROUNDING = 4.0 * 2.0**-53
# Radians per step; errors with longer steps grow in resonance with the rotation ... Measured. Halved: long +15 %,
# batch +12 %, random -1 %.
RESONANT = 1.2
# ... in a time of more radians than this. Measured. Halved: batch +4 %.
RESONANT_TIME = 160.0
# Part of the wanted error that the truth may have, if it is computed. Taste. Halved: nothing seen.
TRUTH = 0.05

# -- step sizes: `step_sizes` -----------------------------------------------------------------------------------------

# First step sizes of a short time span, relative to the expected one. Taste. Halved: nothing seen.
COARSE = (2.5, 1.5)
# Part of a long time span in which the step size is found first ... Taste. Halved: long -4 %.
FIRST_PART = 1 / 64
# ... if it is not shorter than this. Taste. Halved: nothing seen.
FIRST_RADIANS = 40.0
# Times that part that a long time span has at least. Taste. Halved: batch +1 %.
LONG = 16
# Trial runs in that part. Derived: steps become up to 1.7**7 = 41 times shorter. Halved: nothing seen.
MOST_CALIBRATING = 8
# Times the expected step size that the first of these has. Taste. Halved: nothing seen.
FIRST_FINER = 1.3
# Ratio of their step sizes. Taste. Halved: long -3 %.
FINER_STEP = 1.7
# Trial runs in that part with step sizes between these. Taste. Halved: nothing seen.
CORRECTIONS = 3
# Part of the largest error that these aim at. Measured. Halved: long +8 %.
NEARLY = 0.97
# Ratio of two step sizes between which no other is tried. Taste. Halved: nothing seen.
CLOSE = 1.07
# Parts of the round-off error that errors have at least, so that it does not hide them. Measured. Halved: long +35 %.
VISIBLE = 3.0
# Part of the wanted error that the step size of the whole time span aims at ... Measured. Halved: long +25 %.
AIM_OF_PAIR = 0.37
# ... unless steps would be so many times shorter than those with the wanted error. Taste. Halved: long +1 %.
AIM_OF_STEP = 1.25
# Ratios of the step sizes of two runs over a long time span. Measured; the resonances of whole multiples of a step
# are those of the step. Halved: long +18 %.
COARSER = (4.0, 3.0, 2.5, 2.0, 1.7, 1.5)
# Radians per step of the coarser run, if possible. Derived: twice RESONANT. Halved: long +23 %.
COARSEST = 2.4
# Least ratio of the errors of these runs in the first part. Derived: above DOUBT, by which the ratio is divided.
# Halved: nothing seen.
GROWTH = 2.0
# Expected of the coarser run at the end, so that it shows how errors grow. Derived: small compared with ASYMPTOTIC.
# Halved: nothing seen.
LARGEST_ERROR = 0.02
# Factor by which the ratio of their errors may be smaller than in the first part. Taste. Halved: nothing seen.
DOUBT = 1.7
# Step sizes of three such runs, if the ratio of their errors is not known. Taste. Halved: nothing seen.
THREE = (3.0, 1.7, 1.0)

# -- tolerances: `step_sizes.find_tolerance` --------------------------------------------------------------------------

# Ratio of the first tolerances. Measured. Halved: random -25 %, 1 warning.
FINER = 32.0
# With which errors decrease with the tolerance ... Measured. Halved: random -12 %, 1 warning.
TOLERANCE_ORDER = 0.8
# ... and the lowest that is expected of smooth torques, and of methods that verify their steps. Taste. Halved:
# nothing seen.
LOWEST_ORDER = 0.65
# The order that is trusted of others: by two trials, or by three if a torque jumps. Taste. Halved: nothing seen.
TRUSTED_TOLERANCE = (0.2, 0.3)
# Taste. Halved: nothing seen.
LARGEST_TOLERANCE = 1e-2
# Order of ``Adaptive``. Derived: the order of the method. Halved: random +313 %, 1 warning.
RUNGE_KUTTA = 8.0

# -- the method: `choice_by_trials` -----------------------------------------------------------------------------------

# Trials whose errors decrease at less than half the order, after which a scheme is rejected. Taste. Halved: random +1
# %.
SLOW_TRIALS = 2
# Part of the error of a scheme that ``Adaptive`` may have if neither meets the wanted error. Taste. Halved: nothing
# seen.
CLEARLY_BETTER = 0.1
# Searches with shorter and shorter steps, until none passes over a feature of the torque. Taste. Halved: nothing
# seen.
LOOKS = 4
# Steps of ``Taylor`` per radian. Not recorded; a time, which numbers of torques do not show. Halved: long -21 %,
# random -2 %.
TAYLOR_STEPS = 1.55
# Cost of a step and of each order, in torque evaluations of a splitting. Not recorded; times. Halved: TAYLOR_STEP:
# nothing seen; TAYLOR_ORDER: random -2 %.
TAYLOR_STEP, TAYLOR_ORDER = 0.4, 0.32
# Cost of all trial runs in a long time, relative to those of a splitting, which are shorter. Not recorded; a time.
# Halved: long -21 %.
TAYLOR_TRIALS = 1.8
# Torque evaluations in the time of the trial run that splittings need more in a short time. Not recorded; a time.
# Halved: nothing seen.
ONE_MORE_TRIAL = 400.0

# -- the size of the torque: `strength` -------------------------------------------------------------------------------

# Rotation in the time from which samples are taken. Taste. Halved: nothing seen.
RADIANS = 20.0
# Of each body. Taste; with 64, a batch of 1000 tops took half as much time again. Halved: nothing seen.
SAMPLES = 16
# Part of the momentum per radian. Taste. Halved: nothing seen.
WEAK_TORQUE = 0.015
# Of torques that are zero where they are sampled. Derived: it keeps a power finite. Halved: nothing seen.
WEAKEST = 1e-16
# Radians in which the power laws give the error. Derived: by definition of the power laws. Halved: nothing seen.
LENGTH = 25.0
# Radians. Taste. Halved: nothing seen.
LONGEST_STEP = 4.0
# Errors in LENGTH radians, above and below which orders 4 and 8 are better than order 6. Taste. Halved: LOOSE:
# nothing seen; TIGHT: nothing seen.
LOOSE, TIGHT = 3e-6, 3e-12

# -- systems: `systems.choice` ----------------------------------------------------------------------------------------

# Of the default step size. Taste; no run of the benchmark is one of a system. Halved: nothing seen.
STEPS_PER_RADIAN = 8
# Evaluations of all forces in a trial run of a large system. Taste; no run of the benchmark is one of a system.
# Halved: nothing seen.
LEAST_TRIAL = 2000

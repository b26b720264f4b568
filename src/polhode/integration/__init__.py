"""One problem through time: ``Problem``, the choice of a method and a step, runs, events, ``Trajectory``.

Bodies that act on each other live in ``systems``, what is stored in ``files``.
"""

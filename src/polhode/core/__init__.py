"""What every other room needs: errors, checks, array types, threads, progress, references; rotations, bodies, states.

Nothing that moves a body lives here.
"""

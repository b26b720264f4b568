"""A free body as a function of time: ``propagate``, ``FreeMotion``, its geometry, derivatives with error bounds.

Nothing with a torque or a step lives here.
"""

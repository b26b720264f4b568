"""A torque of one's own, for motor.toml: a motor that drives the third body axis up to a rate."""

from __future__ import annotations


def spin_up(t, Q, w, p):
    """Proportional to the missing rate, within the motor's limits: p = (largest torque, rate)."""
    wanted = p[0] * (p[1] - w[2])
    return 0.0, 0.0, max(-p[0], min(p[0], wanted))

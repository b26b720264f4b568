"""Where does a tumbling rocket body point after a day? Its inertia and spin are known to a part in a thousand or so.

python examples/rocket_body.py [members] [picture.png]

A spent stage tumbles freely, nearly end over end. Members of the ensemble have other moments of inertia, another spin
and another attitude at the start, within what observations leave open. The picture shows how the direction of the long
axis spreads along the circle about the angular momentum, in proportion to time, and hardly across it.
"""

import sys

import numpy as np

import polhode as ph
from polhode import rotation, sampling

MOMENTS = (61_000.0, 63_000.0, 4_200.0)  # kg m^2, the long axis is the third
OMEGA = (0.02, 0.002, 0.004)  # rad/s: once in five minutes
MINUTES = np.array([0.0, 10, 20, 30, 60, 120, 180, 240, 360, 480, 720, 1080, 1440])
SPREAD_OF_MASS, SPREAD_OF_SPIN, SPREAD_OF_ATTITUDE = 1e-3, 1e-5, 0.01


def follow(members=20_000, seed=1, **options):
    stage = ph.Problem(MOMENTS, omega=OMEGA, t_span=(0.0, 86_400.0), name="rocket body", units={"t": "s"})
    samples = sampling.draw(
        members,
        moments=sampling.moments_near(MOMENTS, SPREAD_OF_MASS),
        omega=sampling.normal(OMEGA, SPREAD_OF_SPIN),
        q=sampling.attitude_near((1, 0, 0, 0), SPREAD_OF_ATTITUDE),
    )
    return ph.ensemble(stage, samples, t_eval=60.0 * MINUTES, seed=seed, **options)


def angles_from_nominal(data):
    """Angles (members, times) in degrees between the long axis and that of the body without errors."""
    nominal = ph.free_motion(MOMENTS, omega=OMEGA).q(data.time.values)
    axis, expected = (rotation.rotate(q, np.array([0.0, 0.0, 1.0])) for q in (data.q.values, nominal))
    return np.degrees(np.arccos(np.clip(np.sum(axis * expected, axis=-1), -1, 1)))


def draw(data, path):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    angles = angles_from_nominal(data)
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), width_ratios=(3, 2), layout="constrained")
    hours = MINUTES / 60
    for low, high, shade in ((5, 95, 0.25), (25, 75, 0.5)):
        left.fill_between(hours, *np.percentile(angles, (low, high), axis=0), alpha=shade, color="#0072B2", lw=0)
    left.plot(hours, np.median(angles, axis=0), color="#0072B2")
    left.set(xlabel="hours", ylabel="angle to the expected axis, degrees", xlim=(0, 24), ylim=(0, None))
    left.set_title("median; half and nine in ten of all members", fontsize=10)
    for i, color in ((12, "#0072B2"), (7, "#E69F00"), (1, "#D55E00")):
        axis = rotation.rotate(data.q.values[:2000, i], np.array([0.0, 0.0, 1.0]))
        label = f"after {MINUTES[i] / 60:g} h" if MINUTES[i] >= 60 else f"after {MINUTES[i]:g} min"
        right.plot(axis[:, 1], axis[:, 2], ".", ms=1.5, color=color, label=label)
    right.set(xlabel="y", ylabel="z", aspect="equal", xlim=(-1.05, 1.05), ylim=(-1.05, 1.05))
    right.set_title("directions of the long axis, seen from x", fontsize=10)
    right.legend(fontsize=8, markerscale=5, loc="center")
    figure.savefig(path, dpi=130)


def main(members=20_000, path="rocket_body.png"):
    data = follow(members)
    angles = angles_from_nominal(data)
    print("   after    median   nine in ten below")
    for i, minutes in enumerate(MINUTES):
        middle, high = np.percentile(angles[:, i], (50, 90))
        print(f"{minutes / 60:6.2f} h  {middle:6.2f} deg  {high:6.2f} deg")
    draw(data, path)
    print(f"picture: {path}")


if __name__ == "__main__":
    main(*(kind(text) for kind, text in zip((int, str), sys.argv[1:], strict=False)))

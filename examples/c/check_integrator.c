/* Check your integrator against the truth: the error of one turn of a tumbling body, with ever smaller steps.
   Replace the function step by that of your physics engine: w in body axes, q scalar first, body to space.

     polhode export --out lib
     cc -O2 -Ilib examples/c/check_integrator.c lib/libpolhode.a -lm && ./a.out */
#include <math.h>
#include <stdio.h>
#include "polhode.h"

static const double I[3] = {1.0, 2.0, 3.0};

static void step(double w[3], double q[4], double h) { /* semi-implicit Euler, as in many engines */
  const double a = w[0], b = w[1], c = w[2], s = q[0], x = q[1], y = q[2], z = q[3], half = 0.5 * h;
  w[0] += h * (I[1] - I[2]) * b * c / I[0];
  w[1] += h * (I[2] - I[0]) * c * a / I[1];
  w[2] += h * (I[0] - I[1]) * a * b / I[2];
  q[0] -= half * (x * w[0] + y * w[1] + z * w[2]), q[1] += half * (s * w[0] + y * w[2] - z * w[1]);
  q[2] += half * (s * w[1] + z * w[0] - x * w[2]), q[3] += half * (s * w[2] + x * w[1] - y * w[0]);
  const double size = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
  for (int k = 0; k < 4; k++) q[k] /= size;
}

int main(void) {
  const double m[3] = {0.3, 2.0, 0.1}, start[4] = {1, 0, 0, 0};
  double T, angle, m_true[3], q_true[4];
  if (polhode_period(I, m, &T, &angle) || polhode_step(I, m, start, T, m_true, q_true)) return 1;
  for (int n = 100; n <= 100000; n *= 10) {
    double w[3] = {m[0] / I[0], m[1] / I[1], m[2] / I[2]}, q[4] = {1, 0, 0, 0}, dot = 0, dm = 0, dq = 0;
    for (int k = 0; k < n; k++) step(w, q, T / n);
    for (int k = 0; k < 4; k++) dot += q[k] * q_true[k]; /* negative if q and q_true have opposite signs */
    for (int k = 0; k < 4; k++) dq = hypot(dq, q[k] - copysign(1, dot) * q_true[k]);
    for (int k = 0; k < 3; k++) dm = hypot(dm, I[k] * w[k] - m_true[k]);
    printf("%6d steps: the attitude is off by %.2e rad, the momentum by %.2e\n", n, 4 * asin(dq / 2), dm);
  }
}

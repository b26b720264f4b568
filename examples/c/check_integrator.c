/* Check your integrator against the truth: the error of one turn of a tumbling body, with ever smaller steps.

     polhode export --out lib
     cc -O2 -Ilib examples/c/check_integrator.c lib/libpolhode.a -lm && ./a.out

   Replace the function step by that of your physics engine: w in body axes, q scalar first, body to space. */
#include <math.h>
#include <stdio.h>

#include "polhode.h"

static const double I[3] = {1.0, 2.0, 3.0};

static void step(double w[3], double q[4], double h) { /* semi-implicit Euler, as in many engines */
  double a = (I[1] - I[2]) * w[1] * w[2] / I[0], b = (I[2] - I[0]) * w[2] * w[0] / I[1];
  double c = (I[0] - I[1]) * w[0] * w[1] / I[2], p[4], size = 0;
  w[0] += h * a, w[1] += h * b, w[2] += h * c;
  p[0] = q[0] - 0.5 * h * (q[1] * w[0] + q[2] * w[1] + q[3] * w[2]);
  p[1] = q[1] + 0.5 * h * (q[0] * w[0] + q[2] * w[2] - q[3] * w[1]);
  p[2] = q[2] + 0.5 * h * (q[0] * w[1] + q[3] * w[0] - q[1] * w[2]);
  p[3] = q[3] + 0.5 * h * (q[0] * w[2] + q[1] * w[1] - q[2] * w[0]);
  for (int k = 0; k < 4; k++) size += p[k] * p[k];
  for (int k = 0; k < 4; k++) q[k] = p[k] / sqrt(size);
}

int main(void) {
  const double m[3] = {0.3, 2.0, 0.1}, start[4] = {1, 0, 0, 0};
  double T, angle, m_true[3], q_true[4];
  if (polhode_period(I, m, &T, &angle) || polhode_step(I, m, start, T, m_true, q_true)) return 1;
  for (int n = 100; n <= 100000; n *= 10) {
    double w[3] = {m[0] / I[0], m[1] / I[1], m[2] / I[2]}, q[4] = {1, 0, 0, 0}, dot = 0, e = 0;
    for (int k = 0; k < n; k++) step(w, q, T / n);
    for (int k = 0; k < 4; k++) dot += q[k] * q_true[k];
    for (int k = 0; k < 4; k++) e += pow(q[k] - copysign(q_true[k], dot * q_true[k]), 2);
    printf("%6d steps: the attitude is off by %.2e rad, the momentum by %.2e\n", n, 4 * asin(fmin(1, sqrt(e) / 2)),
           hypot(hypot(I[0] * w[0] - m_true[0], I[1] * w[1] - m_true[1]), I[2] * w[2] - m_true[2]));
  }
  return 0;
}

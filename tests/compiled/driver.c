/* Calls every function of the library for the bodies of a file, and writes the results: see test_export.py. */
#include <stdio.h>
#include <stdlib.h>

#include "polhode.h"

static double *numbers(FILE *file, int64_t count) {
  double *x = malloc(count * sizeof(double));
  if (fread(x, sizeof(double), count, file) != (size_t)count) exit(2);
  return x;
}

int main(int argc, char **argv) {
  FILE *in = fopen(argv[1], "rb"), *out = fopen(argv[2], "wb");
  int64_t n, times = 20, few = 3;
  int zero = 0, nodes = 5;
  if (argc != 3 || fread(&n, sizeof n, 1, in) != 1) return 2;
  double *I = numbers(in, 3 * n), *m = numbers(in, 3 * n), *q = numbers(in, 4 * n), *t = numbers(in, n);
  double *all_m = malloc(3 * n * sizeof(double)), *all_q = malloc(4 * n * sizeof(double));
  double motion[1 + POLHODE_MOTION], moments[20], x[60], y[80];
  double unit[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  int64_t bad = polhode_propagate(n, I, m, q, t, all_m, all_q);
  fwrite(all_m, sizeof(double), 3 * n, out);
  fwrite(all_q, sizeof(double), 4 * n, out);
  for (int64_t i = 0; i < n; i++) {
    const double *Ii = I + 3 * i, *mi = m + 3 * i, *qi = q + 4 * i;
    bad += polhode_step(Ii, mi, qi, t[i], x, y);
    fwrite(x, sizeof(double), 3, out);
    fwrite(y, sizeof(double), 4, out);
    bad += polhode_period(Ii, mi, x, x + 1);
    fwrite(x, sizeof(double), 2, out);
    for (int k = 0; k < 20; k++) moments[k] = t[i] * (k + 1) / 20;
    bad += polhode_motion_prepare(Ii, mi, qi, motion + 1);
    bad += polhode_motion_evaluate(motion + 1, times, moments, x, y);
    fwrite(x, sizeof(double), 60, out);
    fwrite(y, sizeof(double), 80, out);
    bad += polhode_motion_evaluate(motion + 1, few, moments, x, y);
    fwrite(x, sizeof(double), 9, out);
    fwrite(y, sizeof(double), 12, out);
    motion[0] = 4;
    x[0] = polhode_motion_component(t[i], motion);
    fwrite(x, sizeof(double), 1, out);
    frb_step_(x, y, &t[i], Ii, mi, unit, &zero);
    fwrite(x, sizeof(double), 3, out);
    fwrite(y, sizeof(double), 9, out);
    quat_step_(x, y, &t[i], Ii, mi, qi, &nodes);
    fwrite(x, sizeof(double), 3, out);
    fwrite(y, sizeof(double), 4, out);
  }
  fclose(out);
  return bad != 0;
}

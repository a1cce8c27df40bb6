/* The model beside kernels that were measured on an H200: what it chooses, and how far its times are off. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "tests/model_gpu.h"
#include "tests/model_h200.h"

static double predicted(int row)
{
    struct vf_gpu gpu = h200;
    gpu.l2 = (size_t)60 << 20; /* as the driver told */
    return 1e3 * vf_model_seconds(&gpu, &measured[row].traffic, NULL);
}

static bool is_same_stencil(int a, int b)
{
    return strcmp(measured[a].stencil, measured[b].stencil) == 0;
}

/* A row's time a step over the least measured one of its stencil; with `fused`, any number of steps. */
static double over_best(int chosen, bool fused)
{
    double best = INFINITY;
    for (int i = 0; i < COUNT(measured); i++)
        if (is_same_stencil(i, chosen) && (fused || measured[i].steps == 1))
            best = fmin(best, measured[i].milliseconds / measured[i].steps);
    return measured[chosen].milliseconds / measured[chosen].steps / best;
}

/* The row that the model takes for the fastest of its stencil's; -1 unless `first` is the stencil's first. */
static int choice(int first, bool fused)
{
    int chosen = first;
    for (int i = 0; i < COUNT(measured); i++) {
        if (!is_same_stencil(i, first))
            continue;
        if (i < first)
            return -1;
        if ((fused || measured[i].steps == 1) &&
            predicted(i) / measured[i].steps < predicted(chosen) / measured[chosen].steps)
            chosen = i;
    }
    return chosen;
}

/* What the model chooses among the measured rows of a stencil is one of the fast ones. */
Test(model_h200, choices)
{
    for (int fused = 0; fused <= 1; fused++) {
        int choices = 0, good = 0;
        for (int first = 0; first < COUNT(measured); first++) {
            const int chosen = choice(first, fused);
            if (chosen < 0)
                continue;
            const double over = over_best(chosen, fused);
            choices++;
            good += over <= 1.15;
            cr_log_info("%s: %s, %d steps, %.2f of the best", measured[chosen].stencil,
                        measured[chosen].scheme, measured[chosen].steps, over);
            cr_expect(over <= 1.35, "%s: %s, %d steps, takes %.2f times the best", measured[chosen].stencil,
                      measured[chosen].scheme, measured[chosen].steps, over);
        }
        /* Steps of two dimensions that are fused are the hardest to tell. */
        cr_expect(choices >= 40 && good >= (fused ? 0.85 : 0.9) * choices, "%d of %d choices are good", good,
                  choices);
    }
}

/* Times are of the right size: four of five within a third. Farthest off are a halo of 16 along x that
 * global-read looks up cell by cell, and time-tile where it happens to need few warps. */
Test(model_h200, times)
{
    int rows = 0, near = 0;
    double mean = 0;
    for (int i = 0; i < COUNT(measured); i++) {
        const double ratio = predicted(i) / measured[i].milliseconds;
        cr_expect(ratio > 0.33 && ratio < 3.3, "%s, %s, %d steps: predicted %.2f of the measured time",
                  measured[i].stencil, measured[i].scheme, measured[i].steps, ratio);
        rows++;
        near += ratio > 0.75 && ratio < 1.33;
        mean += log(ratio);
    }
    cr_expect(near >= 0.8 * rows, "%d of %d within a third", near, rows);
    cr_expect(fabs(mean / rows) < 0.05, "%g off in the mean", mean / rows);
}

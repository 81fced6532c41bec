/* examples/energy.c -- the energy that this machine's processors use.
 *
 * Linux, Documentation/power/powercap: one folder a counter.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "energy.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A number from a file of one, or nan. */
static double read_number(const char *folder, const char *name)
{
    char path[600];
    double number = (double)NAN;
    FILE *file;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    file = fopen(path, "r");
    if (file == NULL)
        return number;
    if (fscanf(file, "%lf", &number) != 1)
        number = (double)NAN;
    fclose(file);
    return number;
}

static int is_processor(const char *folder)
{
    static const char wanted[] = "package-";
    char path[600];
    char name[64] = "";
    FILE *file;

    snprintf(path, sizeof path, "%s/name", folder);
    file = fopen(path, "r");
    if (file == NULL)
        return 0;
    if (fgets(name, sizeof name, file) == NULL)
        name[0] = '\0';
    fclose(file);
    return strncmp(name, wanted, sizeof wanted - 1) == 0;
}

void energy_open(struct energy *energy, const char *folder)
{
    *energy = (struct energy){.joules = (double)NAN};
    for (int k = 0; k < ENERGY_MAX; k++) {
        struct energy_counter *counter = energy->counter + energy->n_counters;

        snprintf(
            counter->path, sizeof counter->path, "%s/intel-rapl:%d", folder, k);
        counter->last = read_number(counter->path, "energy_uj");
        counter->range = read_number(counter->path, "max_energy_range_uj");
        if (is_processor(counter->path) && !isnan(counter->last) &&
            !isnan(counter->range))
            energy->n_counters++;
    }
    if (energy->n_counters > 0)
        energy->joules = 0.0;
}

void energy_sample(struct energy *energy)
{
    for (int32_t k = 0; k < energy->n_counters; k++) {
        struct energy_counter *counter = energy->counter + k;
        const double now = read_number(counter->path, "energy_uj");
        const double turn = now < counter->last ? counter->range : 0.0;

        energy->joules += 1e-6 * (now - counter->last + turn);
        counter->last = now;
    }
}

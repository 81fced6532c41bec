/* examples/scaling_report.c -- cost of a training on several ranks, compared
 * with other numbers of ranks.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "scaling_report.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "json.h"
#include "program.h"

/* A number of a run: its key in the lines and its column in the table. */
struct field {
    const char *key, *title;
    size_t offset;
    int decimals;
};

#define NUMBER(name) offsetof(struct scaling_run, name)

static const struct field fields[] = {
    {"epoch_seconds", "epoch s", NUMBER(epoch_seconds), 3},
    {"batch_seconds", "batch s", NUMBER(batch_seconds), 4},
    {"efficiency", "effic.", NUMBER(efficiency), 4},
    {"purity", "purity", NUMBER(purity), 4},
    {"auc", "AUC", NUMBER(auc), 4},
    {"loss", "loss", NUMBER(loss), 4},
    {"peak_mib", "MiB", NUMBER(peak_mib), 0},
    {"graphs_share", "graphs", NUMBER(graphs_share), 3},
    {"network_share", "network", NUMBER(network_share), 3},
    {"moving_share", "moving", NUMBER(moving_share), 3},
    {"waiting_share", "waiting", NUMBER(waiting_share), 3},
    {"imbalance", "max/mean", NUMBER(imbalance), 3},
    {"epoch_joules", "epoch J", NUMBER(epoch_joules), 0},
};

#define MAX_LINE 1024
#define N_FIELDS (sizeof fields / sizeof *fields)

static double field_value(const struct scaling_run *run, size_t k)
{
    return *(
        const double *)(const void *)((const char *)run + fields[k].offset);
}

double scaling_peak_mib(void)
{
    struct rusage usage;

    if (getrusage(RUSAGE_SELF, &usage) != 0)
        return (double)NAN;
    return (double)usage.ru_maxrss / 1024.0;
}

/* --------------------------------------------------------------- lines -- */

static int append_line(const char *path, const struct scaling_run *run)
{
    FILE *file = fopen(path, "a");
    struct json line;
    int failed;

    if (file == NULL)
        return program_error("%s: cannot be written", path);
    line = json_begin(file);
    json_integer(&line, "ranks", run->n_ranks);
    for (size_t k = 0; k < N_FIELDS; k++)
        json_measured(&line, fields[k].key, field_value(run, k));
    json_end(&line);
    failed = fputc('\n', file) == EOF || ferror(file);
    failed |= fclose(file) != 0;
    return failed ? program_error("%s: cannot be written", path) : 0;
}

/* --------------------------------------------------------------- table -- */

/* A number of a line that append_line wrote; nan where there is none. */
static double read_field(const char *line, const char *key)
{
    const size_t n = strlen(key);
    const char *at = line;

    while ((at = strstr(at, key)) != NULL) {
        if (at > line && at[-1] == '"' && strncmp(at + n, "\": ", 3) == 0)
            return strtod(at + n + 3, NULL);
        at++;
    }
    return (double)NAN;
}

static void print_number(double value, int width, int decimals)
{
    if (isfinite(value))
        printf(" %*.*f", width, decimals, value);
    else
        printf(" %*s", width, "n/a");
}

static void print_title(void)
{
    printf("%5s %8s %8s", "ranks", "speed-up", "scaling");
    for (size_t k = 0; k < N_FIELDS; k++)
        printf(" %8s", fields[k].title);
    putchar('\n');
}

/* Speed-up t1 / tN and strong-scaling efficiency t1 / (N tN). */
static void print_run(const char *line, double alone)
{
    const double n_ranks = read_field(line, "ranks");
    const double speed_up = alone / read_field(line, "batch_seconds");

    printf("%5.0f", n_ranks);
    print_number(speed_up, 8, 3);
    print_number(speed_up / n_ranks, 8, 3);
    for (size_t k = 0; k < N_FIELDS; k++)
        print_number(read_field(line, fields[k].key), 8, fields[k].decimals);
    putchar('\n');
}

/* Every line of the file; alone gets the batch time of the first run on one
 * rank. With is_printed they are printed, too. */
static int read_lines(const char *path, double *alone, int is_printed)
{
    FILE *file = fopen(path, "r");
    char line[MAX_LINE];
    int failed = file == NULL;

    while (!failed && fgets(line, sizeof line, file) != NULL) {
        const double n_ranks = read_field(line, "ranks");

        failed = isnan(n_ranks);
        if (isnan(*alone) && n_ranks == 1.0)
            *alone = read_field(line, "batch_seconds");
        if (is_printed)
            print_run(line, *alone);
    }
    if (file != NULL)
        fclose(file);
    return failed ? program_error("%s: not lines of --scaling-report", path)
                  : 0;
}

int scaling_report(const char *path, const struct scaling_run *run)
{
    double alone = (double)NAN;
    int result = append_line(path, run);

    if (result == 0)
        result = read_lines(path, &alone, 0);
    if (result != 0)
        return result;
    print_title();
    result = read_lines(path, &alone, 1);
    puts("MiB: of the largest process; with --ranks one process holds all "
         "ranks");
    if (isnan(run->epoch_joules))
        puts("energy: not available (no readable counter in "
             "/sys/class/powercap)");
    return result;
}

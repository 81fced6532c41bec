/* examples/scaling_report.h -- cost of a training on several ranks, compared
 * with other numbers of ranks.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_EXAMPLES_SCALING_REPORT_H
#define ETX_EXAMPLES_SCALING_REPORT_H

#include <stdint.h>

/* Figures of one run; nan where not measured. */
struct scaling_run {
    int64_t n_ranks;
    double epoch_seconds; /* steps of an epoch, without validation */
    double batch_seconds; /* one step */
    double efficiency, purity, auc, loss; /* of the last validation */
    double peak_mib;      /* resident, of the largest process: of a rank over
                           * MPI, of all ranks where they are threads */
    double graphs_share;  /* of the steps' time, building or reading graphs */
    double network_share; /* of the steps' time, forward and backward */
    double moving_share;  /* of the steps' time, transfers and sums */
    double waiting_share; /* of the steps' time, waiting for other ranks */
    double imbalance;     /* mean over steps of max / mean work */
    double epoch_joules;  /* of the processors of rank 0's node */
};

/* Resident memory of this process at its highest, MiB. */
double scaling_peak_mib(void);

/* Append the run to the JSON lines in path and print a table of all runs in it,
 * relative to the first run on one rank. Returns 0, or 1 after a line on
 * stderr. */
int scaling_report(const char *path, const struct scaling_run *run);

#endif

/* examples/scaling_report.h -- what a training on several ranks cost, beside
 * those on other numbers of ranks.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_EXAMPLES_SCALING_REPORT_H
#define ETX_EXAMPLES_SCALING_REPORT_H

#include <stdint.h>

/* One run; nan where nothing was measured. */
struct scaling_run {
    int64_t n_ranks;
    double epoch_seconds; /* steps of an epoch, without validation */
    double batch_seconds; /* one step */
    double efficiency, purity, auc, loss; /* of the last validation */
    double peak_mib;      /* resident, of the largest process: of a rank over
                           * MPI, of all ranks where they are threads */
    double graphs_share;  /* of the steps' time, making or reading graphs */
    double network_share; /* of the steps' time, forward and backward */
    double moving_share;  /* of the steps' time, moving and adding data */
    double waiting_share; /* of the steps' time, until all ranks are there */
    double imbalance;     /* mean over steps of max / mean work */
    double epoch_joules;  /* of the processors of rank 0's node */
};

/* Resident memory of this process at its highest, MiB. */
double scaling_peak_mib(void);

/* Append the run to the JSON lines at path, and print a table of all that are
 * there, the first run on one rank being what others are compared with. 0, or
 * 1 after a line on stderr. */
int scaling_report(const char *path, const struct scaling_run *run);

#endif

/* examples/distributed_options.h -- what etx-train-distributed is asked for.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_EXAMPLES_DISTRIBUTED_OPTIONS_H
#define ETX_EXAMPLES_DISTRIBUTED_OPTIONS_H

#include "program.h"

#define DISTRIBUTED_MAX_RANKS 256 /* threads of one process */

struct distributed_options {
    const char *config, *out, *start, *log, *detector, *cache, *deal, *report;
    const char *parts; /* phi, kd or NULL: whole graphs */
    struct program_list data, validation;
    int64_t n_ranks; /* threads of this process; 0: MPI */
    int64_t n_threads, validate_every;
    double deadline, time_limit, checkpoint_seconds;
    int32_t resume, is_fast, is_sharded;
};

/* Fill *o, zeros so far, from the command line; ends the program as
 * program_parse does, also when options do not go together. */
void distributed_read_options(
    struct distributed_options *o, int argc, char **argv);

#endif

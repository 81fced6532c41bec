/* dist/mpi_absent.c -- in place of mpi_open.c in a build without MPI.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "dist/comm.h"

#include "dist/fail.h"

etx_status etx_comm_open_mpi(struct etx_comm **out, double deadline)
{
    (void)out;
    (void)deadline;
    return etx_dist_fail(ETX_ERR_UNSUPPORTED,
        "this build has no MPI: build with MPI=1, or use ranks as threads");
}

int32_t etx_comm_has_mpi(void)
{
    return 0;
}

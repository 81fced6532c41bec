/* dist/nccl_absent.c -- replaces cuda/dist in builds without NCCL.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "dist/comm.h"

#include "dist/fail.h"

etx_status etx_comm_open_nccl(struct etx_comm **out, struct etx_comm *host,
    int32_t device, double deadline)
{
    (void)out;
    (void)host;
    (void)device;
    (void)deadline;
    return etx_dist_fail(ETX_ERR_UNSUPPORTED,
        "NCCL: this build has none; make CUDA=1 where nccl.h is");
}

int32_t etx_comm_has_nccl(void)
{
    return 0;
}

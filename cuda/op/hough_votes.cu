/* cuda/op/hough_votes.cu -- votes are counted on the CPU only.
 *
 * Cells must be those of the reference to the last bit of atan2 and asinh,
 * which a device rounds otherwise: arch/votes.c asks the host.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cuda/backend/launch.cuh"
#include "cuda/op/operators.h"

etx_status etx_cuda_hough_votes(
    struct etx_stream *stream, const struct etx_hough_votes_args *args)
{
    (void)stream;
    return etx_fail(ETX_ERR_UNSUPPORTED,
        "hough_votes: votes of %lld edges: this operator runs on the CPU only",
        (long long)args->n_edges);
}

/* dist/world.c -- whether the processes that joined are those that were started
 * together, and alike.
 *
 * A program that its launcher started n times, for another MPI or without any,
 * is n processes alone. What launchers tell them is in the environment.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "dist/world.h"

#include <stdlib.h>
#include <string.h>

#include "dist/fail.h"

/* Of mpirun of Open MPI; of launchers with PMI (MPICH, Intel MPI, srun); of
 * MVAPICH, Flux and srun. A launcher that srun started comes before srun, and
 * SLURM_NTASKS is also set for the one script of a batch job. */
static const char *const sizes[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
    "MV2_COMM_WORLD_SIZE", "FLUX_JOB_SIZE", "SLURM_STEP_NUM_TASKS"};
/* Of launchers with PMIx, which need not tell how many there are. */
#define PMIX_RANK "PMIX_RANK"

/* A whole number from the environment, or -1. */
static int64_t read_number(const char *name)
{
    const char *text = getenv(name);
    char *end = NULL;
    const long long number = text == NULL ? -1 : strtoll(text, &end, 10);

    return text != NULL && end != text && *end == '\0' ? number : -1;
}

int64_t etx_dist_n_launched(void)
{
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
        if (read_number(sizes[k]) > 0)
            return read_number(sizes[k]);
    return read_number(PMIX_RANK) >= 0 ? 0 : 1;
}

etx_status etx_dist_check_launched(int32_t n_ranks)
{
    const int64_t n_launched = etx_dist_n_launched();

    if (n_launched == 0 && n_ranks == 1)
        return etx_dist_fail(ETX_ERR_UNSUPPORTED,
            "MPI: this process joined no other, and its launcher does not tell "
            "of how many it is one: it may be that of another MPI than this "
            "build's");
    if (n_ranks >= n_launched)
        return ETX_OK;
    return etx_dist_fail(ETX_ERR_UNSUPPORTED,
        "MPI: %d of %lld processes joined: their launcher is that of another "
        "MPI than this build's",
        (int)n_ranks, (long long)n_launched);
}

struct etx_dist_build etx_dist_this_build(void)
{
    struct etx_dist_build build = {.order = UINT64_C(0x0102030405060708),
        .version = {ETX_VERSION_MAJOR, ETX_VERSION_MINOR, ETX_VERSION_PATCH}};

    strncpy(build.library, etx_version(), sizeof build.library - 1);
    return build;
}

/* Bytes of another order are not read beyond that. */
static etx_status compare(const struct etx_dist_build *mine,
    const struct etx_dist_build *other, int32_t r)
{
    if (other->order != mine->order)
        return etx_dist_fail(ETX_ERR_UNSUPPORTED,
            "rank %d has another order of bytes than rank 0", (int)r);
    if (memcmp(other, mine, sizeof *mine) == 0)
        return ETX_OK;
    return etx_dist_fail(ETX_ERR_UNSUPPORTED,
        "rank %d has libexatrkx %.15s and libexatrkx_dist %d.%d.%d, rank 0 has "
        "%.15s and %d.%d.%d",
        (int)r, other->library, (int)other->version[0], (int)other->version[1],
        (int)other->version[2], mine->library, (int)mine->version[0],
        (int)mine->version[1], (int)mine->version[2]);
}

etx_status etx_dist_check_builds(
    struct etx_comm *comm, const struct etx_dist_build *build)
{
    struct etx_dist_build *all = NULL;
    int64_t *count = NULL;
    etx_status status;

    ETX_CHECK(
        etx_dist_alloc(&all, comm->n_ranks, sizeof *all, "builds of ranks"));
    ETX_CHECK(etx_dist_alloc(
        &count, comm->n_ranks, sizeof *count, "builds of ranks"));
    for (int32_t r = 0; r < comm->n_ranks; r++)
        count[r] = 1;
    ETX_CHECK(etx_comm_gather(comm, all, build, count, sizeof *build));
    for (int32_t r = 1; r < comm->n_ranks; r++)
        ETX_CHECK(compare(all, all + r, r));
done:
    free(count);
    free(all);
    return status;
}

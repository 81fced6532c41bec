/* cuda_shim/nccl.cpp -- NCCL between threads of this process.
 *
 * The calls of a group are one operation of the rank. An operation runs once
 * the streams of all ranks have come to it, which they do when their hosts poll
 * (cudaStreamQuery): a host that does not wait reads too early, and one that
 * calls nothing makes the others run into their deadlines. Memory must be that
 * of the rank's device, and each rank has a device of its own.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "nccl.h"
#include "cuda_runtime.h"
#include "parts.h"

#include <deque>
#include <map>
#include <memory>
#include <vector>

/* A broadcast. */
struct call {
    const char *from;
    char *to;
    size_t n; /* of floats */
    int root;
};

struct shim_team {
    int n_ranks = 0;
    int64_t n_done = 0; /* operations */
    bool is_aborted = false;
    bool has_twice = false; /* a device, which NCCL refuses */
    std::map<int, struct shim_rank *> ranks;
};

struct shim_rank {
    std::shared_ptr<struct shim_team> team;
    int rank, device;
    cudaStream_t stream;
    std::vector<struct call> open; /* of the group that is not ended */
    std::deque<std::vector<struct call>> queued;
    int64_t n_reached; /* operations that the stream has come to */
};

static std::map<int64_t, std::shared_ptr<struct shim_team>> teams;
static int64_t n_teams;
static std::map<cudaStream_t, struct shim_rank *> communicators;
static thread_local int depth; /* of groups */
static thread_local std::vector<struct shim_rank *> grouped;

const char *ncclGetErrorString(ncclResult_t result)
{
    return result == ncclInvalidUsage  ? "invalid usage"
           : result == ncclRemoteError ? "remote process exited"
                                       : "no error";
}

/* ---------------------------------------------------------- operations -- */

/* The call number k of the ranks. */
static void broadcast(struct shim_team *team, size_t k)
{
    const int root = team->ranks[0]->queued[0][k].root;

    for (int r = 1; r < team->n_ranks; r++)
        if (team->ranks[r]->queued[0].size() <= k)
            shim_abort("ranks of NCCL broadcast different arrays");
    const struct call from = team->ranks[root]->queued[0][k];

    for (int r = 0; r < team->n_ranks; r++) {
        const struct call &to = team->ranks[r]->queued[0][k];

        if (to.n != from.n || to.root != root)
            shim_abort("ranks of NCCL broadcast different arrays");
        if (to.to != from.from)
            memmove(to.to, from.from, from.n * sizeof(float));
    }
}

/* The next operation, to which all ranks have come. */
static void run(struct shim_team *team)
{
    const size_t n_calls = team->ranks[0]->queued[0].size();

    shim_enter();
    for (size_t k = 0; k < n_calls; k++)
        broadcast(team, k);
    shim_leave();
    for (const auto &rank : team->ranks)
        rank.second->queued.pop_front();
    team->n_done++;
}

static bool all_reached(const struct shim_team *team)
{
    bool all = (int)team->ranks.size() == team->n_ranks;

    for (const auto &rank : team->ranks)
        all = all && rank.second->n_reached > team->n_done;
    return all;
}

int32_t shim_is_communicating(cudaStream_t stream)
{
    const shim_turn turn;
    const auto found = communicators.find(stream);

    if (found == communicators.end())
        return 0;
    struct shim_team *const team = found->second->team.get();

    while (all_reached(team))
        run(team);
    return found->second->n_reached > team->n_done;
}

/* ---------------------------------------------------------- communicators --
 */

ncclResult_t ncclGetUniqueId(ncclUniqueId *id)
{
    const shim_turn turn;

    id->number = n_teams++;
    teams[id->number] = std::make_shared<struct shim_team>();
    return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(
    ncclComm_t *comm, int n_ranks, ncclUniqueId id, int rank, ncclConfig_t *)
{
    const shim_turn turn;
    struct shim_rank *const made = new struct shim_rank();

    made->team = teams.at(id.number);
    made->team->n_ranks = n_ranks;
    made->rank = rank;
    made->device = shim_device();
    for (const auto &other : made->team->ranks)
        if (other.second->device == made->device)
            made->team->has_twice = true;
    made->team->ranks[rank] = made;
    *comm = made;
    return ncclInProgress;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *result)
{
    const shim_turn turn;
    const struct shim_team &team = *comm->team;

    *result = team.is_aborted  ? ncclRemoteError
              : team.has_twice ? ncclInvalidUsage
              : (int)team.ranks.size() < team.n_ranks && team.n_done == 0
                  ? ncclInProgress
                  : ncclSuccess;
    return ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t)
{
    return ncclSuccess;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm)
{
    const shim_turn turn;

    communicators.erase(comm->stream);
    comm->team->ranks.erase(comm->rank);
    delete comm;
    return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t comm)
{
    {
        const shim_turn turn;

        comm->team->is_aborted = true;
    }
    return ncclCommDestroy(comm);
}

/* --------------------------------------------------------------- calls -- */

ncclResult_t ncclGroupStart(void)
{
    depth++;
    return ncclSuccess;
}

ncclResult_t ncclGroupEnd(void)
{
    const shim_turn turn;

    if (--depth > 0)
        return ncclSuccess;
    for (struct shim_rank *rank : grouped) {
        rank->queued.push_back(std::move(rank->open));
        rank->open.clear();
        shim_queue(rank->stream, [rank]() { rank->n_reached++; });
    }
    grouped.clear();
    return ncclSuccess;
}

static void check_memory(const struct shim_rank *rank, const void *memory)
{
    const struct shim_heap *const heap = shim_heap();
    const char *const at = static_cast<const char *>(memory);

    shim_check_reach(memory, 1);
    const int owner =
        heap->granule[(size_t)(at - heap->begin) / SHIM_GRANULE].owner;

    if (owner != SHIM_PINNED && owner != rank->device)
        shim_abort("NCCL is given memory of another device");
}

static ncclResult_t enter(
    struct shim_rank *rank, cudaStream_t stream, const struct call &call)
{
    const shim_turn turn;

    if (shim_device() != rank->device)
        shim_abort("NCCL is called with another device current");
    if (call.n > 0 && call.root == rank->rank)
        check_memory(rank, call.from);
    if (call.n > 0)
        check_memory(rank, call.to);
    rank->stream = stream;
    communicators[stream] = rank;
    ncclGroupStart();
    if (rank->open.empty())
        grouped.push_back(rank);
    rank->open.push_back(call);
    return ncclGroupEnd();
}

ncclResult_t ncclBroadcast(const void *from, void *to, size_t n, ncclDataType_t,
    int root, ncclComm_t comm, cudaStream_t stream)
{
    return enter(comm, stream,
        {static_cast<const char *>(from), static_cast<char *>(to), n, root});
}

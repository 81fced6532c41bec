/* test/dist/parts.c -- one graph on the processes of mpirun: bits, gradients,
 * a rank that fails.
 *
 * Every rank also does the whole alone, to compare with. Ends with 1 and one
 * line on the first thing that is wrong.
 *   mpirun -n RANKS build/test/parts MODEL DETECTORS EVENT
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <exatrkx/dist.h>

#include <math.h>
#include <string.h>
#include <time.h>

#include "parts_input.h"

#define N_STEPS 3

static const char training[] =
    "{\"stage\": \"gnn\", \"seed\": 1, \"schedule\": {\"steps\": 10,"
    "\"learning_rate\": 1e-4}, \"sampling\": {\"hits\": 0, \"edges\": 0}}";

struct test {
    etx_dist *dist;
    etx_context *context;
    etx_model *model;
    struct input input;
};

static void fail(const struct test *test, const char *what)
{
    fprintf(stderr, "rank %d of %d: %s\n", (int)etx_dist_rank(test->dist),
        (int)etx_dist_n_ranks(test->dist), what);
    etx_dist_end_processes(test->dist, 1);
    exit(1);
}

/* ---------------------------------------------------------------- scores -- */

static void check_scores(const struct test *test, int32_t order)
{
    etx_graph *alone = copy_graph(&test->input, NULL);
    etx_graph *shared = copy_graph(&test->input, NULL);

    DO(etx_graph_score(alone, test->context, test->model, test->input.event));
    DO(etx_dist_graph_score(shared, test->dist, test->context, test->model,
        test->input.event, order));
    if (memcmp(etx_graph_scores(alone), etx_graph_scores(shared),
            (size_t)test->input.n_edges * sizeof(float)) != 0)
        fail(test, "scores have other bits than on one rank");
    etx_graph_free(alone);
    etx_graph_free(shared);
}

/* -------------------------------------------------------------- training -- */

static etx_trainer *make_trainer(const struct test *test, int is_shared)
{
    etx_trainer *trainer = NULL;

    DO(etx_trainer_create(&trainer, test->context, training, test->model));
    DO(etx_trainer_add_event(trainer, test->input.event, 0));
    if (is_shared)
        DO(etx_dist_trainer_set_parts(trainer, test->dist, ETX_PARTITION_PHI));
    return trainer;
}

static void check_near(
    const struct test *test, double a, double b, const char *what)
{
    if (!(fabs(a - b) <= 1e-5 * fabs(b))) {
        fprintf(stderr, "%s: %.9g on all ranks, %.9g on one\n", what, a, b);
        fail(test, "training differs from that of one rank");
    }
}

/* All ranks have the number of rank 0, bit for bit. */
static void check_same(const struct test *test, double value)
{
    const int32_t n_ranks = etx_dist_n_ranks(test->dist);
    double *all = alloc(n_ranks, sizeof *all);

    all[etx_dist_rank(test->dist)] = value;
    DO(etx_dist_sum(test->dist, all, n_ranks));
    for (int32_t r = 0; r < n_ranks; r++)
        if (memcmp(&all[r], &all[0], sizeof *all) != 0)
            fail(test, "ranks hold different parameters");
    free(all);
}

static void check_training(const struct test *test)
{
    etx_trainer *alone = make_trainer(test, 0);
    etx_trainer *shared = make_trainer(test, 1);

    for (int k = 0; k < N_STEPS; k++) {
        etx_training_report one = {.struct_size = sizeof one};
        etx_training_report all = {.struct_size = sizeof all};

        DO(etx_trainer_step(&one, alone));
        DO(etx_trainer_step(&all, shared));
        check_near(test, all.loss, one.loss, "loss");
        check_near(test, all.gradient_norm, one.gradient_norm, "gradient");
        check_same(test, all.gradient_norm);
        check_same(test, all.weight_norm);
    }
    etx_trainer_free(alone);
    etx_trainer_free(shared);
}

/* --------------------------------------------------------------- failure -- */

static int32_t say_yes(void *user)
{
    (void)user;
    return 1;
}

/* The last rank is cancelled: all are told immediately, not by their deadline.
 */
static void check_failure(const struct test *test)
{
    const int32_t last = etx_dist_n_ranks(test->dist) - 1;
    etx_graph *graph = copy_graph(&test->input, NULL);
    etx_context_options options;
    etx_context *context = NULL;
    const time_t begin = time(NULL);

    DO(etx_context_options_init(&options, sizeof options));
    if (etx_dist_rank(test->dist) == last)
        options.cancel = say_yes;
    DO(etx_context_create(&context, &options));
    if (etx_dist_graph_score(graph, test->dist, context, test->model,
            test->input.event, ETX_PARTITION_KD) !=
        (etx_dist_rank(test->dist) == last ? ETX_ERR_CANCELLED : ETX_ERR_RANK))
        fail(test, "a rank that failed went unnoticed");
    if (difftime(time(NULL), begin) > 20.0)
        fail(test, "a failure took more than 20 s of a deadline of 60 s");
    etx_context_free(context);
    etx_graph_free(graph);
}

int main(int argc, char **argv)
{
    struct test test = {.context = make_context()};
    etx_detector *detector = NULL;

    if (argc != 4) {
        fprintf(stderr, "usage: %s MODEL DETECTORS EVENT\n", argv[0]);
        return 2;
    }
    DO(etx_dist_open_mpi(&test.dist, NULL));
    DO(etx_model_load(&test.model, argv[1]));
    DO(etx_detector_read(&detector, argv[2]));
    test.input = read_input(argv[3], test.context, test.model, detector);
    check_scores(&test, ETX_PARTITION_PHI);
    check_training(&test);
    check_failure(&test);
    check_scores(&test, ETX_PARTITION_KD);
    if (etx_dist_rank(test.dist) == 0)
        printf("parts of a graph on %d ranks: scores, gradients, failure\n",
            (int)etx_dist_n_ranks(test.dist));
    free_input(&test.input);
    etx_detector_free(detector);
    etx_model_free(test.model);
    etx_dist_close(test.dist);
    etx_context_free(test.context);
    return 0;
}

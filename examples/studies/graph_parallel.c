/* examples/studies/graph_parallel.c -- one graph on several ranks, timed.
 *
 * Ranks are threads of this process with one thread each. Scores the event's
 * graph with the model, and runs a training step on all of it, in
 * turns: on 1 rank; on RANKS; and as RANKS independent programs that each do
 * all of it, cut "none", which is what the machine lets
 * RANKS cores do at best. Prints, tab-separated: what, how nodes are
 * partitioned, ranks, edges of the graph, share of edges computed twice,
 * largest part over the mean, rows of the halo, bytes that the ranks exchanged,
 * median and fastest seconds, median processor seconds of the busiest rank, and
 * the speed-up over 1 rank by the median and by processor seconds: the second
 * is what a loaded machine can say of one whose cores are free. The speed-up of
 * cut "none" counts all that the programs did, and bounds the others. Scores
 * are compared bit for bit. TRAINING is JSON for etx_trainer_create; "-" leaves
 * training out. make build/studies/graph-parallel build/studies/graph-parallel
 * MODEL DETECTORS EVENT TRAINING RANKS REPEATS
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <exatrkx/dist.h>

#include <pthread.h>
#include <string.h>
#include <time.h>

#include "../../test/dist/parts_input.h"

#define MAX_RANKS   64
#define MAX_REPEATS 99

/* Who does the work: one rank, parts of it, and programs side by side. */
enum { ALONE, PHI, KD, SEPARATE, N_BENCHES };

struct bench {
    const char *training; /* NULL: none */
    etx_model *model;
    struct input input;
    int32_t order, n_ranks;
    int32_t is_separate; /* every rank does all of the work */
    etx_dist *dist[MAX_RANKS];
    etx_context *context[MAX_RANKS];
    etx_graph *graph[MAX_RANKS];
    etx_trainer *trainer[MAX_RANKS];
    double seconds[MAX_RANKS]; /* of each rank's last call */
    double busy[MAX_RANKS];    /* processor seconds of it */
};

static double now(clockid_t clock)
{
    struct timespec time = {0, 0};

    (void)clock_gettime(clock, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* ---------------------------------------------------------- a rank's work --
 */

/* One rank is a program that knows of no ranks. */
static void score(struct bench *bench, int32_t r)
{
    if (bench->is_separate) {
        DO(etx_graph_score(bench->graph[r], bench->context[r], bench->model,
            bench->input.event));
        return;
    }
    DO(etx_dist_graph_score(bench->graph[r], bench->dist[r], bench->context[r],
        bench->model, bench->input.event, bench->order));
}

static void step(struct bench *bench, int32_t r)
{
    etx_training_report report = {.struct_size = sizeof report};

    DO(etx_trainer_step(&report, bench->trainer[r]));
}

struct work {
    struct bench *bench;
    int32_t rank;
    void (*run)(struct bench *bench, int32_t rank);
};

static void *start(void *argument)
{
    struct work *work = argument;
    struct bench *bench = work->bench;
    double begin;
    double begin_busy;

    DO(etx_dist_barrier(bench->dist[work->rank]));
    begin = now(CLOCK_MONOTONIC);
    begin_busy = now(CLOCK_THREAD_CPUTIME_ID);
    work->run(bench, work->rank);
    bench->seconds[work->rank] = now(CLOCK_MONOTONIC) - begin;
    bench->busy[work->rank] = now(CLOCK_THREAD_CPUTIME_ID) - begin_busy;
    return NULL;
}

static double find_largest(const double *value, int32_t n)
{
    double largest = 0.0;

    for (int32_t k = 0; k < n; k++)
        if (value[k] > largest)
            largest = value[k];
    return largest;
}

static void run_ranks(
    struct bench *bench, void (*run)(struct bench *bench, int32_t rank))
{
    pthread_t id[MAX_RANKS];
    struct work work[MAX_RANKS];

    for (int32_t r = 0; r < bench->n_ranks; r++) {
        work[r] = (struct work){.bench = bench, .rank = r, .run = run};
        if (pthread_create(&id[r], NULL, start, &work[r]) != 0)
            exit(1);
    }
    for (int32_t r = 0; r < bench->n_ranks; r++)
        (void)pthread_join(id[r], NULL);
}

/* ------------------------------------------------------- ranks and trainers --
 */

static void open_trainer(struct bench *bench, int32_t r)
{
    DO(etx_trainer_create(
        &bench->trainer[r], bench->context[r], bench->training, bench->model));
    DO(etx_trainer_add_event(bench->trainer[r], bench->input.event, 0));
    if (!bench->is_separate)
        DO(etx_dist_trainer_set_parts(
            bench->trainer[r], bench->dist[r], bench->order));
}

static void open_ranks(struct bench *bench, int32_t n_ranks)
{
    bench->n_ranks = n_ranks;
    DO(etx_dist_open_threads(bench->dist, n_ranks, NULL));
    for (int32_t r = 0; r < n_ranks; r++) {
        bench->context[r] = make_context();
        bench->graph[r] = copy_graph(&bench->input, NULL);
        if (bench->training != NULL)
            open_trainer(bench, r);
    }
    if (bench->training != NULL)
        run_ranks(bench, step); /* builds the graph that a trainer keeps */
}

static void close_ranks(struct bench *bench)
{
    for (int32_t r = 0; r < bench->n_ranks; r++) {
        etx_trainer_free(bench->trainer[r]);
        etx_graph_free(bench->graph[r]);
        etx_context_free(bench->context[r]);
        etx_dist_close(bench->dist[r]);
    }
}

static int64_t sum_bytes(const struct bench *bench)
{
    int64_t sum = 0;

    for (int32_t r = 0; r < bench->n_ranks; r++) {
        etx_dist_statistics statistics = {.struct_size = sizeof statistics};

        DO(etx_dist_get_statistics(&statistics, bench->dist[r]));
        sum += statistics.n_bytes;
    }
    return sum;
}

/* -------------------------------------------------------------- results -- */

struct shape {
    double twice, imbalance;
    int64_t n_halo;
};

static struct shape find_shape(const struct bench *bench)
{
    const struct input *input = &bench->input;
    int32_t *owners = alloc(input->n_nodes, sizeof *owners);
    struct shape shape = {0.0, 0.0, 0};
    int64_t max = 0;
    int64_t sum = 0;

    DO(etx_graph_partition(
        owners, input->graph, input->event, bench->n_ranks, bench->order));
    for (int32_t p = 0; p < bench->n_ranks; p++) {
        etx_graph_part *part = NULL;
        int64_t n;

        DO(etx_graph_part_create(
            &part, input->graph, owners, bench->n_ranks, p));
        n = etx_graph_n_edges(etx_graph_part_graph(part));
        sum += n;
        max = n > max ? n : max;
        for (int32_t q = 0; q < bench->n_ranks; q++)
            shape.n_halo += etx_graph_part_received(part)[q];
        etx_graph_part_free(part);
    }
    shape.twice = (double)(sum - input->n_edges) / (double)input->n_edges;
    shape.imbalance = (double)max * bench->n_ranks / (double)sum;
    free(owners);
    return shape;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;

    return x < y ? -1 : x > y;
}

/* Medians and the fastest of the repeats of one bench. */
struct times {
    double median, fastest, busy;
};

static struct times sort_times(double *seconds, double *busy, int32_t n_repeats)
{
    qsort(seconds, (size_t)n_repeats, sizeof(double), compare);
    qsort(busy, (size_t)n_repeats, sizeof(double), compare);
    return (struct times){
        seconds[n_repeats / 2], seconds[0], busy[n_repeats / 2]};
}

static const char *name_cut(const struct bench *bench)
{
    if (bench->is_separate)
        return "none";
    return bench->order == ETX_PARTITION_PHI ? "phi" : "kd";
}

static void print_times(const char *name, const struct bench *bench,
    int64_t n_bytes, const struct times *times, const struct times *alone)
{
    const struct shape shape =
        bench->is_separate ? (struct shape){0.0, 1.0, 0} : find_shape(bench);
    const double work = bench->is_separate ? bench->n_ranks : 1.0;

    printf("%s\t%s\t%d\t%lld\t%.4f\t%.3f\t%lld\t%lld\t%.4f\t%.4f\t%.4f\t"
           "%.2f\t%.2f\n",
        name, name_cut(bench), (int)bench->n_ranks,
        (long long)bench->input.n_edges, shape.twice, shape.imbalance,
        (long long)shape.n_halo, (long long)n_bytes, times->median,
        times->fastest, times->busy, work * alone->median / times->median,
        work * alone->busy / times->busy);
    fflush(stdout);
}

/* Repeats of all, in turns, so that what disturbs one disturbs the others. */
static void time_work(const char *name, struct bench *bench, int32_t n_repeats,
    void (*run)(struct bench *bench, int32_t rank))
{
    double seconds[N_BENCHES][MAX_REPEATS];
    double busy[N_BENCHES][MAX_REPEATS];
    struct times times[N_BENCHES];
    int64_t n_bytes[N_BENCHES];

    for (int32_t b = 0; b < N_BENCHES; b++)
        n_bytes[b] = sum_bytes(bench + b);
    for (int32_t k = 0; k < n_repeats; k++)
        for (int32_t b = 0; b < N_BENCHES; b++) {
            run_ranks(bench + b, run);
            seconds[b][k] = find_largest(bench[b].seconds, bench[b].n_ranks);
            busy[b][k] = find_largest(bench[b].busy, bench[b].n_ranks);
        }
    for (int32_t b = 0; b < N_BENCHES; b++) {
        times[b] = sort_times(seconds[b], busy[b], n_repeats);
        print_times(name, bench + b,
            (sum_bytes(bench + b) - n_bytes[b]) / n_repeats, times + b, times);
    }
}

static void check_scores(const struct bench *alone, const struct bench *many)
{
    const size_t bytes = (size_t)many->input.n_edges * sizeof(float);

    for (int32_t r = 0; r < many->n_ranks; r++)
        if (memcmp(etx_graph_scores(alone->graph[0]),
                etx_graph_scores(many->graph[r]), bytes) != 0) {
            fprintf(stderr, "rank %d has other scores\n", (int)r);
            exit(1);
        }
}

static void reset_scores(struct bench *bench)
{
    for (int32_t r = 0; r < bench->n_ranks; r++)
        DO(etx_graph_set_scores(
            bench->graph[r], etx_graph_scores(bench->input.graph)));
}

static void time_all(
    const struct bench *shared, int32_t n_ranks, int32_t n_repeats)
{
    struct bench bench[N_BENCHES] = {*shared, *shared, *shared, *shared};

    bench[ALONE].is_separate = bench[SEPARATE].is_separate = 1;
    bench[PHI].order = ETX_PARTITION_PHI;
    bench[KD].order = ETX_PARTITION_KD;
    for (int32_t b = 0; b < N_BENCHES; b++) {
        open_ranks(bench + b, b == ALONE ? 1 : n_ranks);
        run_ranks(bench + b, score);
        check_scores(bench, bench + b);
    }
    for (int32_t b = 0; b < N_BENCHES; b++)
        reset_scores(bench + b);
    time_work("score", bench, n_repeats, score);
    if (shared->training != NULL)
        time_work("step", bench, n_repeats, step);
    for (int32_t b = 0; b < N_BENCHES; b++)
        close_ranks(bench + b);
}

static char *read_text(const char *path)
{
    FILE *file = fopen(path, "r");
    char *text = alloc(65536, 1);

    if (file == NULL || fread(text, 1, 65535, file) == 0) {
        fprintf(stderr, "%s: cannot be read\n", path);
        exit(1);
    }
    (void)fclose(file);
    return text;
}

int main(int argc, char **argv)
{
    struct bench bench = {0};
    etx_context *context = make_context();
    etx_detector *detector = NULL;
    char *training = NULL;

    if (argc != 7 || atoi(argv[5]) < 2 || atoi(argv[5]) > MAX_RANKS ||
        atoi(argv[6]) < 1 || atoi(argv[6]) > MAX_REPEATS) {
        fprintf(stderr,
            "usage: %s MODEL DETECTORS EVENT TRAINING RANKS REPEATS\n",
            argv[0]);
        return 2;
    }
    DO(etx_model_load(&bench.model, argv[1]));
    DO(etx_detector_read(&detector, argv[2]));
    if (strcmp(argv[4], "-") != 0)
        training = read_text(argv[4]);
    bench.training = training;
    bench.input = read_input(argv[3], context, bench.model, detector);
    puts("what\tcut\tranks\tedges\tcomputed_twice\timbalance\thalo_rows\t"
         "bytes\tmedian_s\tfastest_s\tbusiest_s\tspeedup\t"
         "processor_speedup");
    time_all(&bench, atoi(argv[5]), atoi(argv[6]));
    free_input(&bench.input);
    free(training);
    etx_detector_free(detector);
    etx_model_free(bench.model);
    etx_context_free(context);
    return 0;
}

/* examples/program.c -- what the programs share: command line, messages,
 * shipped files, contexts and lists of events.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#define _XOPEN_SOURCE 700 /* realpath */
#include "program.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cores.h"

/* -------------------------------------------------------------- messages -- */

static const char *program_name = "etx";

__attribute__((format(printf, 1, 0))) static void print_line(
    const char *format, va_list arguments)
{
    fprintf(stderr, "%s: ", program_name);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
}

int program_usage(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    print_line(format, arguments);
    va_end(arguments);
    return PROGRAM_USAGE;
}

int program_error(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    print_line(format, arguments);
    va_end(arguments);
    return PROGRAM_FAILED;
}

int program_failed(const char *subject)
{
    if (subject == NULL)
        return program_error("%s", etx_last_error());
    return program_error("%s: %s", subject, etx_last_error());
}

void *program_allocate(int64_t count, size_t size)
{
    void *memory = calloc(count > 0 ? (size_t)count : 1, size);

    if (memory == NULL)
        exit(program_error("out of memory"));
    return memory;
}

char *program_copy_text(const char *text)
{
    const size_t size = strlen(text) + 1;
    char *copy = program_allocate((int64_t)size, 1);

    memcpy(copy, text, size);
    return copy;
}

void program_list_add(struct program_list *list, const char *item)
{
    char **grown =
        realloc(list->item, (size_t)(list->count + 1) * sizeof *list->item);

    if (grown == NULL)
        exit(program_error("out of memory"));
    list->item = grown;
    list->item[list->count++] = program_copy_text(item);
}

void program_list_free(struct program_list *list)
{
    for (int64_t i = 0; i < list->count; i++)
        free(list->item[i]);
    free(list->item);
    list->item = NULL;
    list->count = 0;
}

/* ------------------------------------------------------------- options -- */

static void print_help(const char *summary,
    const struct program_option *options, int32_t n_options)
{
    printf("usage: %s [options]\n%s\n\noptions:\n", program_name, summary);
    for (int32_t k = 0; k < n_options; k++) {
        char left[64];

        snprintf(left, sizeof left, "--%s%s%s", options[k].name,
            options[k].value != NULL ? " " : "",
            options[k].value != NULL ? options[k].value : "");
        printf("  %-24s %s", left, options[k].help);
        if (options[k].preset != NULL)
            printf(" (default %g)", (double)*options[k].preset);
        putchar('\n');
    }
    printf("  %-24s %s\n", "--version", "the version of the library");
    printf("  %-24s %s\n", "--help", "this text; also -h");
}

static const struct program_option *find_option(const char *name, size_t length,
    const struct program_option *options, int32_t n_options)
{
    for (int32_t k = 0; k < n_options; k++)
        if (strlen(options[k].name) == length &&
            strncmp(options[k].name, name, length) == 0)
            return &options[k];
    return NULL;
}

/* Store the value of an option, or end with a line of usage. */
static void store_value(const struct program_option *option, const char *value)
{
    char *end = NULL;
    double number = 0.0;

    if (option->text != NULL) {
        *option->text = value;
        return;
    }
    if (option->list != NULL) {
        program_list_add(option->list, value);
        return;
    }
    errno = 0;
    number = strtod(value, &end);
    if (end == value || *end != '\0' || errno != 0 ||
        !(number >= option->low && number <= option->high) ||
        (option->integer != NULL && number != (double)(int64_t)number))
        exit(program_usage("--%s %s: not %s in %g..%g", option->name, value,
            option->integer != NULL ? "a whole number" : "a number",
            option->low, option->high));
    if (option->integer != NULL)
        *option->integer = (int64_t)number;
    else
        *option->number = number;
}

void program_parse(int argc, char **argv, const char *summary,
    const struct program_option *options, int32_t n_options)
{
    program_name = program_base_name(argv[0]);
    for (int k = 1; k < argc; k++) {
        const char *name = argv[k] + 2;
        const char *equals = NULL;
        const struct program_option *option = NULL;
        size_t length = 0;

        if (strcmp(argv[k], "--help") == 0 || strcmp(argv[k], "-h") == 0) {
            print_help(summary, options, n_options);
            exit(0);
        }
        if (strcmp(argv[k], "--version") == 0) {
            printf("%s (libexatrkx) %s\n", program_name, etx_version());
            exit(0);
        }
        if (strncmp(argv[k], "--", 2) != 0)
            exit(program_usage("unexpected argument %s", argv[k]));
        equals = strchr(name, '=');
        length = equals != NULL ? (size_t)(equals - name) : strlen(name);
        option = find_option(name, length, options, n_options);
        if (option == NULL)
            exit(program_usage("unknown option %s (see --help)", argv[k]));
        if (option->flag != NULL && equals == NULL) {
            *option->flag = 1;
            continue;
        }
        if (option->flag != NULL || (equals == NULL && k + 1 >= argc))
            exit(program_usage("--%s %s", option->name,
                option->flag != NULL ? "takes no value" : "needs a value"));
        store_value(option, equals != NULL ? equals + 1 : argv[++k]);
    }
}

/* --------------------------------------------- context and shipped files -- */

#define MAX_THREADS 256

/* ETX_CPU=ref|avx2|avx512|neon forces an instruction set. */
static int cpu_level(int32_t *level)
{
    static const struct {
        const char *name;
        int32_t level;
    } levels[] = {{"ref", ETX_CPU_REF}, {"avx2", ETX_CPU_AVX2},
        {"avx512", ETX_CPU_AVX512}, {"neon", ETX_CPU_NEON}};
    const char *wanted = getenv("ETX_CPU");

    *level = ETX_CPU_BEST;
    if (wanted == NULL || *wanted == '\0')
        return 0;
    for (size_t k = 0; k < sizeof levels / sizeof *levels; k++)
        if (strcmp(wanted, levels[k].name) == 0) {
            *level = levels[k].level;
            return 0;
        }
    return program_usage("ETX_CPU=%s: not ref, avx2, avx512 or neon", wanted);
}

/* ETX_PRECISION of the environment. */
static int precision(int32_t *out)
{
    const char *wanted = getenv("ETX_PRECISION");

    *out = ETX_PRECISION_BEST;
    if (wanted == NULL || *wanted == '\0')
        return 0;
    if (strcmp(wanted, "float32") == 0)
        *out = ETX_PRECISION_FLOAT32;
    else if (strcmp(wanted, "float16") == 0)
        *out = ETX_PRECISION_FLOAT16;
    else if (strcmp(wanted, "bfloat16") == 0)
        *out = ETX_PRECISION_BFLOAT16;
    else if (strcmp(wanted, "tf32") == 0)
        *out = ETX_PRECISION_TF32;
    else if (strcmp(wanted, "int16") == 0)
        *out = ETX_PRECISION_INT16;
    else
        return program_usage(
            "ETX_PRECISION=%s: not float32, float16, bfloat16, tf32 or int16",
            wanted);
    return 0;
}

/* The cores that this process may run on, at most as many as a context has
 * threads. */
int64_t program_cores(void)
{
    double words[CORES_WORDS];
    int64_t n_cores;

    cores_describe(words);
    n_cores = cores_share(words, 1, 0);
    return n_cores > MAX_THREADS ? MAX_THREADS : n_cores;
}

/* "cpu", "cuda" or "cuda:1"; 0, or 2 after a message. */
static int read_device(etx_context_options *options, const char *device)
{
    char *end = NULL;

    if (device == NULL || strcmp(device, "cpu") == 0)
        return 0;
    options->device = ETX_DEVICE_CUDA;
    if (strcmp(device, "cuda") == 0)
        return 0;
    if (strncmp(device, "cuda:", 5) == 0 && isdigit((unsigned char)device[5])) {
        errno = 0;
        const long index = strtol(device + 5, &end, 10);

        options->device_index = (int32_t)index;
        if (*end == '\0' && errno == 0 && index <= INT32_MAX)
            return 0;
    }
    return program_usage(
        "--device %s: not cpu, cuda or cuda:N, N from 0", device);
}

int program_context(etx_context **out, const char *device, int64_t *n_threads)
{
    etx_context_options options;

    if (etx_context_options_init(&options, sizeof options) != ETX_OK)
        return program_failed(NULL);
    if (read_device(&options, device) != 0)
        return PROGRAM_USAGE;
    if (*n_threads == 0)
        *n_threads = program_cores();
    options.n_threads = (int32_t)*n_threads;
    if (cpu_level(&options.cpu_level) != 0 ||
        precision(&options.precision) != 0)
        return PROGRAM_USAGE;
    if (etx_context_create(out, &options) != ETX_OK)
        return program_failed(NULL);
    return 0;
}

etx_status program_timings(etx_stage_timing *timing, const etx_context *context)
{
    etx_status status = ETX_OK;

    for (int32_t s = 0; status == ETX_OK && s < ETX_N_STAGES; s++) {
        timing[s].struct_size = sizeof timing[s];
        status = etx_context_timing(&timing[s], context, s);
    }
    return status;
}

/* Folders of shipped files seen from the folder of this program: installed, so
 * that a prefix may be moved, and built, with CUDA=0 and 1. */
static const char *const data_near[] = {
    "../share/exatrkx", "../../examples", "../../../examples"};

#define N_NEAR ((int)(sizeof data_near / sizeof *data_near))

/* The folder of this program; "" when it is not known. */
static void find_own_folder(char *out, size_t size)
{
    const ssize_t n = readlink("/proc/self/exe", out, size - 1);
    char *slash;

    out[n > 0 ? n : 0] = '\0';
    slash = strrchr(out, '/');
    if (slash != NULL)
        *slash = '\0';
}

/* A copy of the path folder/relative when it can be read, else NULL. */
static char *readable(const char *folder, const char *relative)
{
    char path[PROGRAM_PATH_BYTES];
    const int n = snprintf(path, sizeof path, "%s/%s", folder, relative);

    if (*folder == '\0' || n < 0 || (size_t)n >= sizeof path ||
        access(path, R_OK) != 0)
        return NULL;
    return program_copy_text(path);
}

int program_is_folder(const char *path)
{
    struct stat information;

    return stat(path, &information) == 0 && S_ISDIR(information.st_mode);
}

int program_is_standard_output(const char *path)
{
    struct stat file, standard;

    return stat(path, &file) == 0 && fstat(STDOUT_FILENO, &standard) == 0 &&
           !S_ISCHR(file.st_mode) && file.st_dev == standard.st_dev &&
           file.st_ino == standard.st_ino;
}

int program_check_output(const char *path)
{
    struct stat information;
    int error;

    if (path == NULL)
        return 0;
    if (program_is_folder(path))
        return program_error("%s: is a folder", path);
    const int exists = stat(path, &information) == 0;

    if (exists &&
        (!S_ISREG(information.st_mode) || program_is_standard_output(path))) {
        error = access(path, W_OK) == 0 ? 0 : errno;
    } else {
        char *file = exists ? realpath(path, NULL) : NULL;
        const char *target = file != NULL ? file : path;
        const char *slash = strrchr(target, '/');
        const size_t n = slash != NULL ? (size_t)(slash + 1 - target) : 0;
        char *folder = program_allocate((int64_t)n + 2, 1);

        memcpy(folder, target, n);
        memcpy(folder + n, ".", 2);
        error = access(folder, W_OK) == 0 ? 0 : errno;
        free(folder);
        free(file);
    }
    return error != 0 ? program_error("%s: %s", path, strerror(error)) : 0;
}

char *program_shipped_file(const char *relative)
{
    const char *folder = getenv("ETX_DATA");
    char own[PROGRAM_PATH_BYTES - 32]; /* and one of data_near */
    char near[PROGRAM_PATH_BYTES];
    char *found = folder == NULL ? NULL : readable(folder, relative);

    if (folder != NULL && *folder != '\0' && !program_is_folder(folder))
        exit(program_error("ETX_DATA=%s: no such folder", folder));
    find_own_folder(own, sizeof own);
    for (int k = 0; found == NULL && *own != '\0' && k < N_NEAR; k++) {
        snprintf(near, sizeof near, "%s/%s", own, data_near[k]);
        found = readable(near, relative);
    }
    if (found == NULL)
        found = readable(ETX_DATA_DIR, relative);
    return found != NULL ? found : readable("examples", relative);
}

/* A copy of path, or of the path of the shipped file when path is NULL; NULL
 * after a message that names the option. */
static char *choose_file(
    const char *path, const char *relative, const char *option)
{
    char *found =
        path != NULL ? program_copy_text(path) : program_shipped_file(relative);

    if (found == NULL)
        (void)program_error("no %s in $ETX_DATA, ../share/exatrkx next to this "
                            "program, %s or examples: give %s FILE",
            relative, ETX_DATA_DIR, option);
    return found;
}

char *program_shipped_name(
    const char *folder, const char *name, const char *ending)
{
    char relative[64];
    const int n =
        snprintf(relative, sizeof relative, "%s/%s%s", folder, name, ending);

    if (strchr(name, '/') != NULL || n < 0 || (size_t)n >= sizeof relative ||
        access(name, F_OK) == 0)
        return NULL;
    return program_shipped_file(relative);
}

int program_detector(etx_detector **out, const char *path)
{
    char *file = choose_file(path, "data/detectors.csv.gz", "--detector");
    int result = file == NULL ? PROGRAM_FAILED : 0;

    if (result == 0 && etx_detector_read(out, file) != ETX_OK)
        result = program_failed(NULL);
    free(file);
    return result;
}

void program_check_event(const char *name, const etx_event *event,
    const etx_detector *detector, const etx_model *model)
{
    static atomic_flag has_warned = ATOMIC_FLAG_INIT;
    char text[1024];

    if (etx_event_check(text, sizeof text, event, detector, model) != ETX_OK)
        program_failed(name);
    else if (text[0] != '\0' && !atomic_flag_test_and_set(&has_warned))
        program_error("warning: %s: %s", name, text);
}

int program_model(etx_model **out, const char *path)
{
    char *named = path == NULL
                      ? NULL
                      : program_shipped_name("models", path, ".safetensors");
    char *file = named != NULL ? named
                               : choose_file(path, "models/default.safetensors",
                                     "--model");
    int result = file == NULL ? PROGRAM_FAILED : 0;

    if (result == 0 && etx_model_load(out, file) != ETX_OK)
        result = program_failed(NULL);
    free(file);
    return result;
}

/* ---------------------------------------------------------------- events -- */

const char *program_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL ? slash + 1 : path;
}

static int compare_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Length of the event prefix in the name of one of the first n_kinds of an
 * event's files, 0 when it is no such name. */
static size_t prefix_length(const char *name, size_t n_kinds)
{
    static const char *const endings[] = {"-hits.csv", "-hits.csv.gz",
        "-cells.csv", "-cells.csv.gz", "-truth.csv", "-truth.csv.gz",
        "-particles.csv", "-particles.csv.gz"};
    const size_t length = strlen(name);

    for (size_t k = 0; k < 2 * n_kinds; k++) {
        const size_t ending = strlen(endings[k]);

        if (length > ending && strcmp(name + length - ending, endings[k]) == 0)
            return length - ending;
    }
    return 0;
}

/* Remove repeated items from `first` on, which are sorted: an event may be in
 * the folder both plain and compressed. */
static void drop_repeated(struct program_list *list, int64_t first)
{
    int64_t kept = first;

    for (int64_t k = first; k < list->count; k++) {
        if (kept > first && strcmp(list->item[k], list->item[kept - 1]) == 0)
            free(list->item[k]);
        else
            list->item[kept++] = list->item[k];
    }
    list->count = kept;
}

/* Append the prefixes of the events in a folder, sorted. */
static int add_folder(struct program_list *list, const char *folder)
{
    const int64_t first = list->count;
    DIR *directory = opendir(folder);

    if (directory == NULL)
        return program_error("%s: %s", folder, strerror(errno));
    for (const struct dirent *entry = readdir(directory); entry != NULL;
         entry = readdir(directory)) {
        char path[PROGRAM_PATH_BYTES];
        const size_t length = prefix_length(entry->d_name, 1);
        const int written = snprintf(
            path, sizeof path, "%s/%.*s", folder, (int)length, entry->d_name);

        if (length > 0 && written > 0 && (size_t)written < sizeof path)
            program_list_add(list, path);
    }
    closedir(directory);
    if (list->count == first)
        return program_error("%s: no file ends in -hits.csv[.gz]", folder);
    qsort(list->item + first, (size_t)(list->count - first), sizeof *list->item,
        compare_text);
    drop_repeated(list, first);
    return 0;
}

static int has_hits(const char *prefix)
{
    char path[PROGRAM_PATH_BYTES];
    const int n = snprintf(path, sizeof path, "%s-hits.csv.gz", prefix);

    if (n < 0 || (size_t)n >= sizeof path)
        return 0;
    if (access(path, F_OK) == 0)
        return 1;
    path[(size_t)n - strlen(".gz")] = '\0';
    return access(path, F_OK) == 0;
}

/* Append a prefix, also where one of the event's files is given instead. */
static int add_event(struct program_list *list, const char *path)
{
    char *prefix = program_copy_text(path);
    const size_t length = prefix_length(path, 4);
    int result = 0;

    if (length > 0)
        prefix[length] = '\0';
    if (has_hits(prefix))
        program_list_add(list, prefix);
    else if (length == 0 && access(path, F_OK) == 0)
        result = program_error(
            "%s: no prefix of CSV files of TrackML; exatrkx.Events of Python "
            "reads zip, npz and pyg files, and the CSV files of ACTS",
            path);
    else
        result =
            program_error("%s: there is neither %s-hits.csv nor %s-hits.csv.gz",
                program_base_name(path), prefix, prefix);
    free(prefix);
    return result;
}

int program_expand_events(struct program_list *events)
{
    struct program_list expanded = {.count = 0};
    int result = 0;

    for (int64_t k = 0; result == 0 && k < events->count; k++) {
        const char *path = events->item[k];

        if (program_is_folder(path)) {
            expanded.of_folder = 1;
            result = add_folder(&expanded, path);
        } else {
            result = add_event(&expanded, path);
        }
    }
    if (result != 0) {
        program_list_free(&expanded);
        return result;
    }
    program_list_free(events);
    *events = expanded;
    return 0;
}

void program_add_tracks(
    struct program_list *list, const char *path, const char *event)
{
    if (!program_is_folder(path)) {
        program_list_add(list, path);
        return;
    }
    const char *const name = program_base_name(event);
    const size_t size = strlen(path) + strlen(name) + sizeof "/-tracks.csv.gz";
    char *file = program_allocate((int64_t)size, 1);
    const int length = snprintf(file, size, "%s/%s-tracks.csv.gz", path, name);
    const int is_packed = access(file, R_OK) == 0;

    file[length - 3] = '\0';
    if (is_packed && access(file, R_OK) != 0)
        file[length - 3] = '.';
    program_list_add(list, file);
    free(file);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(program_base_name(*(char *const *)a),
        program_base_name(*(char *const *)b));
}

int program_check_names(const struct program_list *events, const char *ending)
{
    const size_t size = sizeof *events->item;
    char **sorted = program_allocate(events->count, size);
    int result = 0;

    for (int64_t k = 0; k < events->count; k++)
        sorted[k] = events->item[k];
    qsort(sorted, (size_t)events->count, size, compare_names);
    for (int64_t k = 1; result == 0 && k < events->count; k++)
        if (compare_names(&sorted[k - 1], &sorted[k]) == 0)
            result = program_usage("%s and %s would share the file %s%s",
                sorted[k - 1], sorted[k], program_base_name(sorted[k]), ending);
    free(sorted);
    return result;
}

/* ----------------------------------------------------------- particles -- */

int64_t program_find_particle(const etx_event *event, int64_t id)
{
    const etx_particle *particles = etx_event_particles(event);
    const int64_t n = etx_event_n_particles(event);
    int64_t low = 0;
    int64_t high = n;

    while (low < high) {
        const int64_t middle = low + (high - low) / 2;

        if (particles[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < n && particles[low].id == id ? low : -1;
}

/* --------------------------------------------------------------- ranks -- */

/* A whole number from the environment, or -1. */
static int64_t read_number(const char *name)
{
    const char *text = getenv(name);
    char *end = NULL;
    const long long number = text == NULL ? -1 : strtoll(text, &end, 10);

    return text != NULL && end != text && *end == '\0' ? number : -1;
}

int program_ranks(int64_t *rank, int64_t *n_ranks)
{
    static const char *const names[][2] = {
        {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
        {"PMI_RANK", "PMI_SIZE"}, {"SLURM_PROCID", "SLURM_NTASKS"}};

    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        if (getenv(names[k][0]) == NULL || getenv(names[k][1]) == NULL)
            continue;
        *rank = read_number(names[k][0]);
        *n_ranks = read_number(names[k][1]);
        if (*rank >= 0 && *rank < *n_ranks)
            return 0;
        return program_usage("--share: %s=%s is not a rank below %s=%s",
            names[k][0], getenv(names[k][0]), names[k][1], getenv(names[k][1]));
    }
    return program_usage("--share: neither mpirun nor srun started this "
                         "process (no OMPI_COMM_WORLD_RANK, PMI_RANK or "
                         "SLURM_PROCID with its size)");
}

double program_now(void)
{
    struct timespec time = {0, 0};

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

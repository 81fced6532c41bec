/* test/hosts/loader.c -- several copies of the library in one process.
 *
 *     loader REPEATS LIBRARY [LIBRARY...]     exits with 0, or says what failed
 *
 * The program has a copy of its own, linked statically, whose names it exports.
 * Every LIBRARY is opened next to it, all at the same time; each finds the
 * tracks of a shipped event, has its own last error and its own allocator. Then
 * the first is opened, used and closed REPEATS times: no descriptor, thread or
 * mapping may be left. Runs in the root of the repository.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <exatrkx/exatrkx.h>

#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_COPIES 8
#define MODEL      "examples/models/default.safetensors"
#define DETECTORS  "examples/data/detectors.csv.gz"
#define EVENT      "examples/data/event000000001"

/* The functions of one copy. */
#define FUNCTIONS(X)                                                           \
    X(etx_context_options_init)                                                \
    X(etx_context_create)                                                      \
    X(etx_context_free)                                                        \
    X(etx_model_load)                                                          \
    X(etx_model_free)                                                          \
    X(etx_detector_read)                                                       \
    X(etx_detector_free)                                                       \
    X(etx_event_read_trackml)                                                  \
    X(etx_event_free)                                                          \
    X(etx_find_tracks)                                                         \
    X(etx_tracks_count)                                                        \
    X(etx_tracks_hits)                                                         \
    X(etx_tracks_offsets)                                                      \
    X(etx_tracks_free)                                                         \
    X(etx_last_error)                                                          \
    X(etx_set_allocator)
#define MEMBER(name) __typeof__(&name) name;
struct copy {
    const char *path;
    void *handle;
    FUNCTIONS(MEMBER)
};

static int64_t n_allocated; /* by the allocator of one copy */

static void require(int condition, const char *path, const char *what)
{
    if (condition)
        return;
    fprintf(stderr, "loader: %s: %s\n", path, what);
    exit(1);
}

static struct copy linked(void)
{
    struct copy copy = {.path = "the program"};

#define OWN(name) copy.name = name;
    FUNCTIONS(OWN)
    return copy;
}

static struct copy opened(const char *path)
{
    struct copy copy = {.path = path};

    copy.handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (copy.handle == NULL)
        require(0, path, dlerror());
#define FIND(name)                                                             \
    *(void **)&copy.name = dlsym(copy.handle, #name);                          \
    require(copy.name != NULL, path, #name);
    FUNCTIONS(FIND)
    return copy;
}

/* FNV-1a of the hits of all tracks. */
static uint64_t find_tracks(const struct copy *copy)
{
    etx_context_options options;
    etx_context *context = NULL;
    etx_model *model = NULL;
    etx_detector *detector = NULL;
    etx_event *event = NULL;
    etx_tracks *tracks = NULL;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    int64_t n;

    require(copy->etx_context_options_init(&options, sizeof options) == ETX_OK,
        copy->path, "options");
    options.n_threads = 2;
    if (copy->etx_context_create(&context, &options) ||
        copy->etx_model_load(&model, MODEL) ||
        copy->etx_detector_read(&detector, DETECTORS) ||
        copy->etx_event_read_trackml(&event, EVENT, detector) ||
        copy->etx_find_tracks(&tracks, context, model, event))
        require(0, copy->path, copy->etx_last_error());
    n = copy->etx_tracks_offsets(tracks)[copy->etx_tracks_count(tracks)];
    require(n > 100, copy->path, "no tracks");
    for (int64_t k = 0; k < n; k++)
        hash = (hash ^ (uint32_t)copy->etx_tracks_hits(tracks)[k]) *
               UINT64_C(0x100000001b3);
    copy->etx_tracks_free(tracks);
    copy->etx_event_free(event);
    copy->etx_detector_free(detector);
    copy->etx_model_free(model);
    copy->etx_context_free(context);
    return hash;
}

static void *count_allocation(size_t size, void *user)
{
    (void)user;
    n_allocated++;
    return malloc(size);
}

static void free_it(void *memory, void *user)
{
    (void)user;
    free(memory);
}

/* What one copy does, no other one sees. */
static void expect_alone(const struct copy *copy, int32_t n_copies, int32_t one)
{
    char path[64];
    etx_model *none = NULL;

    for (int32_t k = 0; k < n_copies; k++) {
        (void)snprintf(path, sizeof path, "/nowhere/%d", (int)k);
        require(copy[k].etx_model_load(&none, path) == ETX_ERR_IO, copy[k].path,
            "a model from nowhere");
    }
    for (int32_t k = 0; k < n_copies; k++) {
        (void)snprintf(path, sizeof path, "/nowhere/%d", (int)k);
        require(strstr(copy[k].etx_last_error(), path) != NULL, copy[k].path,
            "the last error of another copy");
    }
    require(
        copy[one].etx_set_allocator(count_allocation, free_it, NULL) == ETX_OK,
        copy[one].path, "the allocator");
    for (int32_t k = 0; k < n_copies; k++) {
        const int64_t before = n_allocated;

        (void)find_tracks(&copy[k]);
        require((n_allocated > before) == (k == one), copy[k].path,
            "the allocator of another copy");
    }
    require(copy[one].etx_set_allocator(NULL, NULL, NULL) == ETX_OK,
        copy[one].path, "no allocator");
}

static int64_t n_entries(const char *path)
{
    DIR *folder = opendir(path);
    int64_t n = 0;

    require(folder != NULL, path, "no folder");
    while (readdir(folder) != NULL)
        n++;
    (void)closedir(folder);
    return n;
}

static int64_t n_mappings(const char *of)
{
    FILE *file = fopen("/proc/self/maps", "r");
    char line[4096];
    int64_t n = 0;

    require(file != NULL, "maps", "not there");
    while (fgets(line, sizeof line, file) != NULL)
        n += strstr(line, of) != NULL;
    (void)fclose(file);
    return n;
}

static void open_and_close(const char *path, int repeats, uint64_t expected)
{
    const int64_t descriptors = n_entries("/proc/self/fd");
    const int64_t threads = n_entries("/proc/self/task");

    for (int k = 0; k < repeats; k++) {
        struct copy copy = opened(path);

        require(find_tracks(&copy) == expected, path, "other tracks");
        require(n_mappings(path) > 0, path, "not mapped");
        require(dlclose(copy.handle) == 0, path, "not closed");
        require(n_mappings(path) == 0, path, "still mapped");
    }
    require(n_entries("/proc/self/fd") == descriptors, path, "a descriptor");
    require(n_entries("/proc/self/task") == threads, path, "a thread");
}

int main(int argc, char **argv)
{
    struct copy copy[MAX_COPIES];
    int32_t n_copies = 0;
    uint64_t expected;

    require(argc > 2 && argc - 1 <= MAX_COPIES, "arguments", "REPEATS LIBRARY");
    copy[n_copies++] = linked();
    for (int k = 2; k < argc; k++)
        copy[n_copies++] = opened(argv[k]);
    expected = find_tracks(&copy[0]);
    for (int32_t k = 0; k < n_copies; k++)
        require(
            find_tracks(&copy[k]) == expected, copy[k].path, "other tracks");
    for (int32_t k = 0; k < n_copies; k++)
        expect_alone(copy, n_copies, k);
    for (int32_t k = 1; k < n_copies; k++)
        require(dlclose(copy[k].handle) == 0, copy[k].path, "not closed");
    open_and_close(argv[2], atoi(argv[1]), expected);
    printf("loader: %d copies side by side; one opened and closed %s times\n",
        (int)n_copies, argv[1]);
    return 0;
}

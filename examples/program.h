/* examples/program.h -- what the programs share: command line, messages,
 * shipped files, contexts and lists of events.
 *
 * Every program: --help, --version, exit 0, 1 (failed, one line on stderr) or 2
 * (usage).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_EXAMPLES_PROGRAM_H
#define ETX_EXAMPLES_PROGRAM_H

#include <exatrkx/exatrkx.h>

#define PROGRAM_FAILED 1
#define PROGRAM_USAGE  2

#define PROGRAM_PATH_BYTES 4096

/* A growing list of strings that it owns. */
struct program_list {
    int64_t count;
    char **item;       /* [count] */
    int32_t of_folder; /* 1: program_expand_events found a folder in it */
};

/* A command line option. One of the pointers says where its value is stored. */
struct program_option {
    const char *name;  /* "model" for --model */
    const char *value; /* "FILE" in the help, NULL for a flag */
    const char *help;
    const char **text;         /* the value itself */
    struct program_list *list; /* the value is appended */
    int64_t *integer;          /* a number in low..high */
    double *number;
    int32_t *flag; /* set to 1 */
    double low, high;
    const float *preset; /* the default, for the help, or NULL */
};

/* Rows of a table of options: of program_model, program_detector and
 * program_context. */
#define PROGRAM_MODEL_OPTION(path)                                             \
    {                                                                          \
        "model", "FILE",                                                       \
            "model file, or the name of a shipped one (default: default)",     \
            .text = (path)                                                     \
    }
#define PROGRAM_DETECTOR_OPTION(path)                                          \
    {                                                                          \
        "detector", "FILE", "detectors.csv (default: the TrackML detector)",   \
            .text = (path)                                                     \
    }
#define PROGRAM_THREADS_OPTION(n)                                              \
    {                                                                          \
        "threads", "N", "threads, 0 = all cores (default)",                    \
            .integer = (n), .low = 0, .high = 256                              \
    }
#define PROGRAM_DEVICE_OPTION(name)                                            \
    {                                                                          \
        "device", "NAME", "cpu (default), cuda or cuda:N", .text = (name)      \
    }

/* Read argv; prints help and exits 0 on --help, prints one line and exits 2
 * on wrong usage. Options that are not given keep their value. */
void program_parse(int argc, char **argv, const char *summary,
    const struct program_option *options, int32_t n_options);

/* One line "NAME: message" on stderr; returns PROGRAM_USAGE. */
int program_usage(const char *format, ...)
    __attribute__((format(printf, 1, 2)));
/* One line "NAME: subject: etx_last_error()"; returns PROGRAM_FAILED.
 * subject may be NULL. */
int program_failed(const char *subject);
/* One line "NAME: message" on stderr; returns PROGRAM_FAILED. */
int program_error(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

void program_list_add(struct program_list *list, const char *item);
void program_list_free(struct program_list *list);

/* Replace every directory among the --event arguments by the prefixes of the
 * events in it, sorted by name, and every file of an event by its prefix.
 * Returns 0, or prints why and returns PROGRAM_FAILED: an event has no hits
 * file, a folder no event. */
int program_expand_events(struct program_list *events);

/* Refuse events of the same base name, whose output NAME.ending would be the
 * same file. Returns 0, or PROGRAM_USAGE after a line on stderr. */
int program_check_names(const struct program_list *events, const char *ending);

int program_is_folder(const char *path);

/* Whether path is the file or pipe of the standard output, as /dev/stdout may
 * be. */
int program_is_standard_output(const char *path);

/* Before what takes long: returns 0 when path (NULL, a device or the standard
 * output) can be written, or a file in place of it, else PROGRAM_FAILED after a
 * line on stderr. */
int program_check_output(const char *path);

/* Adds the file of an event's tracks: path, or in the folder path
 * NAME-tracks.csv, or .csv.gz if only that exists. */
void program_add_tracks(
    struct program_list *list, const char *path, const char *event);

/* "event000000001" of ".../event000000001": for names of outputs. */
const char *program_base_name(const char *path);

/* Number of this process and of all processes, from the environment variables
 * of mpirun or srun. Returns 0, or prints why and returns PROGRAM_USAGE when
 * none is set or one is invalid. */
int program_ranks(int64_t *rank, int64_t *n_ranks);

/* Cores that the process may use. */
int64_t program_cores(void);

/* A context from --device (cpu, cuda or cuda:N), --threads (0: all cores that
 * the process may use, *n_threads gets their number),
 * ETX_CPU=ref|avx2|avx512|neon and
 * ETX_PRECISION=float32|float16|bfloat16|tf32|int16. Returns 0, or prints why
 * and returns 1 or 2.
 */
int program_context(etx_context **out, const char *device, int64_t *n_threads);

/* timing [ETX_N_STAGES] of the last event of the context. */
etx_status program_timings(
    etx_stage_timing *timing, const etx_context *context);

/* The model file at path, the shipped model of that name ("accurate") where
 * there is no such file, or the shipped "default" when path is NULL. */
int program_model(etx_model **out, const char *path);

/* The detector at path, or the shipped TrackML detector when path is NULL. */
int program_detector(etx_detector **out, const char *path);

/* One line "NAME: warning: EVENT: text" on stderr of what in an event does not
 * fit, of the first such event of the process; detector and model may be
 * NULL. */
void program_check_event(const char *name, const etx_event *event,
    const etx_detector *detector, const etx_model *model);

/* Row of a particle among the event's, which ascend by id; -1 for noise. */
int64_t program_find_particle(const etx_event *event, int64_t id);

/* Path of a shipped file (below ETX_DATA, ../share/exatrkx next to the program,
 * examples of the folder that the program was built in, the install prefix of
 * the build, or examples), or NULL; the caller frees it. Ends the program where
 * ETX_DATA is no folder. */
char *program_shipped_file(const char *relative);
/* Path of the shipped file folder/name + ending; NULL when name is no such name
 * or a file of its own. */
char *program_shipped_name(
    const char *folder, const char *name, const char *ending);

/* Allocate or end the program. */
void *program_allocate(int64_t count, size_t size);
char *program_copy_text(const char *text);

/* Seconds since some fixed time. */
double program_now(void);

#endif

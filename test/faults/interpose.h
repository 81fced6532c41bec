/* interpose.h -- make calls of the operating system, malloc and the arena fail.
 *
 * The program defines these functions itself, so the library, zlib and libc
 * call them here; the linker replaces functions of the library by its own
 * (--wrap). They do what they are named for but for one kind of call at
 * a time, which is counted from faults_arm on and of which some fail. What
 * they count is of all threads.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TEST_FAULTS_INTERPOSE_H
#define ETX_TEST_FAULTS_INTERPOSE_H

#include <stdint.h>

/* Calls that fail together. */
enum faults_kind {
    FAULTS_NONE,
    FAULTS_MALLOC,  /* malloc and its kind */
    FAULTS_HOOK,    /* the allocator that etx_set_allocator was given */
    FAULTS_THREADS, /* pthread_create */
    FAULTS_SCRATCH, /* etx_arena_alloc */
    FAULTS_CANCEL,  /* etx_check_cancelled, etx_cancel_poll: the host says stop
                     */
    FAULTS_FILES    /* the system calls below */
};

enum faults_call {
    FAULTS_OPEN,
    FAULTS_OPEN_UNNAMED, /* a file without a name */
    FAULTS_OPEN_FOLDER,
    FAULTS_READ,
    FAULTS_WRITE,
    FAULTS_SYNC,
    FAULTS_RENAME,
    FAULTS_LINK,
    FAULTS_CLOSE,
    FAULTS_SEEK,
    FAULTS_STAT,
    FAULTS_MODE,
    FAULTS_N_CALLS
};

/* How a system call fails: an errno, or a transfer of fewer bytes. */
#define FAULTS_SHORT (-1) /* half of what was requested, at least one byte */
#define FAULTS_ZERO  (-2) /* no byte */

struct faults_plan {
    enum faults_kind kind;
    int64_t number;   /* of the call that fails, from 0; -1: none */
    int32_t for_ever; /* 1: so do all that follow */
    int error;        /* of FAULTS_FILES */
};

/* Whether malloc can be made to fail: not with a sanitizer. */
int32_t faults_has_malloc(void);

void faults_arm(const struct faults_plan *plan);
/* End it; returns how many calls of the kind were made. */
int64_t faults_disarm(void);
/* The call that failed last since faults_arm; FAULTS_N_CALLS: none. */
enum faults_call faults_last(void);

/* Between these two, calls of this thread neither count nor fail. */
void faults_spare(void);
void faults_spare_end(void);

/* Blocks of malloc that are in use, and open file descriptors. */
int64_t faults_blocks(void);
int64_t faults_descriptors(void);

/* ------------------------------------------------------------ power cuts -- */

/* What is on disk of the one file that is written between faults_disk_begin
 * and faults_disk_end. A step is a system call that changes it. */
struct faults_disk {
    int64_t n_written;  /* bytes so far */
    int64_t n_synced;   /* of these, on disk for certain */
    int32_t is_target;  /* it was renamed to its final name, */
    int32_t is_certain; /* and that is on disk for certain */
};

#define FAULTS_MAX_STEPS 4096

/* Record from here on; syncs_nothing: as if fsync did nothing. */
void faults_disk_begin(int32_t syncs_nothing);
/* The state after every step [the returned number]; owned by this module. */
int64_t faults_disk_end(const struct faults_disk **step);

#endif

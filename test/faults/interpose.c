/* interpose.c -- make calls of the operating system, malloc and the arena fail.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* RTLD_NEXT, syscall, O_TMPFILE */

#include "interpose.h"

#include "base/poison.h"
#include "base/status.h"
#include "memory/arena.h"
#include "op/stream.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <exatrkx/exatrkx.h>

/* Also for the shared libraries of the process. */
#pragma GCC visibility push(default)

static struct faults_plan plan;
static _Atomic int64_t n_calls;
static _Atomic int32_t last_call;
static _Atomic int64_t n_blocks;
static _Thread_local int32_t n_spared;

/* Whether this call of a kind fails. */
static int32_t fails(enum faults_kind kind)
{
    int64_t number;

    if (plan.kind != kind || n_spared > 0)
        return 0;
    number = atomic_fetch_add(&n_calls, 1);
    if (plan.number < 0)
        return 0;
    return plan.for_ever ? number >= plan.number : number == plan.number;
}

void faults_arm(const struct faults_plan *given)
{
    atomic_store(&n_calls, 0);
    atomic_store(&last_call, FAULTS_N_CALLS);
    plan = *given;
}

int64_t faults_disarm(void)
{
    plan.kind = FAULTS_NONE;
    return atomic_load(&n_calls);
}

enum faults_call faults_last(void)
{
    return (enum faults_call)atomic_load(&last_call);
}

void faults_spare(void)
{
    n_spared++;
}

void faults_spare_end(void)
{
    n_spared--;
}

int64_t faults_blocks(void)
{
    return atomic_load(&n_blocks);
}

int64_t faults_descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    int64_t n = 0;

    while (folder != NULL && readdir(folder) != NULL)
        n++;
    if (folder != NULL)
        closedir(folder);
    return n;
}

/* ---------------------------------------------------------------- memory -- */

#if defined(__GLIBC__) && !defined(ETX_HAS_ASAN) &&                            \
    !defined(__SANITIZE_THREAD__)
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *memory);

int32_t faults_has_malloc(void)
{
    return 1;
}

static int32_t refuses(void)
{
    if (!fails(FAULTS_MALLOC))
        return 0;
    errno = ENOMEM;
    return 1;
}

static void *count_block(void *memory)
{
    if (memory != NULL)
        atomic_fetch_add(&n_blocks, 1);
    return memory;
}

void *malloc(size_t size)
{
    return refuses() ? NULL : count_block(__libc_malloc(size));
}

void *calloc(size_t n, size_t size)
{
    return refuses() ? NULL : count_block(__libc_calloc(n, size));
}

void *realloc(void *memory, size_t size)
{
    void *moved;

    if (refuses())
        return NULL;
    moved = __libc_realloc(memory, size);
    return memory == NULL ? count_block(moved) : moved;
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return refuses() ? NULL : count_block(__libc_memalign(alignment, size));
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
    if (refuses())
        return ENOMEM;
    *out = count_block(__libc_memalign(alignment, size));
    return *out == NULL ? ENOMEM : 0;
}

void free(void *memory)
{
    if (memory != NULL)
        atomic_fetch_sub(&n_blocks, 1);
    __libc_free(memory);
}
#else
int32_t faults_has_malloc(void)
{
    return 0;
}
#endif

static void *hook_allocate(size_t size, void *user)
{
    (void)user;
    return fails(FAULTS_HOOK) ? NULL : malloc(size);
}

static void hook_release(void *memory, void *user)
{
    (void)user;
    free(memory);
}

/* Before anything is allocated by the library. */
__attribute__((constructor)) static void set_hook(void)
{
    if (etx_set_allocator(hook_allocate, hook_release, NULL) != ETX_OK)
        abort();
}

/* --------------------------------------------------------------- library -- */

etx_status __real_etx_arena_alloc(void *out_pointer, struct etx_arena *arena,
    int64_t count, size_t size, const char *what);
etx_status __wrap_etx_arena_alloc(void *out_pointer, struct etx_arena *arena,
    int64_t count, size_t size, const char *what);
etx_status __real_etx_check_cancelled(const struct etx_stream *stream);
etx_status __wrap_etx_check_cancelled(const struct etx_stream *stream);
etx_status __real_etx_cancel_poll(void);
etx_status __wrap_etx_cancel_poll(void);

etx_status __wrap_etx_arena_alloc(void *out_pointer, struct etx_arena *arena,
    int64_t count, size_t size, const char *what)
{
    if (fails(FAULTS_SCRATCH))
        return etx_fail(ETX_ERR_MEMORY, "%s: no scratch memory", what);
    return __real_etx_arena_alloc(out_pointer, arena, count, size, what);
}

etx_status __wrap_etx_check_cancelled(const struct etx_stream *stream)
{
    if (fails(FAULTS_CANCEL))
        return etx_fail(ETX_ERR_CANCELLED, "cancelled");
    return __real_etx_check_cancelled(stream);
}

etx_status __wrap_etx_cancel_poll(void)
{
    if (fails(FAULTS_CANCEL))
        return etx_fail(ETX_ERR_CANCELLED, "cancelled");
    return __real_etx_cancel_poll();
}

/* --------------------------------------------------------------- threads -- */

int pthread_create(pthread_t *restrict thread,
    const pthread_attr_t *restrict attributes, void *(*run)(void *),
    void *restrict argument)
{
    typedef int create(
        pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    static create *next;

    if (next == NULL) {
        void *symbol = dlsym(RTLD_NEXT, "pthread_create");
        memcpy(&next, &symbol, sizeof next);
    }
    if (fails(FAULTS_THREADS))
        return EAGAIN;
    return next(thread, attributes, run, argument);
}

/* ------------------------------------------------------------ power cuts -- */

static struct {
    int32_t is_on, syncs_nothing;
    int descriptor; /* of the file that is written, -1: closed or none */
    struct faults_disk now, step[FAULTS_MAX_STEPS];
    int64_t n_steps;
} disk = {.descriptor = -1};

void faults_disk_begin(int32_t syncs_nothing)
{
    disk.is_on = 1;
    disk.syncs_nothing = syncs_nothing;
    disk.descriptor = -1;
    disk.now = (struct faults_disk){0};
    disk.n_steps = 0;
}

int64_t faults_disk_end(const struct faults_disk **step)
{
    disk.is_on = 0;
    *step = disk.step;
    return disk.n_steps;
}

static void disk_step(void)
{
    if (disk.n_steps == FAULTS_MAX_STEPS)
        abort();
    disk.step[disk.n_steps++] = disk.now;
}

static void disk_opened(int descriptor, int flags)
{
    if (!disk.is_on || descriptor < 0 || (flags & O_ACCMODE) != O_WRONLY)
        return;
    disk.descriptor = descriptor;
    disk.now = (struct faults_disk){0};
    disk_step();
}

static void disk_wrote(int descriptor, ssize_t n)
{
    if (!disk.is_on || descriptor != disk.descriptor || n <= 0)
        return;
    disk.now.n_written += n;
    disk_step();
}

static void disk_synced(int descriptor)
{
    if (!disk.is_on || disk.syncs_nothing)
        return;
    if (descriptor == disk.descriptor)
        disk.now.n_synced = disk.now.n_written;
    else
        disk.now.is_certain = disk.now.is_target;
    disk_step();
}

static void disk_renamed(void)
{
    if (!disk.is_on)
        return;
    disk.now.is_target = 1;
    disk_step();
}

static void disk_closed(int descriptor)
{
    if (disk.is_on && descriptor == disk.descriptor)
        disk.descriptor = -1;
}

/* ----------------------------------------------------------------- files -- */

/* Whether this system call fails; then errno is set, or *size reduced. */
static int32_t call_fails(enum faults_call call, size_t *size)
{
    if (!fails(FAULTS_FILES))
        return 0;
    if (plan.error > 0)
        errno = plan.error;
    else if (size != NULL && plan.error == FAULTS_SHORT)
        *size = *size > 1 ? *size / 2 : *size;
    else if (size != NULL)
        *size = 0;
    else
        return 0;
    atomic_store(&last_call, call);
    return plan.error > 0;
}

static enum faults_call find_open(int flags)
{
    if ((flags & O_TMPFILE) == O_TMPFILE) /* it has O_DIRECTORY */
        return FAULTS_OPEN_UNNAMED;
    return (flags & O_DIRECTORY) != 0 ? FAULTS_OPEN_FOLDER : FAULTS_OPEN;
}

int open(const char *path, int flags, ...)
{
    mode_t mode = 0;
    int descriptor;
    va_list list;

    va_start(list, flags);
    if ((flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE)
        mode = va_arg(list, mode_t);
    va_end(list);
    if (call_fails(find_open(flags), NULL))
        return -1;
    descriptor = (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
    disk_opened(descriptor, flags);
    return descriptor;
}

ssize_t read(int descriptor, void *buffer, size_t size)
{
    size_t n = size;

    if (call_fails(FAULTS_READ, &n))
        return -1;
    return syscall(SYS_read, descriptor, buffer, n);
}

ssize_t write(int descriptor, const void *buffer, size_t size)
{
    size_t n = size;
    ssize_t written;

    if (call_fails(FAULTS_WRITE, &n))
        return -1;
    written = syscall(SYS_write, descriptor, buffer, n);
    disk_wrote(descriptor, written);
    return written;
}

int fsync(int descriptor)
{
    int failed;

    if (call_fails(FAULTS_SYNC, NULL))
        return -1;
    failed = (int)syscall(SYS_fsync, descriptor);
    if (failed == 0)
        disk_synced(descriptor);
    return failed;
}

int rename(const char *from, const char *to)
{
    int failed;

    if (call_fails(FAULTS_RENAME, NULL))
        return -1;
    failed = (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
    if (failed == 0)
        disk_renamed();
    return failed;
}

int linkat(
    int from_folder, const char *from, int to_folder, const char *to, int flags)
{
    if (call_fails(FAULTS_LINK, NULL))
        return -1;
    return (int)syscall(SYS_linkat, from_folder, from, to_folder, to, flags);
}

/* What close reports, it reports when the descriptor is closed. */
int close(int descriptor)
{
    int failed;

    disk_closed(descriptor);
    failed = (int)syscall(SYS_close, descriptor);
    return call_fails(FAULTS_CLOSE, NULL) ? -1 : failed;
}

off_t lseek(int descriptor, off_t offset, int from)
{
    if (call_fails(FAULTS_SEEK, NULL))
        return -1;
    return (off_t)syscall(SYS_lseek, descriptor, offset, from);
}

int fchmod(int descriptor, mode_t mode)
{
    if (call_fails(FAULTS_MODE, NULL))
        return -1;
    return (int)syscall(SYS_fchmod, descriptor, mode);
}

int fstat(int descriptor, struct stat *info)
{
    if (call_fails(FAULTS_STAT, NULL))
        return -1;
    return (int)syscall(SYS_newfstatat, descriptor, "", info, AT_EMPTY_PATH);
}

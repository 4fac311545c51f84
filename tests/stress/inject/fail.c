/* fail.c - make the n-th call of a libc function fail, by LD_PRELOAD
 *
 *     INJECT_CALL=malloc:17 INJECT_IN=muster LD_PRELOAD=fail.so muster ...
 *
 * malloc stands for the whole family. The n-th call in that program fails, and
 * only that; a forked child goes on counting by itself. At its exit the program
 * appends "NAME COUNT" of every function to INJECT_LOG.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* Function, the error it fails with, its result type, parameters, arguments. */
#define FUNCTIONS(X)                                                                         \
    X(socketpair, EMFILE, int, (int a, int b, int c, int d[2]), (a, b, c, d))                \
    X(pipe2, EMFILE, int, (int a[2], int b), (a, b))                                         \
    X(fork, EAGAIN, pid_t, (void), ())                                                       \
    X(read, EIO, ssize_t, (int a, void *b, size_t c), (a, b, c))                             \
    X(readv, EIO, ssize_t, (int a, const struct iovec *b, int c), (a, b, c))                 \
    X(write, EIO, ssize_t, (int a, const void *b, size_t c), (a, b, c))                      \
    X(writev, EPIPE, ssize_t, (int a, const struct iovec *b, int c), (a, b, c))              \
    X(sendmsg, ENOBUFS, ssize_t, (int a, const struct msghdr *b, int c), (a, b, c))          \
    X(recvmsg, ENOMEM, ssize_t, (int a, struct msghdr *b, int c), (a, b, c))                 \
    X(epoll_create1, EMFILE, int, (int a), (a))                                              \
    X(epoll_ctl, ENOMEM, int, (int a, int b, int c, struct epoll_event *d), (a, b, c, d))    \
    X(mmap, ENOMEM, void *, (void *a, size_t b, int c, int d, int e, off_t f),               \
      (a, b, c, d, e, f))                                                                    \
    X(memfd_create, EMFILE, int, (const char *a, unsigned b), (a, b))                        \
    X(eventfd, EMFILE, int, (unsigned a, int b), (a, b))                                     \
    X(signalfd, EMFILE, int, (int a, const sigset_t *b, int c), (a, b, c))                   \
    X(socket, EMFILE, int, (int a, int b, int c), (a, b, c))                                 \
    X(connect, ENETUNREACH, int, (int a, const struct sockaddr *b, socklen_t c), (a, b, c))  \
    X(bind, EADDRINUSE, int, (int a, const struct sockaddr *b, socklen_t c), (a, b, c))      \
    X(listen, EADDRINUSE, int, (int a, int b), (a, b))                                       \
    X(accept4, EMFILE, int, (int a, struct sockaddr *b, socklen_t *c, int d), (a, b, c, d))  \
    X(setsockopt, ENOMEM, int, (int a, int b, int c, const void *d, socklen_t e),            \
      (a, b, c, d, e))                                                                       \
    X(getsockname, ENOBUFS, int, (int a, struct sockaddr *b, socklen_t *c), (a, b, c))       \
    X(setrlimit, EPERM, int, (__rlimit_resource_t a, const struct rlimit *b), (a, b))        \
    X(dup2, EBUSY, int, (int a, int b), (a, b))

#define NUMBER_OF(name, error, type, parameters, arguments) NUMBER_##name,
enum number { NUMBER_malloc, NUMBER_open, NUMBER_clone, NUMBER_pthread_create,
              FUNCTIONS(NUMBER_OF) NUMBERS };

#define NAME_OF(name, error, type, parameters, arguments) [NUMBER_##name] = #name,
static const char *const names[NUMBERS] = {
    [NUMBER_malloc] = "malloc",
    [NUMBER_open] = "open",
    [NUMBER_clone] = "clone",
    [NUMBER_pthread_create] = "pthread_create",
    FUNCTIONS(NAME_OF)
};

static atomic_long calls[NUMBERS];
static int         chosen = -1;
static long        chosen_call;
static bool        is_watched;

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);

/* True when this call must fail. */
static bool fails(enum number number, int error)
{
    if (!is_watched || atomic_fetch_add(&calls[number], 1) + 1 != chosen_call ||
        (int)number != chosen)
        return false;
    errno = error;
    return true;
}

__attribute__((constructor)) static void begin(void)
{
    const char *what = getenv("INJECT_CALL"), *in = getenv("INJECT_IN");
    const char *colon = what != NULL ? strchr(what, ':') : NULL;
    int         i;

    if (in == NULL || strcmp(in, program_invocation_short_name) != 0)
        return;
    for (i = 0; i < NUMBERS && colon != NULL; i++)
        if (strlen(names[i]) == (size_t)(colon - what) &&
            strncmp(names[i], what, strlen(names[i])) == 0)
            chosen = i;
    chosen_call = colon != NULL ? strtol(colon + 1, NULL, 10) : 0;
    is_watched = true;
}

/* By hand: nothing here may allocate, or be counted. */
__attribute__((destructor)) static void end(void)
{
    const char *path = getenv("INJECT_LOG");
    char        line[64];
    int         fd, i, size;

    if (!is_watched || path == NULL)
        return;
    is_watched = false;
    fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    for (i = 0; i < NUMBERS && fd >= 0; i++) {
        size = snprintf(line, sizeof line, "%s %ld\n", names[i], atomic_load(&calls[i]));
        (void)!write(fd, line, (size_t)size);
    }
    if (fd >= 0)
        close(fd);
}

/* ---- those that one pattern fits ---- */

static void *next_of(const char *name)
{
    void *next;
    bool  watched = is_watched;

    is_watched = false; /* the linker allocates */
    next = dlsym(RTLD_NEXT, name);
    is_watched = watched;
    return next;
}

#define DEFINE(name, error, type, parameters, arguments)       \
    type name parameters                                       \
    {                                                          \
        static type(*next) parameters;                         \
        if (next == NULL)                                      \
            *(void **)&next = next_of(#name);                  \
        if (fails(NUMBER_##name, error))                       \
            return (type)-1;                                   \
        return next arguments;                                 \
    }

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmissing-prototypes" /* of those that headers spell otherwise */
FUNCTIONS(DEFINE)
#pragma GCC diagnostic pop

/* ---- and the others ---- */

void *malloc(size_t size)
{
    return fails(NUMBER_malloc, ENOMEM) ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return fails(NUMBER_malloc, ENOMEM) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
    return fails(NUMBER_malloc, ENOMEM) ? NULL : __libc_realloc(old, size);
}

static int open_next(const char *name, const char *path, int flags, mode_t mode)
{
    int (*next)(const char *path, int flags, ...);

    if (fails(NUMBER_open, EMFILE))
        return -1;
    *(void **)&next = next_of(name);
    return next(path, flags, mode);
}

int open(const char *path, int flags, ...)
{
    va_list ap;
    mode_t  mode;

    va_start(ap, flags);
    mode = (flags & O_CREAT) != 0 ? va_arg(ap, mode_t) : 0;
    va_end(ap);
    return open_next("open", path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
    va_list ap;
    mode_t  mode;

    va_start(ap, flags);
    mode = (flags & O_CREAT) != 0 ? va_arg(ap, mode_t) : 0;
    va_end(ap);
    return open_next("open64", path, flags, mode);
}

/* Of the system calls that have no function, clone is the one that counts. */
long syscall(long number, ...)
{
    long (*next)(long number, ...);
    long    word[6];
    va_list ap;
    int     i;

    va_start(ap, number);
    for (i = 0; i < 6; i++)
        word[i] = va_arg(ap, long);
    va_end(ap);
    if (number == SYS_clone && fails(NUMBER_clone, EPERM))
        return -1;
    *(void **)&next = next_of("syscall");
    return next(number, word[0], word[1], word[2], word[3], word[4], word[5]);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                   void *arg)
{
    int (*next)(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                void *arg);

    if (fails(NUMBER_pthread_create, EAGAIN))
        return EAGAIN;
    *(void **)&next = next_of("pthread_create");
    return next(thread, attributes, run, arg);
}

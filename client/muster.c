/* muster.c - see muster.h
 *
 * A step is one line to muster. A request is one line, and its answer one line back. Each
 * request has a tag that its answer repeats, and is made under a lock of this process. Threads,
 * and forked processes that share the socket, therefore get their own answers, and an answer to a
 * process that has been killed is skipped.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "muster.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LINE_SIZE 4097 /* muster accepts and sends no lines longer than this */
#define NAME_MAX_ 64
#define TAG_SIZE  64
#define ANSWER_S  300 /* muster may have to reconnect to this node */

struct muster_shards {
    char name[NAME_MAX_ + 1];
};

static pthread_mutex_t       mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t        once = PTHREAD_ONCE_INIT;
static unsigned long         number;
static _Thread_local char    error_text[512];

static void    begin(void);
static void    after_fork(void);
static int     refuse(const char *format, ...) __attribute__((format(printf, 1, 2)));
static int     descriptor(void);
static int     about(const struct muster_shards *shards, const char *command,
                     const struct muster_shard *shard);
static int     ask(char answer[LINE_SIZE], const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static int     exchange(int fd, const char *line, size_t size, const char *tag,
                        char answer[LINE_SIZE]);
static int     lock(int fd, int64_t until_ms);
static int     try_lock(int fd);
static int     unlock(int fd);
static int     write_if_room(int fd, const char *line, size_t size);
static int     write_all(int fd, const char *line, size_t size);
static int     read_answer(int fd, const char *tag, int64_t until_ms, char answer[LINE_SIZE]);
static int     judge(const char *answer);
static int64_t value_of(const char *answer, const char *key);
static int64_t now_ms(void);
static void    sleep_ms(int64_t ms);

int muster_step(int64_t step, int64_t last)
{
    char line[LINE_SIZE];
    int  fd, rc, size;

    pthread_once(&once, begin);
    if (step < 0)
        return refuse("step %lld is negative", (long long)step);
    fd = descriptor();
    if (fd < 0)
        return -1;
    if (pthread_mutex_trylock(&mutex) != 0)
        return 0;
    rc = try_lock(fd);
    if (rc > 0) {
        size = snprintf(line, sizeof line, "cmd=step step=%lld last=%lld\n", (long long)step,
                        (long long)(last < 0 ? -1 : last));
        rc = write_if_room(fd, line, (size_t)size);
        rc = unlock(fd) < 0 ? -1 : rc;
    }
    pthread_mutex_unlock(&mutex);
    return rc;
}

struct muster_shards *muster_shards_open(const char *name, int64_t records, int64_t shard,
                                         const char *settings)
{
    struct muster_shards *shards;
    char                  answer[LINE_SIZE];

    if (strlen(name) > NAME_MAX_ || strpbrk(name, " \n") != NULL ||
        (settings != NULL && strchr(settings, '\n') != NULL)) {
        refuse("shards: '%.80s' is not a name of at most %d characters, or the settings "
               "contain a line break",
               name, NAME_MAX_);
        return NULL;
    }
    if (ask(answer, "cmd=shard_open name=%s size=%lld shard=%lld %s", name, (long long)records,
            (long long)shard, settings != NULL ? settings : "") < 0)
        return NULL;
    shards = calloc(1, sizeof *shards);
    if (shards == NULL)
        refuse("out of memory");
    else
        memcpy(shards->name, name, strlen(name) + 1);
    return shards;
}

void muster_shards_close(struct muster_shards *shards)
{
    free(shards);
}

int muster_shards_next(struct muster_shards *shards, struct muster_shard *shard)
{
    char answer[LINE_SIZE];

    if (ask(answer, "cmd=shard_get name=%s", shards->name) < 0)
        return -1;
    if (strstr(answer, " state=shard ") == NULL)
        return 0;
    *shard = (struct muster_shard){ .id = value_of(answer, " id="),
                                    .epoch = value_of(answer, " epoch="),
                                    .start = value_of(answer, " start="),
                                    .end = value_of(answer, " end=") };
    return 1;
}

int muster_shards_wait(struct muster_shards *shards)
{
    char answer[LINE_SIZE];

    for (;;) {
        if (ask(answer, "cmd=shard_state name=%s", shards->name) < 0)
            return -1;
        if (value_of(answer, " again=") > 0)
            return 1;
        if (value_of(answer, " doing=") == 0)
            return 0;
        sleep_ms(value_of(answer, " ms="));
    }
}

int muster_shards_done(struct muster_shards *shards, const struct muster_shard *shard)
{
    return about(shards, "done", shard);
}

int muster_shards_renew(struct muster_shards *shards, const struct muster_shard *shard)
{
    char answer[LINE_SIZE];

    return shard != NULL ? about(shards, "renew", shard)
                         : ask(answer, "cmd=shard_renew name=%s", shards->name);
}

int muster_shards_fail(struct muster_shards *shards, const struct muster_shard *shard)
{
    return about(shards, "fail", shard);
}

int64_t muster_shards_count(struct muster_shards *shards, const char *what)
{
    char answer[LINE_SIZE], key[TAG_SIZE];

    snprintf(key, sizeof key, " %s=", what);
    if (ask(answer, "cmd=shard_state name=%s", shards->name) < 0)
        return -1;
    return strstr(answer, key) != NULL ? value_of(answer, key)
                                       : refuse("shards: there is no count '%.40s'", what);
}

const char *muster_error(void)
{
    return error_text;
}

static int about(const struct muster_shards *shards, const char *command,
                 const struct muster_shard *shard)
{
    char answer[LINE_SIZE];

    return ask(answer, "cmd=shard_%s name=%s id=%lld", command, shards->name,
               (long long)shard->id);
}

/* Sends a request. Returns 0 or 1 as muster answers, with the answer; or -1. */
static int ask(char answer[LINE_SIZE], const char *format, ...)
{
    char    line[LINE_SIZE], tag[TAG_SIZE];
    int     fd, size, rc;
    va_list ap;

    pthread_once(&once, begin);
    fd = descriptor();
    if (fd < 0)
        return -1;
    va_start(ap, format);
    size = vsnprintf(line, sizeof line, format, ap);
    va_end(ap);
    pthread_mutex_lock(&mutex);
    snprintf(tag, sizeof tag, " tag=%ld.%lu", (long)getpid(), number++);
    rc = size < 0 || (size_t)size + strlen(tag) + 1 >= sizeof line
             ? refuse("shards: a request is longer than %d bytes", LINE_SIZE - 1)
             : 0;
    if (rc == 0) {
        size += snprintf(line + size, sizeof line - (size_t)size, "%s\n", tag);
        rc = exchange(fd, line, (size_t)size, tag, answer);
    }
    pthread_mutex_unlock(&mutex);
    return rc < 0 ? -1 : judge(answer);
}

static int exchange(int fd, const char *line, size_t size, const char *tag,
                    char answer[LINE_SIZE])
{
    int64_t until_ms = now_ms() + ANSWER_S * 1000;
    int     rc;

    if (lock(fd, until_ms) < 0)
        return -1;
    rc = write_all(fd, line, size);
    if (rc == 0)
        rc = read_answer(fd, tag, until_ms, answer);
    return unlock(fd) < 0 ? -1 : rc;
}

static void begin(void)
{
    pthread_atfork(NULL, NULL, after_fork);
}

/* Another thread of the parent may have held the mutex. */
static void after_fork(void)
{
    pthread_mutex_init(&mutex, NULL);
}

static int refuse(const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    vsnprintf(error_text, sizeof error_text, format, ap);
    va_end(ap);
    return -1;
}

static int descriptor(void)
{
    const char *text = getenv("PMI_FD");
    char       *end;
    struct stat st;
    long        fd;

    if (getenv("MUSTER_RUN_ID") == NULL)
        return refuse("this process was not started by muster: it has no shards or steps");
    if (text == NULL)
        return refuse("muster exec and --no_ssh have no shards or steps (PMI_FD is not set)");
    errno = 0;
    fd = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || fd < 0 || fd > INT32_MAX ||
        fstat((int)fd, &st) < 0 || !S_ISSOCK(st.st_mode))
        return refuse("PMI_FD is %.20s, which is not open in this process", text);
    return (int)fd;
}

/* Returns 1 with the lock; 0: another process has it. */
static int try_lock(int fd)
{
    struct flock wanted = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

    if (fcntl(fd, F_SETLK, &wanted) == 0)
        return 1;
    return errno == EAGAIN || errno == EACCES || errno == EINTR
               ? 0 : refuse("cannot lock PMI_FD: %s", strerror(errno));
}

/* Takes this process's lock on the socket, which ends with the process. Does not wait forever:
 * the process that has the lock may have been stopped. */
static int lock(int fd, int64_t until_ms)
{
    int rc;

    while ((rc = try_lock(fd)) <= 0) {
        if (rc < 0)
            return -1;
        if (now_ms() > until_ms)
            return refuse("another process of this rank has waited for muster for %d s",
                          ANSWER_S);
        sleep_ms(1);
    }
    return 0;
}

static int unlock(int fd)
{
    struct flock wanted = { .l_type = F_UNLCK, .l_whence = SEEK_SET };

    return fcntl(fd, F_SETLK, &wanted) < 0 ? refuse("cannot unlock PMI_FD: %s", strerror(errno))
                                           : 0;
}

/* Leaves the line out if muster does not read; never leaves it half written. */
static int write_if_room(int fd, const char *line, size_t size)
{
    ssize_t n = send(fd, line, size, MSG_NOSIGNAL | MSG_DONTWAIT);

    if (n < 0)
        return errno == EAGAIN || errno == EINTR
                   ? 0 : refuse("cannot send to muster (PMI_FD): %s", strerror(errno));
    return write_all(fd, line + n, size - (size_t)n);
}

static int write_all(int fd, const char *line, size_t size)
{
    ssize_t n;

    for (; size > 0; line += n, size -= (size_t)n) {
        n = send(fd, line, size, MSG_NOSIGNAL);
        if (n < 0 && errno != EINTR)
            return refuse("cannot send to muster (PMI_FD): %s", strerror(errno));
        n = n < 0 ? 0 : n;
    }
    return 0;
}

/* No other process reads while we have the lock. A line that is not our answer was for a
 * process that is gone. */
static int read_answer(int fd, const char *tag, int64_t until_ms, char answer[LINE_SIZE])
{
    struct pollfd wait = { .fd = fd, .events = POLLIN };
    size_t        have = 0, length = strlen(tag);
    int64_t       left;
    ssize_t       n;
    char         *end;

    for (;;) {
        while ((end = memchr(answer, '\n', have)) == NULL) {
            left = until_ms - now_ms();
            if (have == LINE_SIZE)
                return refuse("muster's answer is longer than %d bytes", LINE_SIZE);
            if (left <= 0)
                return refuse("muster has not answered for %d s", ANSWER_S);
            if (poll(&wait, 1, (int)left) <= 0)
                continue; /* time is up, or there was a signal */
            n = read(fd, answer + have, LINE_SIZE - have);
            if (n == 0)
                return refuse("muster has closed PMI_FD");
            if (n < 0 && errno != EINTR)
                return refuse("cannot read muster's answer: %s", strerror(errno));
            have += n > 0 ? (size_t)n : 0;
        }
        *end = '\0';
        if (strncmp(answer, "cmd=shard_answer", 16) == 0 &&
            strncmp(answer + 16, tag, length) == 0 && answer[16 + length] == ' ')
            return 0;
        have -= (size_t)(end + 1 - answer);
        memmove(answer, end + 1, have);
    }
}

static int judge(const char *answer)
{
    const char *msg = strstr(answer, " msg=");
    char       *at;

    if (strstr(answer, " rc=0") != NULL)
        return 0;
    refuse("shards: %s", msg != NULL ? msg + strlen(" msg=") : answer);
    for (at = error_text; *at != '\0'; at++)
        if (*at == '_')
            *at = ' ';
    return strstr(answer, " rc=1") != NULL ? 1 : -1;
}

static int64_t value_of(const char *answer, const char *key)
{
    const char *at = strstr(answer, key);

    return at != NULL ? strtoll(at + strlen(key), NULL, 10) : 0;
}

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
}

static void sleep_ms(int64_t ms)
{
    struct timespec pause = { ms / 1000, ms % 1000 * 1000000 };

    nanosleep(&pause, NULL);
}

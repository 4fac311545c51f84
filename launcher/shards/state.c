/* state.c - see state.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "shards/state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "buffer.h"
#include "clock.h"
#include "log.h"
#include "number.h"
#include "xalloc.h"

#define FIRST_LINE "muster shards 1\n"
#define LINE_SIZE  512
/* A file may grow to GROWS_BYTES plus GROWS_TIMES its initial size. */
#define GROWS_BYTES ((size_t)4 << 20)
#define GROWS_TIMES 8
#define OPEN_BYTES  36 /* "back 15 4611686018427387903 1000001" and its newline */
#define DROP_BYTES  28
#define END_S       5  /* for the last lines, if the disk hangs */
#define AGAIN_S     10 /* after a failure */

static void write_all(struct shards *shards);
static void add_set(const struct shard_set *set, struct buffer *text);
static void add_next(int64_t next, void *arg);
static void add_again(int64_t id, int tries, void *arg);
static void add_dropped(int64_t id, void *arg);
static void look_for_failure(struct shards *shards);
static int  parse_line(struct shards *shards, char *line, struct error *err);
static int  parse_open(struct shards *shards, const char *words, struct error *err);
static int  parse_change(struct shards *shards, char *line, struct error *err);

/* muster can read every file that it writes. */
_Static_assert(SHARDS_SETS_MAX * ((size_t)QUEUE_OPEN_MAX * OPEN_BYTES +
                                  (size_t)QUEUE_DROPPED_MAX * DROP_BYTES + 2 * LINE_SIZE) +
                       LINE_SIZE < SHARDS_FILE_MAX - LINE_SIZE,
               "SHARDS_FILE_MAX is too small");

struct writing {
    struct buffer *text;
    size_t         number;
};

/* --- writing ---------------------------------------------------------------- */

int state_open(struct shards *shards, int dir_fd)
{
    shards->journal = journal_new(dir_fd, SHARDS_FILE);
    if (shards->journal == NULL)
        return -1;
    if (shards->sets == 0)
        return 0;
    write_all(shards);
    if (journal_wait(shards->journal, END_S) < 0)
        log_warn("shards: the state of the resumed run is not in the run directory yet; if "
                 "muster is killed now, muster resume reads all shards again");
    return 0;
}

void state_close(struct shards *shards)
{
    if (shards->journal != NULL && journal_close(shards->journal, END_S) < 0)
        log_warn("shards: not all of their state could be written: a run that resumes this one "
                 "may read some again");
    shards->journal = NULL;
}

/* Writes the file, which the first dataset creates. */
void state_opened(const struct shard_set *set)
{
    if (set->shards->journal != NULL)
        write_all(set->shards);
}

void state_changed(const struct shard_set *set, enum queue_change what,
                   const struct queue_shard *shard)
{
    struct shards *shards = set->shards;
    char           line[LINE_SIZE];
    int            size;

    if (shards->journal == NULL)
        return;
    look_for_failure(shards);
    if (journal_size(shards->journal) > shards->most) {
        write_all(shards); /* includes this change */
        return;
    }
    if (what == QUEUE_BACK)
        size = snprintf(line, sizeof line, "back %zu %lld %d\n", set->number,
                        (long long)shard->id, shard->tries);
    else
        size = snprintf(line, sizeof line, "%s %zu %lld\n", what == QUEUE_DONE ? "done" : "drop",
                        set->number, (long long)shard->id);
    journal_add(shards->journal, line, (size_t)size);
}

static void write_all(struct shards *shards)
{
    struct buffer text = { 0 };
    size_t        i;

    buffer_add_text(&text, FIRST_LINE);
    for (i = 0; i < shards->sets; i++)
        add_set(&shards->set[i], &text);
    journal_replace(shards->journal, text.bytes, text.size);
    shards->most = GROWS_BYTES + GROWS_TIMES * text.size;
    if (shards->most > SHARDS_FILE_MAX - LINE_SIZE) /* a larger one could not be read */
        shards->most = SHARDS_FILE_MAX - LINE_SIZE;
    buffer_clear(&text);
}

static void add_set(const struct shard_set *set, struct buffer *text)
{
    static const struct queue_visitor visitor = { add_next, add_again, add_dropped };
    struct writing                    writing = { text, set->number };
    char                              line[LINE_SIZE];

    snprintf(line, sizeof line, "open name=%s", set->name);
    buffer_add_text(text, line);
    request_put_rules(queue_rules(set->queue), line, sizeof line);
    buffer_add_text(text, line);
    buffer_add_text(text, "\n");
    queue_visit(set->queue, &visitor, &writing);
}

static void add_next(int64_t next, void *arg)
{
    struct writing *writing = arg;
    char            line[LINE_SIZE];

    snprintf(line, sizeof line, "next %zu %lld\n", writing->number, (long long)next);
    buffer_add_text(writing->text, line);
}

static void add_again(int64_t id, int tries, void *arg)
{
    struct writing *writing = arg;
    char            line[LINE_SIZE];

    snprintf(line, sizeof line, "back %zu %lld %d\n", writing->number, (long long)id, tries);
    buffer_add_text(writing->text, line);
}

static void add_dropped(int64_t id, void *arg)
{
    struct writing *writing = arg;
    char            line[LINE_SIZE];

    snprintf(line, sizeof line, "drop %zu %lld\n", writing->number, (long long)id);
    buffer_add_text(writing->text, line);
}

/* After a failure the run continues, and AGAIN_S later the next change writes everything
 * again. */
static void look_for_failure(struct shards *shards)
{
    int error = journal_failure(shards->journal);

    if (error != 0) {
        shards->failed_ns = clock_now_ns();
        if (!shards->is_failure_told)
            log_warn("shards: their state cannot be written into the run directory: %s",
                     strerror(error));
        shards->is_failure_told = true;
    } else if (shards->failed_ns != 0 &&
               clock_now_ns() - shards->failed_ns > AGAIN_S * NS_PER_S) {
        shards->failed_ns = 0;
        write_all(shards);
    }
}

/* --- reading ---------------------------------------------------------------- */

int state_read(struct shards *shards, int dir_fd, struct error *err)
{
    int         fd = openat(dir_fd, SHARDS_FILE, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat about;
    char       *text = NULL;
    int         rc = -1;

    if (fd < 0)
        return errno == ENOENT ? err_set(err, "it has read no shards")
                               : err_set(err, "%s: %s", SHARDS_FILE, strerror(errno));
    if (fstat(fd, &about) < 0 || !S_ISREG(about.st_mode) ||
        (size_t)about.st_size > SHARDS_FILE_MAX) {
        err_set(err, "%s: not a file of at most %zu MiB", SHARDS_FILE, SHARDS_FILE_MAX >> 20);
    } else {
        struct error why;

        text = xmalloc((size_t)about.st_size + 1);
        if (pread(fd, text, (size_t)about.st_size, 0) != about.st_size)
            err_set(err, "%s: %s", SHARDS_FILE, strerror(errno));
        else if ((rc = state_parse(shards, text, (size_t)about.st_size, &why)) < 0)
            err_set(err, "%s:%s", SHARDS_FILE, why.text);
    }
    close(fd);
    free(text);
    return rc;
}

int state_parse(struct shards *shards, const char *text, size_t size, struct error *err)
{
    size_t       at = strlen(FIRST_LINE), length;
    int          number = 2;
    char         line[LINE_SIZE];
    const char  *end;
    struct error why;

    if (size < at || memcmp(text, FIRST_LINE, at) != 0)
        return err_set(err, "1: not '%.*s'", (int)at - 1, FIRST_LINE);
    for (; (end = memchr(text + at, '\n', size - at)) != NULL; at += length + 1, number++) {
        length = (size_t)(end - (text + at));
        if (length >= sizeof line || memchr(text + at, '\0', length) != NULL)
            return err_set(err, "%d: not a line of text", number);
        memcpy(line, text + at, length);
        line[length] = '\0';
        if (parse_line(shards, line, &why) < 0)
            return err_set(err, "%d: %s", number, why.text);
    }
    return 0;
}

static int parse_line(struct shards *shards, char *line, struct error *err)
{
    return strncmp(line, "open ", 5) == 0 ? parse_open(shards, line + 5, err)
                                          : parse_change(shards, line, err);
}

static int parse_open(struct shards *shards, const char *words, struct error *err)
{
    struct request request;
    char           line[LINE_SIZE + 32];
    size_t         i;
    int            size = snprintf(line, sizeof line, "cmd=shard_open %s", words);

    if (request_parse(line, (size_t)size, &request, err) < 0)
        return -1;
    for (i = 0; i < shards->sets; i++)
        if (strcmp(shards->set[i].name, request.name) == 0)
            return err_set(err, "dataset %s is opened twice", request.name);
    if (shards->sets == SHARDS_SETS_MAX)
        return err_set(err, "more than %d datasets", SHARDS_SETS_MAX);
    shards_add(shards, request.name, &request.rules);
    return 0;
}

/* "back 0 55 1" */
static int parse_change(struct shards *shards, char *line, struct error *err)
{
    char         *rest = line, *what = strsep(&rest, " "), *number = strsep(&rest, " ");
    char         *id_text = strsep(&rest, " ");
    int64_t       set, id, tries = 0;
    struct queue *queue;

    if (number == NULL || id_text == NULL ||
        parse_number(number, 0, (int64_t)shards->sets - 1, &set, err) < 0 ||
        parse_number(id_text, 0, QUEUE_ID_MAX, &id, err) < 0 ||
        (rest != NULL && parse_number(rest, 0, QUEUE_RETRIES_MAX + 1, &tries, err) < 0))
        return err_set(err, "not a line that muster writes");
    queue = shards->set[set].queue;
    if (strcmp(what, "next") == 0)
        return queue_restore_next(queue, id, err);
    if (strcmp(what, "back") == 0)
        return queue_restore(queue, QUEUE_BACK, id, (int)tries, err);
    if (strcmp(what, "drop") == 0)
        return queue_restore(queue, QUEUE_DROPPED, id, 0, err);
    if (strcmp(what, "done") == 0)
        return queue_restore(queue, QUEUE_DONE, id, 0, err);
    return err_set(err, "'%.20s' is not a line that muster writes", what);
}

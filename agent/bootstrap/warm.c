/* warm.c - what a good run has read is read once more, before a run needs it
 *
 * A disk that was made from a snapshot fetches each block at its first read, and a program that
 * reads page by page waits for each. Here the list that --record has made is read in large parts,
 * many at once. It is read once for each node and list: then the blocks are on the disk.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "bootstrap/steps.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bootstrap/warm_list.h"
#include "clock.h"
#include "file.h"
#include "node/receipt_file.h"
#include "number.h"
#include "xalloc.h"

#define PART       (4 << 20)
#define STREAMS    32
#define STREAMS_TO 256
#define EVERY_S    1  /* a line of progress, for the first minute; */
#define LATER_S    30 /* then: a task may say 4096 lines, and a warm-up may take a day */
#define LOOK_MS    50
#define LIST_NAME  ".muster-warm"
#define DONE_FILE  JOURNAL_DIR "/warmed"
#define MIB        (1024.0 * 1024.0)
#define BLANKS     " \t,"

struct reading {
    const struct warm_list *list;
    pthread_mutex_t         lock; /* of range, at */
    size_t                  range;
    int64_t                 at;
    _Atomic int64_t         done;   /* bytes */
    _Atomic int             failed; /* ranges */
    _Atomic int             running;
};

static char *list_path(const struct bootstrap *b);
static char *read_list(const struct bootstrap *b, struct warm_list *list, struct error *err);
static bool  is_done(const struct bootstrap *b, const char *text);
static json_t *mark_of(const char *text);
static void  set_done(const struct bootstrap *b, const char *text);
static int   streams_of(const struct bootstrap *b, struct error *err);
static void  read_all(struct bootstrap *b, struct reading *reading, int streams);
static void *stream(void *arg);
static bool  take_part(struct reading *reading, struct warm_range *part);
static void  read_part(struct reading *reading, const struct warm_range *part, char *bytes);
static void  tell(struct bootstrap *b, const struct reading *reading, double seconds);

int step_warm(struct bootstrap *b, struct finding *finding, struct error *err)
{
    struct warm_list list;
    char            *path, *text;
    int              rc = 0;

    if (json_object_get(b->conf, "warm") == NULL || (path = list_path(b)) == NULL) {
        finding->is_unused = true;
        return 0;
    }
    text = read_list(b, &list, err);
    if (text == NULL && access(path, F_OK) < 0) {
        finding->is_later = b->is_pending;
        finding->is_unused = !b->is_pending;
        if (!b->is_pending)
            finding_note(finding, "there is no list %s: muster bootstrap --record makes it, after "
                         "a good run", path + strlen(b->root));
    } else if (text == NULL) {
        finding_fix(finding, "make the list anew: muster bootstrap --record");
        rc = -1;
    } else if (!is_done(b, text)) {
        finding_note(finding, "%s %.0f MiB in %zu ranges", b->op == BOOTSTRAP_APPLY ? "reads"
                     : "apply reads", (double)list.bytes / MIB, list.count);
    }
    if (text != NULL)
        warm_list_clear(&list);
    free(text);
    free(path);
    return rc;
}

int step_warm_read(struct bootstrap *b, struct finding *finding, struct error *err)
{
    struct reading   reading = { .lock = PTHREAD_MUTEX_INITIALIZER };
    struct warm_list list;
    char            *text = read_list(b, &list, err);
    int              streams = streams_of(b, err);
    int64_t          began = clock_now_ns();
    double           seconds;

    if (text == NULL || streams < 0)
        return text == NULL ? 0 : (free(text), warm_list_clear(&list), -1);
    if (!is_done(b, text)) {
        reading.list = &list;
        read_all(b, &reading, streams);
        seconds = (double)(clock_now_ns() - began) / NS_PER_S;
        finding_note(finding, "read %.0f MiB in %.1f s (%.0f MiB/s)%s",
                     (double)reading.done / MIB, seconds,
                     (double)reading.done / MIB / (seconds > 0.001 ? seconds : 0.001),
                     reading.failed > 0 ? "; some files of the list are gone or unreadable" : "");
        set_done(b, text);
    }
    warm_list_clear(&list);
    free(text);
    return 0;
}

int warm_record(struct bootstrap *b, struct error *err)
{
    const char      *paths = bootstrap_conf(b, "warm", "paths");
    char            *path = list_path(b), *one, *text = NULL;
    struct warm_list list = { 0 };
    struct state     file = { .exists = true, .mode = 0644, .uid = geteuid(), .gid = getegid() };
    int              rc = 0;

    if (path == NULL || paths == NULL)
        rc = err_set(err, "[warm] paths of bootstrap.conf is not set: name the folders to record");
    while (rc == 0 && *(paths += strspn(paths, BLANKS)) != '\0') {
        one = xstrndup(paths, strcspn(paths, BLANKS));
        warm_list_look(&list, one);
        paths += strlen(one);
        free(one);
    }
    if (rc == 0) {
        warm_list_sort(&list);
        text = warm_list_text(&list);
        file.bytes = text;
        file.size = strlen(text);
        rc = state_write_file(path, &file, err);
    }
    if (rc == 0) {
        one = xasprintf("%s: %.0f MiB in %zu ranges", path, (double)list.bytes / MIB, list.count);
        task_output_line(b->out, json_pack("{s:s, s:s, s:[], s:[s]}", "step", "warm", "state",
                                           "changed", "changes", "notes", one));
        free(one);
    }
    warm_list_clear(&list);
    free(text);
    free(path);
    return rc;
}

/* --- the list --------------------------------------------------------------- */

/* NULL: conf names none, and no data disk that it could be on. */
static char *list_path(const struct bootstrap *b)
{
    const char *path = bootstrap_conf(b, "warm", "list");
    const char *mount = bootstrap_conf(b, "data", "mount");

    return path != NULL    ? xasprintf("%s%s", b->root, path)
           : mount != NULL ? xasprintf("%s%s/" LIST_NAME, b->root, mount)
                           : NULL;
}

/* Its text, caller frees; NULL with err. */
static char *read_list(const struct bootstrap *b, struct warm_list *list, struct error *err)
{
    char        *path = list_path(b), *text = NULL;
    struct error why;
    size_t       size;

    if (path != NULL)
        text = file_read_at_once(path, WARM_LIST_BYTES_MAX, &size, err);
    if (text != NULL && warm_list_parse(text, list, &why) < 0) {
        err_set(err, "%s: %s", path, why.text);
        free(text);
        text = NULL;
    }
    free(path);
    return text;
}

static bool is_done(const struct bootstrap *b, const char *text)
{
    char        *path = xasprintf("%s" DONE_FILE, b->root), *have;
    json_t      *mark = mark_of(text);
    size_t       size;
    bool         is = false;

    have = file_read_at_once(path, PART, &size, NULL);
    is = have != NULL && strcmp(have, json_string_value(mark)) == 0;
    json_decref(mark);
    free(have);
    free(path);
    return is;
}

static json_t *mark_of(const char *text)
{
    json_t *whole = json_string(text), *array = json_pack("[o]", whole != NULL ? whole
                                                                              : json_null());
    json_t *mark = receipt_fingerprint(array);

    json_decref(array);
    return mark;
}

static void set_done(const struct bootstrap *b, const char *text)
{
    char        *path = xasprintf("%s" DONE_FILE, b->root);
    json_t      *mark = mark_of(text);
    struct state file = { .exists = true, .mode = 0600, .uid = geteuid(), .gid = getegid(),
                          .bytes = (char *)json_string_value(mark),
                          .size = json_string_length(mark) };

    state_write_file(path, &file, NULL);
    json_decref(mark);
    free(path);
}

/* --- reading ---------------------------------------------------------------- */

static int streams_of(const struct bootstrap *b, struct error *err)
{
    const char *text = bootstrap_conf(b, "warm", "streams");
    int64_t     streams = STREAMS;

    if (text != NULL && parse_number(text, 1, STREAMS_TO, &streams, err) < 0)
        return err_set(err, "[warm] streams: %s", err->text);
    return (int)streams;
}

static void read_all(struct bootstrap *b, struct reading *reading, int streams)
{
    pthread_t       thread[STREAMS_TO];
    struct timespec look = { 0, LOOK_MS * 1000000L };
    int64_t         began = clock_now_ns(), told = began;
    int             count = 0, every_s;

    reading->running = streams;
    while (count < streams && pthread_create(&thread[count], NULL, stream, reading) == 0)
        count++;
    reading->running -= streams - count;
    if (count == 0) {
        reading->running = 1;
        stream(reading);
    }
    while (reading->running > 0) {
        nanosleep(&look, NULL);
        every_s = told - began < 60 * NS_PER_S ? EVERY_S : LATER_S;
        if (clock_now_ns() - told >= every_s * NS_PER_S) {
            told = clock_now_ns();
            tell(b, reading, (double)(told - began) / NS_PER_S);
        }
    }
    while (count > 0)
        pthread_join(thread[--count], NULL);
}

static void *stream(void *arg)
{
    struct reading   *reading = arg;
    struct warm_range part;
    char             *bytes = xmalloc(PART);

    while (take_part(reading, &part))
        read_part(reading, &part, bytes);
    free(bytes);
    reading->running--;
    return NULL;
}

static bool take_part(struct reading *reading, struct warm_range *part)
{
    const struct warm_range *range;
    bool                     has = false;

    pthread_mutex_lock(&reading->lock);
    if (reading->range < reading->list->count) {
        range = &reading->list->range[reading->range];
        *part = (struct warm_range){ range->offset + reading->at, range->length - reading->at,
                                     range->path };
        if (part->length > PART)
            part->length = PART;
        reading->at += part->length;
        if (reading->at >= range->length) {
            reading->at = 0;
            reading->range++;
        }
        has = true;
    }
    pthread_mutex_unlock(&reading->lock);
    return has;
}

static void read_part(struct reading *reading, const struct warm_range *part, char *bytes)
{
    int     fd = open(part->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    int64_t at = 0;
    ssize_t got = 1;

    while (fd >= 0 && at < part->length && got > 0) {
        got = pread(fd, bytes, (size_t)(part->length - at), part->offset + at);
        if (got > 0)
            at += got;
    }
    if (fd < 0 || got < 0)
        reading->failed++;
    reading->done += at;
    if (fd >= 0)
        close(fd);
}

static void tell(struct bootstrap *b, const struct reading *reading, double seconds)
{
    double done = (double)reading->done, rate = done / seconds;
    char   text[128];

    snprintf(text, sizeof text, "%.0f of %.0f MiB, %.0f MiB/s, %.0f s left", done / MIB,
             (double)reading->list->bytes / MIB, rate / MIB,
             rate > 0 ? ((double)reading->list->bytes - done) / rate : 0);
    bootstrap_progress(b, "warm", text);
}

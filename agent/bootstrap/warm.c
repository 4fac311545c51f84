/* warm.c - reads the files that a good run has read, before a run needs them
 *
 * A disk that was made from a snapshot fetches each block when it is first read, and a program
 * that reads page by page waits for each. This step reads the list that --record has made in
 * large parts, many at once: on each node alone, or with --warm=swarm on all nodes together
 * (warm/swarm.h). It reads each list once per node: then the blocks are on the disk.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "bootstrap/steps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "file.h"
#include "number.h"
#include "warm/swarm.h"
#include "warm/warm_list.h"
#include "warm/warm_read.h"
#include "warm/warm_sums.h"
#include "xalloc.h"

#define STREAMS   32
#define EVERY_S   1  /* between two lines of progress, in the first minute; ... */
#define LATER_S   30 /* ... later: a task may print 4096 lines, and a warm-up may take a day */
#define LOOK_MS   50
#define LIST_NAME ".muster-warm"
#define SUMS_NAME ".sums" /* appended to the name of the list */
#define DONE_FILE JOURNAL_DIR "/warmed"
#define MIB       (1024.0 * 1024.0)
#define BLANKS    " \t,"

/* The receiver of progress, and when it was last sent. */
struct telling {
    struct bootstrap *b;
    int64_t           total, began_ns, told_ns;
};

static char *list_path(const struct bootstrap *b);
static char *read_list(const struct bootstrap *b, struct warm_list *list, struct error *err);
static char *read_sums(const struct bootstrap *b, const char *list, struct warm_sums *sums,
                       struct error *err);
static bool  is_done(const struct bootstrap *b, const char *text);
static void  set_done(const struct bootstrap *b, const char *text);
static int   write_file(const char *path, mode_t mode, char *text, struct error *err);
static int   streams_of(const struct bootstrap *b, struct error *err);
static int64_t read_all(struct bootstrap *b, const struct warm_list *list, int streams,
                        int *failed);
static int   record_sums(struct bootstrap *b, const char *path, const char *text,
                         const struct warm_list *list, struct error *err);
static void  record_tell(int64_t bytes, void *arg);
static void  swarm_tell(const struct swarm_counts *counts, void *arg);
static void  swarm_note(struct finding *finding, const struct swarm_counts *counts,
                        double seconds);
static struct telling telling_begin(struct bootstrap *b, int64_t total);
static void  tell(struct telling *telling, int64_t bytes);
static double seconds_since(int64_t ns);

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
        finding_fix(finding, "record the list again: muster bootstrap --record");
        rc = -1;
    } else if (!is_done(b, text)) {
        finding_note(finding, "%s %.0f MiB in %zu ranges%s",
                     b->op == BOOTSTRAP_APPLY ? "reads" : "apply reads", (double)list.bytes / MIB,
                     list.count, b->has_swarm ? ", together with other nodes" : "");
    }
    if (text != NULL)
        warm_list_clear(&list);
    free(text);
    free(path);
    return rc;
}

int step_warm_read(struct bootstrap *b, struct finding *finding, struct error *err)
{
    struct warm_list list;
    char            *text = read_list(b, &list, err);
    int              streams = streams_of(b, err), failed;
    int64_t          began = clock_now_ns(), bytes;
    double           seconds;

    if (text == NULL || streams < 0)
        return text == NULL ? 0 : (free(text), warm_list_clear(&list), -1);
    if (!b->has_swarm && !is_done(b, text)) {
        bytes = read_all(b, &list, streams, &failed);
        seconds = seconds_since(began);
        finding_note(finding, "read %.0f MiB in %.1f s (%.0f MiB/s)%s", (double)bytes / MIB,
                     seconds, (double)bytes / MIB / seconds,
                     failed > 0 ? "; some files of the list are gone or unreadable" : "");
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
        rc = write_file(path, 0644, text, err);
    }
    if (rc == 0)
        rc = record_sums(b, path, text, &list, err);
    warm_list_clear(&list);
    free(text);
    free(path);
    return rc;
}

static int record_sums(struct bootstrap *b, const char *path, const char *text,
                       const struct warm_list *list, struct error *err)
{
    struct telling   telling = telling_begin(b, list->bytes);
    struct warm_sums sums;
    char             mark[WARM_MARK_CHARS + 1];
    char            *sums_path = xasprintf("%s" SUMS_NAME, path), *sums_text, *note;
    int              rc;

    warm_mark(text, mark);
    warm_sums_make(&sums, list, record_tell, &telling);
    sums_text = warm_sums_text(&sums, mark);
    rc = write_file(sums_path, 0644, sums_text, err);
    note = xasprintf("%s: %.0f MiB in %zu ranges; --warm=swarm can share %zu MiB of %zu files",
                     path, (double)list->bytes / MIB, list->count, sums.chunks, sums.files);
    if (rc == 0)
        task_output_line(b->out, json_pack("{s:s, s:s, s:[], s:[s]}", "step", "warm", "state",
                                           "changed", "changes", "notes", note));
    free(note);
    warm_sums_clear(&sums);
    free(sums_text);
    free(sums_path);
    return rc;
}

static void record_tell(int64_t bytes, void *arg)
{
    tell(arg, bytes);
}

/* --- all nodes together ----------------------------------------------------- */

int warm_swarm_look(struct bootstrap *b, const json_t *request, struct error *err)
{
    const char      *address = json_string_value(json_object_get(request, "address"));
    struct warm_list list;
    struct warm_sums sums;
    struct error     why;
    char            *text = read_list(b, &list, err), *sums_text = NULL;
    char             mark[WARM_MARK_CHARS + 1] = "";
    int              port = address != NULL ? swarm_port(address) : -1;

    if (text == NULL)
        return 0; /* the step has reported why */
    sums_text = read_sums(b, text, &sums, &why);
    if (sums_text != NULL) {
        warm_mark(sums_text, mark);
        warm_sums_clear(&sums);
    }
    task_output_line(b->out, json_pack("{s:{s:b, s:s, s:i}}", "swarm", "done", is_done(b, text),
                                       "mark", mark, "port", port));
    free(sums_text);
    free(text);
    warm_list_clear(&list);
    return 0;
}

int warm_swarm(struct bootstrap *b, const json_t *request, struct error *err)
{
    static const struct swarm_ops ops = { swarm_tell };
    struct telling      telling = telling_begin(b, 0);
    struct warm_list    list;
    struct warm_sums    sums = { 0 };
    struct swarm_counts counts;
    struct finding      finding = { .notes = json_array() };
    char               *text = read_list(b, &list, err), *sums_text;
    int                 streams = streams_of(b, err), rc;

    if (text == NULL || streams < 0)
        return -1;
    sums_text = read_sums(b, text, &sums, err);
    rc = swarm_run(request, &list, &sums, streams, &ops, &telling, &counts, err);
    if (rc == 0) {
        set_done(b, text);
        swarm_note(&finding, &counts, seconds_since(telling.began_ns));
        task_output_line(b->out, json_pack("{s:s, s:s, s:[], s:o}", "step", "warm", "state", "ok",
                                           "changes", "notes", finding.notes));
    }
    warm_sums_clear(&sums);
    warm_list_clear(&list);
    free(sums_text);
    free(text);
    return rc;
}

static void swarm_note(struct finding *finding, const struct swarm_counts *counts, double seconds)
{
    finding_note(finding, "%.0f MiB in %.1f s (%.0f MiB/s): %.0f from this disk, %.0f from %d "
                 "other node%s%s", (double)(counts->read + counts->received) / MIB, seconds,
                 (double)(counts->read + counts->received) / MIB / seconds,
                 (double)counts->read / MIB, (double)counts->received / MIB, counts->peers,
                 counts->peers == 1 ? "" : "s",
                 counts->failed > 0 ? "; some files of the list are gone or unreadable" : "");
    if (counts->why[0] != '\0')
        finding_note(finding, "%s: its part was read from this disk", counts->why);
}

static void swarm_tell(const struct swarm_counts *counts, void *arg)
{
    struct telling *telling = arg;

    telling->total = counts->total;
    tell(telling, counts->read + counts->received);
}

/* --- the list --------------------------------------------------------------- */

/* Returns NULL if conf names neither a list nor a data disk that could have it. */
static char *list_path(const struct bootstrap *b)
{
    const char *path = bootstrap_conf(b, "warm", "list");
    const char *mount = bootstrap_conf(b, "data", "mount");

    return path != NULL    ? xasprintf("%s%s", b->root, path)
           : mount != NULL ? xasprintf("%s%s/" LIST_NAME, b->root, mount)
                           : NULL;
}

/* Returns the list's text, caller frees; NULL with err. */
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

/* The same for the sums of that list. */
static char *read_sums(const struct bootstrap *b, const char *list, struct warm_sums *sums,
                       struct error *err)
{
    char        *path = list_path(b), *of_sums = xasprintf("%s" SUMS_NAME, path), *text;
    char         mark[WARM_MARK_CHARS + 1];
    struct error why;
    size_t       size;

    warm_mark(list, mark);
    text = file_read_at_once(of_sums, WARM_SUMS_BYTES_MAX, &size, err);
    if (text != NULL && warm_sums_parse(text, mark, sums, &why) < 0) {
        err_set(err, "%s: %s", of_sums, why.text);
        free(text);
        text = NULL;
    }
    free(of_sums);
    free(path);
    return text;
}

static bool is_done(const struct bootstrap *b, const char *text)
{
    char   mark[WARM_MARK_CHARS + 1];
    char  *path = xasprintf("%s" DONE_FILE, b->root), *have;
    size_t size;
    bool   is;

    warm_mark(text, mark);
    have = file_read_at_once(path, sizeof mark, &size, NULL);
    is = have != NULL && strcmp(have, mark) == 0;
    free(have);
    free(path);
    return is;
}

static void set_done(const struct bootstrap *b, const char *text)
{
    char  mark[WARM_MARK_CHARS + 1];
    char *path = xasprintf("%s" DONE_FILE, b->root);

    warm_mark(text, mark);
    write_file(path, 0600, mark, NULL);
    free(path);
}

static int write_file(const char *path, mode_t mode, char *text, struct error *err)
{
    struct state file = { .exists = true, .mode = mode, .uid = geteuid(), .gid = getegid(),
                          .bytes = text, .size = strlen(text) };

    return state_write_file(path, &file, err);
}

/* --- reading ---------------------------------------------------------------- */

static int streams_of(const struct bootstrap *b, struct error *err)
{
    const char *text = bootstrap_conf(b, "warm", "streams");
    int64_t     streams = STREAMS;

    if (text != NULL && parse_number(text, 1, WARM_STREAMS_MAX, &streams, err) < 0)
        return err_set(err, "[warm] streams: %s", err->text);
    return (int)streams;
}

static int64_t read_all(struct bootstrap *b, const struct warm_list *list, int streams,
                        int *failed)
{
    const struct timespec look = { 0, LOOK_MS * 1000000L };
    struct telling        telling = telling_begin(b, list->bytes);
    struct warm_part      part = { .file = -1, .chunk = -1 };
    struct warm_parts     parts = { 0 };
    struct warm_reading  *reading;
    int64_t               bytes;
    size_t                i;

    for (i = 0; i < list->count; i++) {
        part.offset = list->range[i].offset;
        part.length = list->range[i].length;
        part.path = list->range[i].path;
        warm_parts_add(&parts, &part);
    }
    reading = warm_read_begin(&parts, streams, NULL, NULL);
    while (!warm_read_is_over(reading)) {
        nanosleep(&look, NULL);
        tell(&telling, warm_read_bytes(reading));
    }
    bytes = warm_read_bytes(reading);
    *failed = warm_read_failed(reading);
    warm_read_free(reading);
    warm_parts_clear(&parts);
    return bytes;
}

static struct telling telling_begin(struct bootstrap *b, int64_t total)
{
    int64_t now_ns = clock_now_ns();

    return (struct telling){ b, total, now_ns, now_ns };
}

/* Sends a line of progress if one is due. */
static void tell(struct telling *telling, int64_t bytes)
{
    int    every_s = telling->told_ns - telling->began_ns < 60 * NS_PER_S ? EVERY_S : LATER_S;
    double done = (double)bytes, seconds = seconds_since(telling->began_ns), rate = done / seconds;
    char   text[128];

    if (clock_now_ns() - telling->told_ns < every_s * NS_PER_S)
        return;
    telling->told_ns = clock_now_ns();
    snprintf(text, sizeof text, "%.0f of %.0f MiB, %.0f MiB/s, %.0f s left", done / MIB,
             (double)telling->total / MIB, rate / MIB,
             rate > 0 ? ((double)telling->total - done) / rate : 0);
    bootstrap_progress(telling->b, "warm", text);
}

/* Returns the seconds since then; never 0. */
static double seconds_since(int64_t ns)
{
    double seconds = (double)(clock_now_ns() - ns) / NS_PER_S;

    return seconds > 0.001 ? seconds : 0.001;
}

/* shared_lines.c - see shared_lines.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "output/shared_lines.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "output/line_fold.h"
#include "output/linebuf.h"
#include "xalloc.h"
#include "xevent.h"

/* The streams of a rank. */
struct rank_streams {
    struct source *source[2]; /* [is_stderr]; NULL: nothing has come yet */
    bool           is_cut[2]; /* its last segment has not ended its line */
};

/* A label of several ranks on one stream. */
struct shared_label {
    char         *text;
    struct source source;
};

struct shared_lines {
    struct line_fold        *fold;
    struct event            *due;
    struct writer           *writer[2];
    struct mailbox          *mailbox;
    const struct output_ops *ops;
    void                    *arg;
    struct rank_streams     *rank;
    size_t                   ranks;
    struct shared_label     *label[SHARED_LABELS_MAX];
    size_t                   labels;
};

static struct rank_streams *streams_of(struct shared_lines *shared, struct source *source);
static void                 take_segment(struct shared_lines *shared, struct source *source,
                                         const char *text, size_t size, size_t charge);
static void                 due_cb(evutil_socket_t fd, short what, void *arg);
static void                 wait_for_first(struct shared_lines *shared);
static void                 emit(struct shared_lines *shared);
static struct source       *source_of(struct shared_lines *shared, const char *text,
                                      const struct source *lowest);
static bool                 make_room(struct shared_lines *shared);

struct shared_lines *shared_lines_new(struct event_base *base, struct writer *const writer[2],
                                      struct mailbox *mailbox, const struct output_ops *ops,
                                      void *arg)
{
    struct shared_lines *shared = xcalloc(1, sizeof *shared);

    *shared = (struct shared_lines){ .fold = line_fold_new(), .mailbox = mailbox, .ops = ops,
                                     .writer = { writer[0], writer[1] }, .arg = arg };
    shared->due = xevent_new(base, -1, due_cb, shared);
    return shared;
}

void shared_lines_free(struct shared_lines *shared)
{
    size_t i;

    if (shared == NULL)
        return;
    for (i = 0; i < shared->labels; i++) {
        free(shared->label[i]->text);
        free(shared->label[i]);
    }
    event_free(shared->due);
    line_fold_free(shared->fold);
    free(shared->rank);
    free(shared);
}

/* Each whole line takes with it as much of the charge as it has bytes; what is left was for bytes
 * that output.c still holds, and goes back at once. */
void shared_lines_put(struct shared_lines *shared, struct source *source, struct buffer *run,
                      size_t charge)
{
    struct writer       *writer = shared->writer[source->is_stderr];
    struct rank_streams *streams;
    struct segments      walk;
    struct segment       segment;
    struct buffer        rest = { 0 };
    size_t               size, part;

    if (shared->ops == NULL) {
        writer_add(writer, source, run, charge);
        return;
    }
    streams = streams_of(shared, source);
    segments_start(&walk, run->bytes, run->size);
    while (segment_next(&walk, &segment)) {
        bool is_line = (segment.end == SEGMENT_LF || segment.end == SEGMENT_CRLF) &&
                       !streams->is_cut[source->is_stderr];

        size = (size_t)(walk.at - segment.text);
        part = size < charge ? size : charge;
        charge -= part;
        streams->is_cut[source->is_stderr] = segment.end == SEGMENT_NONE;
        if (is_line) {
            take_segment(shared, source, segment.text, size, part);
            continue;
        }
        shared_lines_flush_rank(shared, source);
        buffer_add(&rest, segment.text, size);
        writer_add(writer, source, &rest, part);
    }
    if (charge > 0)
        mailbox_give(shared->mailbox, source->node, charge);
    buffer_clear(run);
}

/* A rank that has moved to another node has other sources; its lines there come later. */
static struct rank_streams *streams_of(struct shared_lines *shared, struct source *source)
{
    size_t               count = (size_t)source->rank + 1;
    struct rank_streams *streams;
    struct source      **known;

    if (count > shared->ranks) {
        shared->rank = xreallocarray(shared->rank, count, sizeof *shared->rank);
        memset(shared->rank + shared->ranks, 0, (count - shared->ranks) * sizeof *shared->rank);
        shared->ranks = count;
    }
    streams = &shared->rank[source->rank];
    known = &streams->source[source->is_stderr];
    if (*known != NULL && *known != source) {
        shared_lines_flush_rank(shared, source);
        streams->is_cut[source->is_stderr] = false;
    }
    *known = source;
    return streams;
}

static void take_segment(struct shared_lines *shared, struct source *source, const char *text,
                         size_t size, size_t charge)
{
    const struct rank_line line = {
        .rank = source->rank, .text = text, .size = size, .charge = charge,
        .kind = 2 * shared->ops->world_of(source->rank, shared->arg) + source->is_stderr
    };
    struct rank_line back;

    if (line_fold_add(shared->fold, &line, clock_now_ns(), &back) && back.charge > 0)
        mailbox_give(shared->mailbox, shared->rank[back.rank].source[source->is_stderr]->node,
                     back.charge);
    while (line_fold_is_full(shared->fold))
        emit(shared);
    wait_for_first(shared);
}

static void wait_for_first(struct shared_lines *shared)
{
    struct timeval wait;
    int64_t        left_ns;

    if (!line_fold_holds_any(shared->fold) || event_pending(shared->due, EV_TIMEOUT, NULL))
        return;
    left_ns = line_fold_due_ns(shared->fold) - clock_now_ns();
    wait = clock_interval(left_ns > 0 ? (double)left_ns / NS_PER_S : 0);
    xevent_add(shared->due, &wait);
}

static void due_cb(evutil_socket_t fd, short what, void *arg)
{
    struct shared_lines *shared = arg;
    const int64_t        now_ns = clock_now_ns();

    (void)fd, (void)what;
    while (line_fold_holds_any(shared->fold) && line_fold_due_ns(shared->fold) <= now_ns)
        emit(shared);
    wait_for_first(shared);
}

void shared_lines_flush(struct shared_lines *shared)
{
    while (line_fold_holds_any(shared->fold))
        emit(shared);
}

void shared_lines_flush_rank(struct shared_lines *shared, const struct source *source)
{
    while (line_fold_holds(shared->fold, source->rank))
        emit(shared);
}

size_t shared_lines_waiting(const struct shared_lines *shared)
{
    return line_fold_bytes(shared->fold);
}

/* --- to the writers --------------------------------------------------------- */

static void emit(struct shared_lines *shared)
{
    struct folded_line line = line_fold_take(shared->fold);
    struct source     *lowest = shared->rank[line.rank[0]].source[line.kind % 2], *source = NULL;
    struct buffer      run = { 0 };
    char              *label = NULL;

    if (line.ranks > 1) {
        label = shared->ops->many_label(line.rank, line.ranks, shared->arg);
        source = source_of(shared, label, lowest);
        buffer_add_text(&run, source == NULL ? label : "");
        free(label);
    }
    buffer_add(&run, line.text, line.size);
    writer_add(shared->writer[lowest->is_stderr], source != NULL ? source : lowest, &run,
               line.charge);
    folded_line_clear(&line);
}

/* Returns a source with this label, on the node of the lowest rank, whose credit the line uses.
 * NULL: there are too many. */
static struct source *source_of(struct shared_lines *shared, const char *text,
                                const struct source *lowest)
{
    struct shared_label *label;
    size_t               i;

    for (i = 0; i < shared->labels; i++) {
        label = shared->label[i];
        if (label->source.node == lowest->node &&
            label->source.is_stderr == lowest->is_stderr && strcmp(label->text, text) == 0)
            return &label->source;
    }
    if (!make_room(shared))
        return NULL;
    label = xcalloc(1, sizeof *label);
    label->text = xstrdup(text);
    label->source = (struct source){ .label = label->text, .label_size = strlen(text),
                                     .rank = lowest->rank, .node = lowest->node,
                                     .is_stderr = lowest->is_stderr,
                                     .is_timed = lowest->is_timed };
    shared->label[shared->labels++] = label;
    return &label->source;
}

/* Once the writers have written all, no label is in use: whole lines leave nothing open. */
static bool make_room(struct shared_lines *shared)
{
    if (shared->labels < SHARED_LABELS_MAX)
        return true;
    if (writer_waiting(shared->writer[0]) > 0 || writer_waiting(shared->writer[1]) > 0)
        return false;
    while (shared->labels > 0) {
        free(shared->label[--shared->labels]->text);
        free(shared->label[shared->labels]);
    }
    return true;
}

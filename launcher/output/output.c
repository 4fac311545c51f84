/* output.c - see output.h
 *
 * All of this runs on the event loop. The writer threads report to it through mailbox.c.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "output/output.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "fd.h"
#include "log.h"
#include "output/fold.h"
#include "output/linebuf.h"
#include "output/mailbox.h"
#include "output/shared_lines.h"
#include "output/tail.h"
#include "output/writer.h"
#include "strlist.h"
#include "xalloc.h"
#include "xevent.h"

#define UNFINISHED_S   0.2                 /* after this, a terminal shows an unfinished line */
#define UNFINISHED_MAX ((size_t)16 * 1024) /* bytes of it: no terminal is that wide */
#define OWN_WAIT_MS    100                 /* for our own line, after the writers have ended */
#define FOLD_PIECE     ((size_t)64 * 1024) /* folded text per call of the writer */

/* stdout or stderr of a rank. */
struct stream {
    struct source  source;
    struct linebuf line;
    struct buffer  folded;
    uint64_t       skipped; /* bytes, not yet announced to the reader */
};

struct rank_output {
    struct stream stream[2]; /* [is_stderr] */
    char         *host, *label, *file;
    size_t        node;
    bool          shown;
    struct tail   tail;
    struct rank_output *retired; /* the next one in the list */
};

struct output {
    struct output_settings settings;
    struct mailbox        *mailbox;
    struct writer         *writer[2]; /* [is_stderr]; the same one if both are one file */
    struct shared_lines   *shared;
    struct rank_output   **rank;
    int                    ranks;
    struct rank_output    *retired;   /* of ranks that have moved to other nodes */
    struct rank_output     plain;     /* the stream of the folded text */
    size_t                 held;      /* in all linebufs */
    size_t                 folded;    /* in all folded buffers */
    bool                   is_folding, is_closed, is_finished;
    bool                   is_err_closed; /* the writer of stderr takes no more */
    uint64_t               lost;
    struct stream         *unfinished; /* the stream that was fed last, on a terminal */
    struct event          *unfinished_timer;
    struct rank_output    *prompting; /* reads what the user types; NULL: no rank */
};

static void make_writers(struct output *output);
static void done_cb(size_t node, size_t bytes, void *arg);
static void failed_cb(bool is_stderr, int error, void *arg);
static void over_cb(void *arg);
static struct rank_output *find_rank(const struct output *output, int rank);
static void rank_free(struct rank_output *rank);
static void rank_clear(struct rank_output *rank);
static void fold_bytes(struct output *output, struct rank_output *rank, bool is_stderr,
                       const char *bytes, size_t size);
static void unfold(struct output *output);
static void print_folded(struct output *output);
static void clear_folded(struct output *output, bool is_stderr);
static void show_bytes(struct output *output, struct rank_output *rank, bool is_stderr,
                       const char *bytes, size_t size, size_t charge);
static void queue(struct output *output, struct rank_output *rank, bool is_stderr,
                  struct buffer *run, size_t charge);
static bool must_skip(const struct output *output, const struct rank_output *rank,
                      bool is_stderr);
static void show_rest(struct output *output, struct rank_output *rank, bool is_stderr);
static void tell_skipped(struct output *output, struct rank_output *rank, bool is_stderr);
static struct stream *prompt_of(const struct output *output);
static void unfinished_cb(evutil_socket_t fd, short what, void *arg);

struct output *output_new(struct event_base *base, const struct output_settings *settings,
                          const struct output_ops *ops, void *arg)
{
    struct output *output = xcalloc(1, sizeof *output);

    output->settings = *settings;
    output->mailbox = mailbox_new(base, ops, arg);
    output->is_folding = settings->fold;
    output->plain.stream[1].source.is_stderr = true;
    output->unfinished_timer = evtimer_new(base, unfinished_cb, output);
    if (output->unfinished_timer == NULL)
        xalloc_die();
    make_writers(output);
    output->shared = shared_lines_new(base, output->writer, output->mailbox,
                                      settings->fold_lines ? ops : NULL, arg);
    return output;
}

const char *output_error_words(int error)
{
    return error == ETIMEDOUT ? "the reader has stalled" : strerror(error);
}

static void make_writers(struct output *output)
{
    static const struct writer_ops ops = { .done = done_cb, .failed = failed_cb,
                                           .over = over_cb };
    const struct output_settings  *set = &output->settings;
    const int both[2] = { set->out_fd, set->err_fd };
    const int out[2] = { set->out_fd, set->out_fd }, err[2] = { set->err_fd, set->err_fd };

    if (fd_is_same_file(set->out_fd, set->err_fd)) {
        output->writer[0] = output->writer[1] =
            writer_new(both, set->filter_out && set->filter_err, &ops, output);
        return;
    }
    output->writer[0] = writer_new(out, set->filter_out, &ops, output);
    output->writer[1] = writer_new(err, set->filter_err, &ops, output);
}

static void done_cb(size_t node, size_t bytes, void *arg)
{
    struct output *output = arg;

    mailbox_give(output->mailbox, node, bytes);
}

static void failed_cb(bool is_stderr, int error, void *arg)
{
    struct output *output = arg;

    mailbox_fail(output->mailbox, is_stderr, error);
}

static void over_cb(void *arg)
{
    struct output *output = arg;

    mailbox_wake(output->mailbox);
}

void output_add_rank(struct output *output, int rank, size_t node, const char *host,
                     const char *label, bool shown, const char *file)
{
    struct rank_output *added = find_rank(output, rank);
    int                 i;

    if (added != NULL) {
        output_again(output, rank, file);
        if (added->node == node && strcmp(added->label, label) == 0)
            return;
        added->retired = output->retired; /* lines in the queue still use its label */
        output->retired = added;
    }
    added = xcalloc(1, sizeof *added);
    if (rank >= output->ranks) {
        output->rank = xreallocarray(output->rank, (size_t)rank + 1, sizeof *output->rank);
        for (i = output->ranks; i <= rank; i++)
            output->rank[i] = NULL;
        output->ranks = rank + 1;
    }
    mailbox_add_node(output->mailbox, node);

    added->host = xstrdup(host);
    added->label = xstrdup(label);
    added->file = file != NULL ? xstrdup(file) : NULL;
    added->node = node;
    added->shown = shown;
    for (i = 0; i < 2; i++)
        added->stream[i].source = (struct source){
            .label = added->label,
            .label_size = strlen(label),
            .rank = rank,
            .node = node,
            .is_stderr = i,
            .is_timed = output->settings.timestamps,
        };
    output->rank[rank] = added;
}

void output_set_input(struct output *output, int rank, bool has_terminal)
{
    struct source *source = &find_rank(output, rank)->stream[0].source;

    output->prompting = has_terminal ? NULL : find_rank(output, rank);
    source->is_raw = has_terminal;
    source->is_timed = source->is_timed && !has_terminal;
}

/* If the rank's node was lost, its streams have not ended yet. */
void output_again(struct output *output, int rank, const char *file)
{
    struct rank_output *from = find_rank(output, rank);
    int                 i;

    for (i = 0; i < 2; i++)
        output_end(output, rank, i == 0 ? STREAM_STDOUT : STREAM_STDERR);
    tail_clear(&from->tail);
    from->tail = (struct tail){ 0 };
    free(from->file);
    from->file = file != NULL ? xstrdup(file) : NULL;
}

void output_bytes(struct output *output, int rank, enum frame_stream stream,
                  const void *bytes, size_t size)
{
    struct rank_output *from = find_rank(output, rank);
    bool                is_stderr = stream == STREAM_STDERR;
    struct buffer       raw = { 0 };

    if (from == NULL || size == 0)
        return;
    tail_add(&from->tail, is_stderr, bytes, size);
    if (!from->shown) {
        mailbox_give(output->mailbox, from->node, size);
    } else if (from->stream[is_stderr].source.is_raw) {
        buffer_add(&raw, bytes, size);
        writer_add(output->writer[0], &from->stream[0].source, &raw, size);
    } else if (output->is_folding) {
        fold_bytes(output, from, is_stderr, bytes, size);
    } else {
        show_bytes(output, from, is_stderr, bytes, size, size);
    }
}

void output_end(struct output *output, int rank, enum frame_stream stream)
{
    struct rank_output *from = find_rank(output, rank);

    if (from != NULL && !output->is_folding)
        show_rest(output, from, stream == STREAM_STDERR);
}

void output_own(struct output *output, const char *line, size_t size)
{
    struct pollfd room = { .fd = output->settings.err_fd, .events = POLLOUT };

    if (!output->is_finished && !output->is_err_closed)
        writer_own(output->writer[1], line, size);
    else if (poll(&room, 1, OWN_WAIT_MS) > 0)
        (void)!write(output->settings.err_fd, line, size);
}

void output_progress(struct output *output, const char *text)
{
    if (output->settings.filter_err && !output->is_finished && log_wants(LOG_WARN))
        writer_progress(output->writer[1], text != NULL ? text : "");
}

void output_tail(const struct output *output, int rank, struct strlist *lines)
{
    const struct rank_output *from = find_rank(output, rank);

    if (from != NULL)
        tail_lines(&from->tail, OUTPUT_TAIL_LINES, lines);
}

static struct rank_output *find_rank(const struct output *output, int rank)
{
    return rank >= 0 && rank < output->ranks ? output->rank[rank] : NULL;
}

size_t output_waiting(const struct output *output)
{
    size_t waiting = writer_waiting(output->writer[0]);

    if (output->writer[1] != output->writer[0])
        waiting += writer_waiting(output->writer[1]);
    return waiting + output->held + output->folded + shared_lines_waiting(output->shared);
}

double output_stuck_s(const struct output *output)
{
    double out_s = writer_stuck_s(output->writer[0]), err_s = writer_stuck_s(output->writer[1]);

    return out_s > err_s ? out_s : err_s;
}

void output_give_up(struct output *output, double patience_s)
{
    int i;

    for (i = 0; i < 2; i++) {
        double stuck_s = writer_stuck_s(output->writer[i]);

        if (stuck_s > 0 && stuck_s >= patience_s)
            writer_finish(output->writer[i], 0);
    }
}

/* The writer of stderr stays open until the one of stdout has ended: until then muster may have
 * to print messages. */
void output_close(struct output *output)
{
    int rank, i;

    if (output->is_closed)
        return;
    output->is_closed = true;
    if (output->is_folding)
        print_folded(output);
    for (i = 0; i < 2; i++) {
        for (rank = 0; rank < output->ranks; rank++)
            if (output->rank[rank] != NULL)
                show_rest(output, output->rank[rank], i);
        show_rest(output, &output->plain, i);
    }
    shared_lines_flush(output->shared);
    output_progress(output, "");
    writer_close(output->writer[0]);
}

bool output_is_written(struct output *output)
{
    if (!output->is_closed || !writer_is_over(output->writer[0]))
        return false;
    output->is_err_closed = true;
    writer_close(output->writer[1]);
    return writer_is_over(output->writer[1]);
}

uint64_t output_unread(const struct output *output)
{
    uint64_t unread = writer_unread(output->writer[0]) + shared_lines_waiting(output->shared);

    if (output->writer[1] != output->writer[0])
        unread += writer_unread(output->writer[1]);
    return unread;
}

uint64_t output_finish(struct output *output, double patience_s)
{
    if (output->is_finished)
        return output->lost;
    output_close(output);
    output->lost = writer_finish(output->writer[0], patience_s);
    if (output->writer[1] != output->writer[0])
        output->lost += writer_finish(output->writer[1], patience_s);
    output->is_finished = true;
    mailbox_settle(output->mailbox);
    return output->lost;
}

void output_free(struct output *output)
{
    struct rank_output *gone;
    int                 rank;

    if (output == NULL)
        return;
    output_finish(output, 0);
    writer_free(output->writer[0]);
    if (output->writer[1] != output->writer[0])
        writer_free(output->writer[1]);
    shared_lines_free(output->shared);
    for (rank = 0; rank < output->ranks; rank++)
        rank_free(output->rank[rank]);
    while ((gone = output->retired) != NULL) {
        output->retired = gone->retired;
        rank_free(gone);
    }
    rank_clear(&output->plain);
    event_free(output->unfinished_timer);
    mailbox_free(output->mailbox);
    free(output->rank);
    free(output);
}

static void rank_free(struct rank_output *rank)
{
    if (rank != NULL)
        rank_clear(rank);
    free(rank);
}

static void rank_clear(struct rank_output *rank)
{
    int i;

    for (i = 0; i < 2; i++) {
        linebuf_clear(&rank->stream[i].line);
        buffer_clear(&rank->stream[i].folded);
    }
    tail_clear(&rank->tail);
    free(rank->host);
    free(rank->label);
    free(rank->file);
}

/* --- folding ---------------------------------------------------------------- */

static void fold_bytes(struct output *output, struct rank_output *rank, bool is_stderr,
                       const char *bytes, size_t size)
{
    buffer_add(&rank->stream[is_stderr].folded, bytes, size);
    output->folded += size;
    mailbox_give(output->mailbox, rank->node, size);
    if (output->folded > OUTPUT_FOLD_MAX)
        unfold(output);
}

static void unfold(struct output *output)
{
    char note[128];
    int  rank, i;

    snprintf(note, sizeof note,
             "muster: more than %zu MiB of output: printing it as it comes, not folded\n",
             OUTPUT_FOLD_MAX >> 20);
    output_own(output, note, strlen(note));
    output->is_folding = false;
    for (rank = 0; rank < output->ranks; rank++) {
        for (i = 0; output->rank[rank] != NULL && i < 2; i++) {
            struct buffer folded = output->rank[rank]->stream[i].folded;

            output->rank[rank]->stream[i].folded = (struct buffer){ 0 };
            output->folded -= folded.size;
            show_bytes(output, output->rank[rank], i, folded.bytes, folded.size, 0);
            buffer_clear(&folded);
        }
    }
}

/* At most two copies of the text are in memory at a time. */
static void print_folded(struct output *output)
{
    struct fold_item *items = xcalloc((size_t)output->ranks, sizeof *items);
    struct buffer     text = { 0 };
    int               rank, i;
    size_t            at, n;

    for (i = 0; i < 2; i++) {
        for (rank = 0; rank < output->ranks; rank++) {
            const struct rank_output *from = output->rank[rank];

            items[rank] = (struct fold_item){ .host = "" };
            if (from != NULL)
                items[rank] = (struct fold_item){ from->host, from->stream[i].folded.bytes,
                                                  from->stream[i].folded.size };
        }
        fold_write(items, (size_t)output->ranks, &text);
        clear_folded(output, i);
        for (at = 0; at < text.size; at += n) {
            n = text.size - at < FOLD_PIECE ? text.size - at : FOLD_PIECE;
            show_bytes(output, &output->plain, i, text.bytes + at, n, 0);
        }
        buffer_clear(&text);
    }
    free(items);
}

static void clear_folded(struct output *output, bool is_stderr)
{
    int rank;

    for (rank = 0; rank < output->ranks; rank++) {
        if (output->rank[rank] == NULL)
            continue;
        output->folded -= output->rank[rank]->stream[is_stderr].folded.size;
        buffer_clear(&output->rank[rank]->stream[is_stderr].folded);
    }
}

/* --- to the writer ---------------------------------------------------------- */

/* charge: credit that is given back when the bytes are written. Credit for bytes that the
 * linebuf holds is given back with the lines before them, or at once. Otherwise unfinished
 * lines could use up all credit, and their ends would never come. */
static void show_bytes(struct output *output, struct rank_output *rank, bool is_stderr,
                       const char *bytes, size_t size, size_t charge)
{
    struct stream *stream = &rank->stream[is_stderr];
    struct buffer  run = { 0 };
    struct timeval soon = clock_interval(UNFINISHED_S);

    output->held -= stream->line.held.size;
    linebuf_add(&stream->line, bytes, size, &run);
    if (output->held + stream->line.held.size > OUTPUT_HELD_MAX)
        linebuf_end(&stream->line, &run);
    output->held += stream->line.held.size;
    queue(output, rank, is_stderr, &run, charge);

    if (!(is_stderr ? output->settings.filter_err : output->settings.filter_out))
        return;
    if (stream->line.held.size > 0)
        output->unfinished = stream;
    if ((stream->line.held.size > 0 || prompt_of(output) != NULL) &&
        !evtimer_pending(output->unfinished_timer, NULL))
        xevent_add(output->unfinished_timer, &soon);
}

/* Returns the stream with a prompt for the user, or NULL. */
static struct stream *prompt_of(const struct output *output)
{
    struct rank_output *rank = output->prompting;
    int                 i;

    for (i = 0; rank != NULL && i < 2; i++)
        if (rank->stream[i].line.held.size > 0)
            return &rank->stream[i];
    return NULL;
}

static void queue(struct output *output, struct rank_output *rank, bool is_stderr,
                  struct buffer *run, size_t charge)
{
    bool is_skipped = run->size > 0 && must_skip(output, rank, is_stderr);

    if (is_skipped)
        rank->stream[is_stderr].skipped += run->size;
    if (is_skipped || run->size == 0) {
        mailbox_give(output->mailbox, rank->node, charge);
        buffer_clear(run);
        return;
    }
    tell_skipped(output, rank, is_stderr);
    shared_lines_put(output->shared, &rank->stream[is_stderr].source, run, charge);
}

/* Is the reader too far behind, and does a file have the bytes that it misses? Once lines are
 * skipped, the reader must first catch up by half, so that there are few gaps. */
static bool must_skip(const struct output *output, const struct rank_output *rank,
                      bool is_stderr)
{
    size_t limit = OUTPUT_SKIP_MAX / (rank->stream[is_stderr].skipped > 0 ? 2 : 1);

    return output->settings.may_skip && rank->file != NULL &&
           writer_waiting(output->writer[is_stderr]) > limit;
}

/* Ends a stream: prints its unfinished line and the last note about skipped bytes. The last
 * state of a progress bar becomes a line, unless bytes are passed on unchanged. */
static void show_rest(struct output *output, struct rank_output *rank, bool is_stderr)
{
    struct stream *stream = &rank->stream[is_stderr];
    struct buffer  run = { 0 };
    bool is_raw = stream->source.label_size == 0 && !stream->source.is_timed &&
                  !(is_stderr ? output->settings.filter_err : output->settings.filter_out);

    output->held -= stream->line.held.size;
    linebuf_end(&stream->line, &run);
    if (run.size > 0 && run.bytes[run.size - 1] == '\r' && !is_raw)
        buffer_add_text(&run, "\n");
    tell_skipped(output, rank, is_stderr);
    if (run.size > 0)
        shared_lines_put(output->shared, &stream->source, &run, 0);
    buffer_clear(&run);
}

/* Notes before the next line of a stream how many of its bytes were dropped. */
static void tell_skipped(struct output *output, struct rank_output *rank, bool is_stderr)
{
    struct stream *stream = &rank->stream[is_stderr];
    struct buffer  note = { 0 };
    char           text[64];

    if (stream->skipped == 0)
        return;
    snprintf(text, sizeof text, "... %" PRIu64 " bytes skipped, see ", stream->skipped);
    buffer_add_text(&note, text);
    buffer_add_text(&note, rank->file);
    buffer_add_text(&note, "\n");
    shared_lines_put(output->shared, &stream->source, &note, 0);
    stream->skipped = 0;
}

/* Shows a prompt, dots, or a bar without a line end as it is, although it may still grow. */
static void unfinished_cb(evutil_socket_t fd, short what, void *arg)
{
    struct output       *output = arg;
    struct stream       *prompt = prompt_of(output);
    struct stream       *stream = prompt != NULL ? prompt : output->unfinished;
    const struct buffer *held = stream != NULL ? &stream->line.held : NULL;
    size_t               size = held == NULL ? 0 : held->size;
    struct timeval       soon = clock_interval(UNFINISHED_S);

    (void)fd, (void)what;
    if (stream != NULL)
        shared_lines_flush_rank(output->shared, &stream->source);
    size = size < UNFINISHED_MAX ? size : UNFINISHED_MAX;
    if (size > 0 && held->bytes[size - 1] == '\r')
        size--;
    if (size > 0 && !writer_unfinished(output->writer[stream->source.is_stderr],
                                       &stream->source, held->bytes, size))
        xevent_add(output->unfinished_timer, &soon);
}

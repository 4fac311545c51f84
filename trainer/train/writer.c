/* writer.c - see writer.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "train/writer.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "thread.h"
#include "train/checkpoint_list.h"
#include "xalloc.h"

struct writer {
    char              *dir, *tag, *note;
    struct shard_info  info;
    struct zero_piece *pieces;
    int                count;
    float             *copy; /* NULL: the pieces point to the caller's data */

    pthread_t    thread;
    bool         is_running;
    atomic_bool  is_done;
    int          rc;  /* only the thread uses rc and err until is_done */
    struct error err, complaint;
    int64_t      keep;
    bool         is_best;
};

static int    copy_pieces(struct writer *writer, struct error *err);
static int    start(struct writer *writer, void *(*run)(void *arg), struct error *err);
static void  *write_shard(void *arg);
static void  *commit(void *arg);

struct writer *writer_new(const char *dir, const char *tag, const struct shard_info *info,
                          const struct zero_piece *pieces, int count, bool is_copied,
                          struct error *err)
{
    struct writer *writer = xcalloc(1, sizeof *writer);

    writer->dir = xstrdup(dir);
    writer->tag = xstrdup(tag);
    writer->note = xstrdup(info->note);
    writer->info = *info;
    writer->info.note = writer->note;
    writer->pieces = xcalloc((size_t)count + 1, sizeof *pieces);
    writer->count = count;
    if (count > 0)
        memcpy(writer->pieces, pieces, (size_t)count * sizeof *pieces);
    if (!is_copied || copy_pieces(writer, err) == 0)
        return writer;
    writer_free(writer);
    return NULL;
}

/* Copies the data of the pieces, and makes them point to the copy. */
static int copy_pieces(struct writer *writer, struct error *err)
{
    size_t total = 0;
    float *at;
    int    i;

    for (i = 0; i < writer->count; i++)
        total += writer->pieces[i].count;
    at = writer->copy = xreallocarray(NULL, 3 * total + 1, sizeof *at);
    for (i = 0; i < writer->count; i++) {
        struct zero_piece from = writer->pieces[i];
        struct zero_piece to = { .start = from.start, .count = from.count, .param = at,
                                 .mean = at + from.count, .square = at + 2 * from.count };
        const size_t      bytes = from.count * sizeof *at;

        if (zero_piece_take(&from, err) < 0)
            return -1;
        memcpy(to.param, from.param, bytes);
        memcpy(to.mean, from.mean, bytes);
        memcpy(to.square, from.square, bytes);
        zero_piece_give(&from, false);
        writer->pieces[i] = to;
        at += 3 * from.count;
    }
    return 0;
}

void writer_free(struct writer *writer)
{
    if (writer == NULL)
        return;
    if (writer->is_running)
        pthread_join(writer->thread, NULL);
    free(writer->copy);
    free(writer->pieces);
    free(writer->note);
    free(writer->tag);
    free(writer->dir);
    free(writer);
}

int writer_write(struct writer *writer, struct error *err)
{
    return start(writer, write_shard, err);
}

int writer_commit(struct writer *writer, int64_t keep, bool is_best, struct error *err)
{
    writer->is_best = is_best;
    writer->keep = keep;
    return start(writer, commit, err);
}

static int start(struct writer *writer, void *(*run)(void *arg), struct error *err)
{
    int code;

    writer->is_done = false;
    code = thread_start(&writer->thread, run, writer);
    writer->is_running = code == 0;
    return code == 0 ? 0
                     : err_set(err, "cannot start a thread to write a checkpoint: %s",
                               strerror(code));
}

static void *write_shard(void *arg)
{
    struct writer *writer = arg;

    writer->rc = checkpoint_write(writer->dir, writer->tag, &writer->info, writer->pieces,
                                  writer->count, &writer->err);
    writer->is_done = true;
    return NULL;
}

/* A checkpoint that cannot be deleted does no harm to the training. */
static void *commit(void *arg)
{
    struct writer *writer = arg;
    struct error   err;

    writer->rc = checkpoint_commit(writer->dir, writer->tag, writer->info.ranks,
                                   writer->is_best, &writer->err);
    if (writer->rc == 0 && writer->keep > 0 &&
        checkpoint_list_prune(writer->dir, writer->keep, &err) < 0)
        writer->complaint = err;
    writer->is_done = true;
    return NULL;
}

bool writer_is_done(const struct writer *writer)
{
    return writer->is_done;
}

int writer_wait(struct writer *writer, struct error *err)
{
    if (writer->is_running)
        pthread_join(writer->thread, NULL);
    writer->is_running = false;
    return writer->rc < 0 ? err_set(err, "%s", writer->err.text) : 0;
}

const char *writer_tag(const struct writer *writer)
{
    return writer->tag;
}

const char *writer_complaint(const struct writer *writer)
{
    return writer->complaint.text;
}

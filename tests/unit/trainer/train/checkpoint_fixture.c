/* checkpoint_fixture.c - see checkpoint_fixture.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "train/checkpoint.h"
#include "train/writer.h"
#include "unit/trainer/train/checkpoint_fixture.h"
#include "xalloc.h"
#include "zero/partition.h"

#define LAYERS 6

static const size_t layers[LAYERS] = { 120000, 32, 60000, 60000, 59000, 968 };

char saves[] = "/tmp/test_checkpoint.XXXXXX";

/* What element i of an array has at a step. */
static float value(int array, uint64_t i, int step)
{
    return (float)((i * 2654435761u + (uint64_t)(array * 77 + step * 1013)) % 1000003);
}

struct share share_new(int rank, int ranks, size_t bucket_max, int step)
{
    struct partition       p;
    struct partition_range range;
    struct zero_piece     *piece;
    struct share           share;
    int                    i;
    size_t                 at;

    partition_init(&p, layers, LAYERS, ranks, bucket_max);
    share.count = p.buckets;
    share.piece = xcalloc((size_t)p.buckets, sizeof *share.piece);
    for (i = 0; i < p.buckets; i++) {
        range = partition_range(&p, i, rank);
        piece = &share.piece[i];
        piece->start = range.start;
        piece->count = range.count;
        piece->param = xcalloc(range.count + 1, sizeof(float));
        piece->mean = xcalloc(range.count + 1, sizeof(float));
        piece->square = xcalloc(range.count + 1, sizeof(float));
        for (at = 0; at < range.count && step >= 0; at++) {
            piece->param[at] = value(0, range.start + at, step);
            piece->mean[at] = value(1, range.start + at, step);
            piece->square[at] = value(2, range.start + at, step);
        }
    }
    partition_clear(&p);
    return share;
}

static bool share_is(const struct share *share, int step)
{
    const struct zero_piece *piece;
    size_t                   at;
    int                      i;

    for (i = 0; i < share->count; i++) {
        piece = &share->piece[i];
        for (at = 0; at < piece->count; at++)
            if (piece->param[at] != value(0, piece->start + at, step) ||
                piece->mean[at] != value(1, piece->start + at, step) ||
                piece->square[at] != value(2, piece->start + at, step))
                return false;
    }
    return true;
}

void share_clear(struct share *share)
{
    int i;

    for (i = 0; i < share->count; i++) {
        free(share->piece[i].param);
        free(share->piece[i].mean);
        free(share->piece[i].square);
    }
    free(share->piece);
}

static char *tag_of(int step)
{
    return xasprintf("global_step%d", step);
}

int checkpoint_save(int ranks, int step, struct error *err)
{
    char             *tag = tag_of(step), *note = xasprintf("step %d", step);
    struct shard_info info = { .total = TOTAL, .model = MODEL, .ranks = ranks, .note = note };
    struct share      share;
    int               rc = checkpoint_begin(saves, tag, err);

    for (info.rank = 0; info.rank < ranks && rc == 0; info.rank++) {
        share = share_new(info.rank, ranks, 70000, step);
        rc = checkpoint_write(saves, tag, &info, share.piece, share.count, err);
        share_clear(&share);
    }
    if (rc == 0)
        rc = checkpoint_commit(saves, tag, ranks, false, err);
    free(tag);
    free(note);
    return rc;
}

int checkpoint_save_behind(int ranks, int step, struct error *err)
{
    char             *tag = tag_of(step), *note = xasprintf("step %d", step);
    struct shard_info info = { .total = TOTAL, .model = MODEL, .ranks = ranks, .note = note };
    struct writer    *writer[RANKS_BEHIND];
    struct share      share;
    int               rc = checkpoint_begin(saves, tag, err);

    assert_true(ranks <= RANKS_BEHIND);
    for (info.rank = 0; info.rank < ranks; info.rank++) {
        share = share_new(info.rank, ranks, 70000, step);
        writer[info.rank] = writer_new(saves, tag, &info, share.piece, share.count, true, err);
        share_clear(&share);
        if (rc == 0)
            rc = writer_write(writer[info.rank], err);
    }
    free(tag);
    free(note);
    for (info.rank = 0; info.rank < ranks && rc == 0; info.rank++)
        rc = writer_wait(writer[info.rank], err);
    if (rc == 0)
        rc = writer_commit(writer[0], 0, false, err);
    if (rc == 0)
        rc = writer_wait(writer[0], err);
    assert_true(rc < 0 || writer_is_done(writer[0]));
    for (info.rank = 0; info.rank < ranks; info.rank++)
        writer_free(writer[info.rank]);
    return rc;
}

int checkpoint_load(int ranks, int step, struct error *err)
{
    char              *tag = tag_of(step), *note = xasprintf("step %d", step);
    struct checkpoint *checkpoint = checkpoint_open(saves, tag, TOTAL, MODEL, err);
    struct share       share;
    int                rank, rc = checkpoint != NULL ? 0 : -1;

    if (rc == 0)
        assert_string_equal(checkpoint_note(checkpoint), note);
    for (rank = 0; rank < ranks && rc == 0; rank++) {
        share = share_new(rank, ranks, rank % 2 ? 0 : 200000, -1);
        rc = checkpoint_read(checkpoint, share.piece, share.count, err);
        if (rc == 0)
            assert_true(share_is(&share, step));
        share_clear(&share);
    }
    checkpoint_close(checkpoint);
    free(tag);
    free(note);
    return rc;
}

void checkpoint_remove_all(void)
{
    char *command = xasprintf("rm -rf %s/*", saves);

    assert_int_equal(system(command), 0);
    free(command);
}

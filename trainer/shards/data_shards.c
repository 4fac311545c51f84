/* data_shards.c - see data_shards.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "shards/data_shards.h"

#include <muster.h>
#include <stdlib.h>
#include <string.h>

#include "xalloc.h"

/* Steps and checkpoints may take long, so leases practically never expire: muster takes shards
 * back when a rank exits. */
#define SETTINGS "lease=1000d retries=1000000"

struct data_shards {
    struct muster_shards *shards;
    struct muster_shard  *held; /* taken and not done, the oldest first */
    size_t                count, room, marked;
    int64_t               micro; /* samples per shard */
    int64_t               seen;  /* the checkpoint includes all shards below this number */
};

static int check(int64_t done, int64_t seen, bool is_restart, struct error *err);

struct data_shards *data_shards_open(int64_t samples, int64_t micro, const struct data_seen *seen,
                                     bool is_restart, struct error *err)
{
    struct muster_shards *opened = muster_shards_open("samples", samples, micro, SETTINGS);
    struct data_shards   *shards;
    int64_t               done = opened != NULL ? muster_shards_count(opened, "done") : -1;

    if (done < 0)
        err_set(err, "--data-shards: %s", muster_error());
    else if (check(done * micro, seen->samples, is_restart, err) < 0)
        done = -1;
    if (done < 0) {
        muster_shards_close(opened);
        return NULL;
    }
    shards = xcalloc(1, sizeof *shards);
    shards->shards = opened;
    shards->micro = micro;
    shards->seen = seen->shards;
    return shards;
}

/* Accepts fewer done samples than the checkpoint has: a run that is killed just after a
 * checkpoint may not have reported them to muster. */
static int check(int64_t done, int64_t seen, bool is_restart, struct error *err)
{
    if (done > seen)
        return err_set(err,
                       "--data-shards: %lld samples are done, but the checkpoint includes only "
                       "%lld: continue from a later checkpoint, or start another run without "
                       "--shards-resume",
                       (long long)done, (long long)seen);
    if (done == 0 && seen > 0 && !is_restart)
        return err_set(err,
                       "--data-shards: the checkpoint includes %lld samples, but muster has "
                       "none marked as done; start with muster --shards-resume=RUN",
                       (long long)seen);
    return 0;
}

void data_shards_close(struct data_shards *shards)
{
    if (shards == NULL)
        return;
    muster_shards_close(shards->shards);
    free(shards->held);
    free(shards);
}

int data_shards_take(struct data_shards *shards, uint64_t *first, struct error *err)
{
    struct muster_shard shard;
    int                 rc;

    while ((rc = muster_shards_next(shards->shards, &shard)) > 0 && shard.id < shards->seen)
        if (muster_shards_done(shards->shards, &shard) < 0)
            return err_set(err, "--data-shards: %s", muster_error());
    if (rc <= 0)
        return err_set(err, "--data-shards: %s",
                       rc < 0 ? muster_error()
                              : "no samples are left; is this an old checkpoint?");
    if (shards->count == shards->room) {
        shards->room = shards->room == 0 ? 64 : 2 * shards->room;
        shards->held = xreallocarray(shards->held, shards->room, sizeof *shards->held);
    }
    shards->held[shards->count++] = shard;
    *first = (uint64_t)shard.start;
    return 0;
}

int64_t data_shards_seen(struct data_shards *shards, int64_t samples, struct error *err)
{
    int64_t given = muster_shards_count(shards->shards, "given");
    int64_t again = muster_shards_count(shards->shards, "again");

    if (given < 0 || again < 0)
        return err_set(err, "--data-shards: %s", muster_error());
    return again == 0 && given * shards->micro == samples ? given : 0;
}

void data_shards_mark(struct data_shards *shards)
{
    shards->marked = shards->count;
}

int data_shards_done(struct data_shards *shards, struct error *err)
{
    size_t i;

    for (i = 0; i < shards->marked; i++)
        if (muster_shards_done(shards->shards, &shards->held[i]) < 0)
            return err_set(err, "--data-shards: %s", muster_error());
    shards->count -= shards->marked;
    memmove(shards->held, shards->held + shards->marked, shards->count * sizeof *shards->held);
    shards->marked = 0;
    return 0;
}

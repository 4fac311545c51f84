/* checkpoint.c - see checkpoint.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "train/checkpoint.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file.h"
#include "train/checkpoint_list.h"
#include "xalloc.h"

#define ASIDE   ".tmp"
#define LATEST  "latest"
#define BEST    "best"
#define TAG_RUN "tag_of_run" /* contains the id of the run whose --tag latest was set to */
#define TAG_MAX 200

struct checkpoint {
    int            ranks;
    struct shard **shard, *open; /* open: the shard that was read last */
};

static int   judge_tag(const char *tag, struct error *err);
static void  remove_unfinished(const char *dir);
static void  remove_shards(const char *path);
static char *shard_path(const char *dir, const char *tag, const char *suffix, int rank);
static int   give_name(const char *aside, const char *path, struct error *err);
static int   write_name(const char *dir, const char *name, const char *text, struct error *err);
static int   sync_path(const char *path, struct error *err);
static int   fail_at(const char *path, struct error *err);
static char *only_one(const char *dir, bool *is_none, struct error *err);
static int   open_shards(struct checkpoint *checkpoint, const char *dir, const char *tag,
                         struct error *err);
static int   judge_shard(const struct shard *shard, const struct shard *first, int rank,
                         struct error *err);
static int   judge_cover(const struct checkpoint *checkpoint, struct error *err);
static int   compare_starts(const void *a, const void *b);
static int   read_piece(struct checkpoint *checkpoint, const struct zero_piece *piece,
                        struct error *err);

/* ---- saving ---- */

int checkpoint_begin(const char *dir, const char *tag, struct error *err)
{
    char *aside;
    int   rc = 0;

    if (judge_tag(tag, err) < 0)
        return -1;
    if (mkdir(dir, 0777) < 0 && errno != EEXIST)
        return fail_at(dir, err);
    remove_unfinished(dir);
    aside = xasprintf("%s/%s" ASIDE, dir, tag);
    if (mkdir(aside, 0777) < 0)
        rc = fail_at(aside, err);
    free(aside);
    return rc;
}

/* A tag must be the name of a directory in DIR, and fit on one line of text. */
static int judge_tag(const char *tag, struct error *err)
{
    static const char fine[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                               "._-+=";
    const size_t size = strlen(tag), suffix = strlen(ASIDE);

    if (size == 0 || size > TAG_MAX || tag[0] == '.' || strspn(tag, fine) != size ||
        strcmp(tag, LATEST) == 0 || strcmp(tag, BEST) == 0 ||
        strcmp(tag, TAG_RUN) == 0 ||
        (size > suffix && strcmp(tag + size - suffix, ASIDE) == 0))
        return err_set(err, "'%s' cannot name a checkpoint", tag);
    return 0;
}

/* Removes only directories with the suffix of unfinished checkpoints, and in them only
 * shards. */
static void remove_unfinished(const char *dir)
{
    DIR           *listing = opendir(dir);
    struct dirent *entry;
    char          *path;
    size_t         size;

    while (listing != NULL && (entry = readdir(listing)) != NULL) {
        size = strlen(entry->d_name);
        if (size <= strlen(ASIDE) || strcmp(entry->d_name + size - strlen(ASIDE), ASIDE) != 0)
            continue;
        path = xasprintf("%s/%s", dir, entry->d_name);
        remove_shards(path);
        free(path);
    }
    if (listing != NULL)
        closedir(listing);
}

static void remove_shards(const char *path)
{
    DIR           *listing = opendir(path);
    struct dirent *entry;

    if (listing == NULL)
        return;
    while ((entry = readdir(listing)) != NULL)
        if (strncmp(entry->d_name, "shard-", strlen("shard-")) == 0)
            unlinkat(dirfd(listing), entry->d_name, 0);
    closedir(listing);
    rmdir(path);
}

int checkpoint_write(const char *dir, const char *tag, const struct shard_info *info,
                     const struct zero_piece *pieces, int count, struct error *err)
{
    char *path = shard_path(dir, tag, ASIDE, info->rank);
    int   rc = shard_write(path, info, pieces, count, err);

    free(path);
    return rc;
}

static char *shard_path(const char *dir, const char *tag, const char *suffix, int rank)
{
    return xasprintf("%s/%s%s/shard-%05d", dir, tag, suffix, rank);
}

int checkpoint_commit(const char *dir, const char *tag, int ranks, bool is_best,
                      struct error *err)
{
    char *aside = xasprintf("%s/%s" ASIDE, dir, tag), *path = xasprintf("%s/%s", dir, tag);
    char *shard;
    int   rank, rc = 0;

    for (rank = 0; rank < ranks && rc == 0; rank++) {
        shard = shard_path(dir, tag, ASIDE, rank);
        if (access(shard, F_OK) < 0)
            rc = err_set(err, "%s: %s; is %s on a file system that all nodes share?", shard,
                         strerror(errno), dir);
        free(shard);
    }
    if (rc == 0)
        rc = sync_path(aside, err);
    if (rc == 0)
        rc = give_name(aside, path, err);
    if (rc == 0)
        rc = sync_path(dir, err);
    if (rc == 0)
        rc = is_best ? write_name(dir, BEST, tag, err) : 0;
    if (rc == 0)
        rc = checkpoint_point_latest(dir, tag, NULL, err);
    free(aside);
    free(path);
    return rc;
}

/* If path exists, exchanges both, so that a checkpoint of this name exists at all times. */
static int give_name(const char *aside, const char *path, struct error *err)
{
    if (renameat2(AT_FDCWD, aside, AT_FDCWD, path, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno == EINVAL && access(path, F_OK) < 0 && rename(aside, path) == 0)
        return 0; /* this file system does not support renameat2's flags */
    if (access(path, F_OK) < 0)
        return fail_at(path, err);
    if (renameat2(AT_FDCWD, aside, AT_FDCWD, path, RENAME_EXCHANGE) < 0)
        return fail_at(path, err);
    remove_shards(aside);
    return 0;
}

int checkpoint_remove(const char *dir, const char *tag, struct error *err)
{
    char *path = xasprintf("%s/%s", dir, tag), *aside = xasprintf("%s" ASIDE, path);
    int   rc = rename(path, aside) < 0 || sync_path(dir, err) < 0 ? fail_at(path, err) : 0;

    if (rc == 0)
        remove_shards(aside);
    free(aside);
    free(path);
    return rc;
}

int checkpoint_point_latest(const char *dir, const char *tag, const char *run, struct error *err)
{
    int rc = write_name(dir, LATEST, tag, err);

    return rc < 0 || run == NULL ? rc : write_name(dir, TAG_RUN, run, err);
}

bool checkpoint_was_pointed(const char *dir, const char *run)
{
    char  *path = xasprintf("%s/" TAG_RUN, dir);
    size_t size;
    char  *text = file_read_at_once(path, TAG_MAX + 2, &size, NULL);
    bool   was = text != NULL && size > 0 && strcspn(text, "\n") == strlen(run) &&
               strncmp(text, run, strlen(run)) == 0;

    free(text);
    free(path);
    return was;
}

/* Writes text to the file name in dir, atomically by rename. */
static int write_name(const char *dir, const char *name, const char *text, struct error *err)
{
    char *path = xasprintf("%s/%s", dir, name), *aside = xasprintf("%s" ASIDE, path);
    FILE *file = fopen(aside, "we");
    int   rc = 0;

    if (file == NULL || fprintf(file, "%s\n", text) < 0 || fflush(file) != 0 ||
        fsync(fileno(file)) < 0)
        rc = fail_at(aside, err);
    if (file != NULL && fclose(file) != 0 && rc == 0)
        rc = fail_at(aside, err);
    if (rc == 0 && rename(aside, path) < 0)
        rc = fail_at(path, err);
    if (rc == 0)
        rc = sync_path(dir, err);
    free(path);
    free(aside);
    return rc;
}

/* Syncs a file or directory; syncing a directory puts its names on the disk. */
static int sync_path(const char *path, struct error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC), rc = 0;

    if (fd < 0)
        return fail_at(path, err);
    if (fsync(fd) < 0 && errno != EINVAL) /* EINVAL: this file system does not support it */
        rc = fail_at(path, err);
    close(fd);
    return rc;
}

static int fail_at(const char *path, struct error *err)
{
    return err_set(err, "%s: %s", path, strerror(errno));
}

/* ---- loading ---- */

char *checkpoint_latest(const char *dir, bool *is_none, struct error *err)
{
    char  *path = xasprintf("%s/" LATEST, dir), *tag = NULL;
    size_t size;

    *is_none = false;
    if (access(path, F_OK) < 0 && errno == ENOENT)
        tag = only_one(dir, is_none, err);
    else
        tag = file_read_at_once(path, TAG_MAX + 2, &size, err);
    if (tag != NULL) {
        tag[strcspn(tag, "\n")] = '\0';
        if (judge_tag(tag, err) < 0) {
            err_set(err, "%s: %s", path, err->text);
            free(tag);
            tag = NULL;
        }
    }
    free(path);
    return tag;
}

/* Returns the checkpoint that latest does not name. If there are several, latest was lost, and
 * a training from the start would overwrite them. If there is one, latest may never have been
 * there, since it is written after the first checkpoint has got its name. */
static char *only_one(const char *dir, bool *is_none, struct error *err)
{
    struct checkpoint_list list;
    char                  *tag = NULL;

    checkpoint_list_read(&list, dir);
    *is_none = list.count == 0;
    if (list.count == 0) {
        err_set(err, "%s/" LATEST ": no checkpoint", dir);
    } else if (list.count == 1) {
        tag = xstrdup(list.item[0].tag);
    } else {
        const char *last = list.item[list.count - 1].tag;

        err_set(err, "%s: there are %s%s and %s, but no file " LATEST " that names one of them: "
                     "continue with --tag %s, or give another --checkpoint_dir", dir,
                list.count > 2 ? "..., " : "", list.item[list.count - 2].tag, last, last);
    }
    checkpoint_list_clear(&list);
    return tag;
}

char *checkpoint_best(const char *dir)
{
    char  *path = xasprintf("%s/" BEST, dir);
    size_t size;
    char  *tag = file_read_at_once(path, TAG_MAX + 2, &size, NULL);

    if (tag != NULL)
        tag[strcspn(tag, "\n")] = '\0';
    free(path);
    return tag;
}

struct checkpoint *checkpoint_open(const char *dir, const char *tag, uint64_t total,
                                   uint64_t model, struct error *err)
{
    struct checkpoint       *checkpoint = xcalloc(1, sizeof *checkpoint);
    const struct shard_info *info;

    if (judge_tag(tag, err) == 0 && open_shards(checkpoint, dir, tag, err) == 0 &&
        judge_cover(checkpoint, err) == 0) {
        info = &checkpoint->shard[0]->info;
        if (info->total == total && info->model == model)
            return checkpoint;
        err_set(err, "%s/%s: this checkpoint belongs to another model", dir, tag);
    }
    checkpoint_close(checkpoint);
    return NULL;
}

/* Opens all shards; the first one says how many there are. */
static int open_shards(struct checkpoint *checkpoint, const char *dir, const char *tag,
                       struct error *err)
{
    struct shard *shard;
    char         *path;
    int           rank, ranks = 1;

    for (rank = 0; rank < ranks; rank++) {
        path = shard_path(dir, tag, "", rank);
        shard = shard_open(path, err);
        free(path);
        if (shard == NULL)
            return -1;
        checkpoint->shard = xreallocarray(checkpoint->shard, (size_t)rank + 1,
                                          sizeof(struct shard *));
        checkpoint->shard[checkpoint->ranks++] = shard;
        ranks = checkpoint->shard[0]->info.ranks;
        if (judge_shard(shard, checkpoint->shard[0], rank, err) < 0)
            return -1;
    }
    return 0;
}

static int judge_shard(const struct shard *shard, const struct shard *first, int rank,
                       struct error *err)
{
    const struct shard_info *a = &shard->info, *b = &first->info;

    if (a->ranks > CHECKPOINT_RANKS_MAX)
        return err_set(err, "%s: from more than %d ranks", shard->path, CHECKPOINT_RANKS_MAX);
    if (a->rank != rank || a->ranks != b->ranks || a->total != b->total ||
        a->model != b->model || strcmp(a->note, b->note) != 0)
        return err_set(err, "%s and %s belong to different checkpoints", shard->path,
                       first->path);
    return 0;
}

/* Checks that the shards together contain each element of the model once. */
static int judge_cover(const struct checkpoint *checkpoint, struct error *err)
{
    struct shard_range *all = NULL;
    uint64_t            end = 0;
    size_t              count = 0, i;
    int                 rank, rc = 0;

    for (rank = 0; rank < checkpoint->ranks; rank++) {
        const struct shard *shard = checkpoint->shard[rank];

        all = xreallocarray(all, count + shard->ranges + 1, sizeof *all);
        if (shard->ranges > 0)
            memcpy(all + count, shard->range, shard->ranges * sizeof *all);
        count += shard->ranges;
    }
    if (count > 0)
        qsort(all, count, sizeof *all, compare_starts);
    for (i = 0; i < count && all[i].start == end; i++)
        end += all[i].count;
    if (i < count || end != checkpoint->shard[0]->info.total)
        rc = err_set(err,
                     "%s: the shards of this checkpoint do not cover the model: element %llu",
                     checkpoint->shard[0]->path, (unsigned long long)end);
    free(all);
    return rc;
}

/* At the same start, empty ranges come first. */
static int compare_starts(const void *a, const void *b)
{
    const struct shard_range *x = a, *y = b;

    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->count < y->count ? -1 : x->count > y->count;
}

void checkpoint_close(struct checkpoint *checkpoint)
{
    int rank;

    if (checkpoint == NULL)
        return;
    for (rank = 0; rank < checkpoint->ranks; rank++)
        shard_close(checkpoint->shard[rank]);
    free(checkpoint->shard);
    free(checkpoint);
}

int checkpoint_ranks(const struct checkpoint *checkpoint)
{
    return checkpoint->ranks;
}

const char *checkpoint_note(const struct checkpoint *checkpoint)
{
    return checkpoint->shard[0]->info.note;
}

int checkpoint_read(struct checkpoint *checkpoint, struct zero_piece *pieces, int count,
                    struct error *err)
{
    int i, rc;

    for (i = 0; i < count; i++) {
        if (zero_piece_take(&pieces[i], err) < 0)
            return -1;
        rc = read_piece(checkpoint, &pieces[i], err);
        zero_piece_give(&pieces[i], true);
        if (rc < 0)
            return -1;
    }
    return 0;
}

/* Keeps only the last shard open, because the next piece is often in the same shard. */
static int read_piece(struct checkpoint *checkpoint, const struct zero_piece *piece,
                      struct error *err)
{
    struct shard *shard;
    int           rank;

    for (rank = 0; rank < checkpoint->ranks; rank++) {
        shard = checkpoint->shard[rank];
        if (shard_read(shard, piece, err) < 0)
            return -1;
        if (shard->fd < 0 || shard == checkpoint->open)
            continue;
        if (checkpoint->open != NULL)
            shard_rest(checkpoint->open);
        checkpoint->open = shard;
    }
    return 0;
}

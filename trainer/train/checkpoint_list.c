/* checkpoint_list.c - see checkpoint_list.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "train/checkpoint_list.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "number.h"
#include "train/checkpoint.h"
#include "xalloc.h"

#define PREFIX "global_step"

static void add(struct checkpoint_list *list, const char *dir, const char *name);
static int  compare(const void *a, const void *b);

void checkpoint_list_read(struct checkpoint_list *list, const char *dir)
{
    DIR           *listing = opendir(dir);
    struct dirent *entry;

    *list = (struct checkpoint_list){ .count = 0 };
    while (listing != NULL && (entry = readdir(listing)) != NULL)
        add(list, dir, entry->d_name);
    if (listing != NULL)
        closedir(listing);
    if (list->count > 1)
        qsort(list->item, list->count, sizeof *list->item, compare);
}

/* A directory without a shard is one of another program. */
static void add(struct checkpoint_list *list, const char *dir, const char *name)
{
    struct checkpoint_entry entry;
    struct stat             status;
    char                   *shard;
    int                     rc;

    if (strncmp(name, PREFIX, strlen(PREFIX)) != 0 ||
        parse_number(name + strlen(PREFIX), 0, INT64_MAX, &entry.step, NULL) < 0)
        return;
    shard = xasprintf("%s/%s/shard-00000", dir, name);
    rc = stat(shard, &status);
    free(shard);
    if (rc < 0)
        return;
    entry.written = status.st_mtim;
    entry.tag = xstrdup(name);
    list->item = xreallocarray(list->item, list->count + 1, sizeof *list->item);
    list->item[list->count++] = entry;
}

/* On a file system with coarse times, the later step is the newer one. */
static int compare(const void *a, const void *b)
{
    const struct checkpoint_entry *x = a, *y = b;

    if (x->written.tv_sec != y->written.tv_sec)
        return x->written.tv_sec < y->written.tv_sec ? -1 : 1;
    if (x->written.tv_nsec != y->written.tv_nsec)
        return x->written.tv_nsec < y->written.tv_nsec ? -1 : 1;
    return x->step < y->step ? -1 : x->step > y->step;
}

int checkpoint_list_prune(const char *dir, int64_t keep, struct error *err)
{
    struct checkpoint_list list;
    struct error           why;
    bool                   is_none;
    char                  *latest = checkpoint_latest(dir, &is_none, err);
    char                  *best = checkpoint_best(dir);
    size_t                 i;
    int                    rc = -1;

    if (latest == NULL)
        goto out;
    checkpoint_list_read(&list, dir);
    rc = 0;
    for (i = 0; i + (size_t)keep < list.count; i++)
        if (strcmp(list.item[i].tag, latest) != 0 &&
            (best == NULL || strcmp(list.item[i].tag, best) != 0) &&
            checkpoint_remove(dir, list.item[i].tag, &why) < 0)
            rc = err_set(err, "%s", why.text);
    checkpoint_list_clear(&list);
out:
    free(best);
    free(latest);
    return rc;
}

void checkpoint_list_clear(struct checkpoint_list *list)
{
    size_t i;

    for (i = 0; i < list->count; i++)
        free(list->item[i].tag);
    free(list->item);
    *list = (struct checkpoint_list){ .count = 0 };
}

/* checkpoint.c - can a run continue from the last checkpoint in this folder?
 *
 * A folder of DeepSpeed's checkpoints, and of muster-train's, has a file "latest" with the
 * name of the last checkpoint, which has one or more files per rank. Ranks may have
 * written to the disks of their own nodes, so a node may have the files of only some
 * ranks, but these are consecutive.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "doctor/checkup.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "fd.h"
#include "xalloc.h"

#define FILES_MAX 100000
#define MEND      "write the name of a complete checkpoint into the file latest"
#define BREAKS    "the run cannot continue from there"

static void  look_into(const struct checkup *checkup, DIR *dir, const char *path);
static void  count(json_t *families, const char *name);
static char  *hole_in(json_t *families);

void checkpoint_check(const struct checkup *checkup, const char *folder)
{
    char path[PATH_MAX], tag[256];
    DIR *dir;

    if (snprintf(path, sizeof path, "%s/latest", folder) >= (int)sizeof path ||
        fd_read_file(path, tag, sizeof tag) <= 0)
        return;
    tag[strcspn(tag, "\n")] = '\0';
    if (snprintf(path, sizeof path, "%s/%s", folder, tag) >= (int)sizeof path)
        return;
    dir = strchr(tag, '/') == NULL ? opendir(path) : NULL;
    if (dir == NULL) {
        checkup_find(checkup, CHECKUP_FAIL, BREAKS, MEND,
                     "%s/latest names %s, which does not exist", folder, tag);
        return;
    }
    look_into(checkup, dir, path);
    closedir(dir);
}

static void look_into(const struct checkup *checkup, DIR *dir, const char *path)
{
    json_t        *families = json_object();
    struct dirent *entry;
    struct stat    about;
    char          *hole;
    int            files = 0;
    bool           is_empty = false;

    while (!is_empty && files++ < FILES_MAX && (entry = readdir(dir)) != NULL)
        if (fstatat(dirfd(dir), entry->d_name, &about, 0) == 0 && S_ISREG(about.st_mode)) {
            is_empty = about.st_size == 0;
            count(families, entry->d_name);
        }
    hole = hole_in(families);
    if (is_empty)
        checkup_find(checkup, CHECKUP_FAIL, BREAKS, MEND,
                     "%s has empty files: its disk was full, or its run was killed", path);
    else if (hole != NULL)
        checkup_find(checkup, CHECKUP_FAIL, BREAKS, MEND, "%s lacks some of its files: %s",
                     path, hole);
    free(hole);
    json_decref(families);
}

/* Counts a file in {"zero_pp_rank_#_mp_rank_00_optim_states.pt": {"low":0,
 * "high":3, "count":4}, ...}. */
static void count(json_t *families, const char *name)
{
    const char *mark = strstr(name, "pp_rank_"), *digits, *end;
    char       *family;
    json_t     *seen;
    json_int_t  rank;

    digits = mark != NULL ? mark + strlen("pp_rank_")
             : strncmp(name, "shard-", 6) == 0 ? name + 6
                                               : "";
    for (rank = 0, end = digits; isdigit((unsigned char)*end) && end - digits < 9; end++)
        rank = rank * 10 + (*end - '0');
    if (end == digits)
        return;
    family = xasprintf("%.*s#%s", (int)(digits - name), name, end);
    seen = json_object_get(families, family);
    if (seen == NULL) {
        seen = json_pack("{s:I, s:I, s:I}", "low", rank, "high", rank, "count", (json_int_t)0);
        json_object_set_new(families, family, seen); /* ignores a name that is not UTF-8 */
        seen = json_object_get(families, family);
    }
    free(family);
    if (seen == NULL)
        return;
    if (rank < json_integer_value(json_object_get(seen, "low")))
        json_object_set_new(seen, "low", json_integer(rank));
    if (rank > json_integer_value(json_object_get(seen, "high")))
        json_object_set_new(seen, "high", json_integer(rank));
    json_object_set_new(seen, "count", json_integer(1 + json_integer_value(json_object_get(
                                                            seen, "count"))));
}

/* Describes a missing file. NULL: none. Caller frees. */
static char *hole_in(json_t *families)
{
    const char *family;
    json_t     *seen;
    json_int_t  low, high, have;

    json_object_foreach(families, family, seen) {
        low = json_integer_value(json_object_get(seen, "low"));
        high = json_integer_value(json_object_get(seen, "high"));
        have = json_integer_value(json_object_get(seen, "count"));
        if (have < high - low + 1)
            return xasprintf("%lld of %s from %lld to %lld", (long long)have, family,
                             (long long)low, (long long)high);
    }
    return NULL;
}

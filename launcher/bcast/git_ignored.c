/* git_ignored.c - see git_ignored.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "bcast/git_ignored.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "ask/answer.h"

#define GIT_S     60 /* to look through a working tree */
#define ANSWER_MAX (64u << 20)

static int  ask(const char *dir, struct strlist *ignored, struct error *err);
static void add_paths(const char *dir, const char *bytes, size_t size, struct strlist *ignored);
static int  by_name(const void *a, const void *b);

int git_ignored_find(const struct strlist *dirs, struct strlist *ignored, struct error *err)
{
    struct stat about;
    size_t      i;
    int         rc = 0;

    for (i = 0; i < dirs->count && rc == 0; i++)
        if (stat(dirs->item[i], &about) == 0 && S_ISDIR(about.st_mode)) {
            strlist_addf(ignored, "%s/.git", dirs->item[i]);
            rc = ask(dirs->item[i], ignored, err);
        }
    if (ignored->count > 0)
        qsort(ignored->item, ignored->count, sizeof *ignored->item, by_name);
    return rc;
}

static int ask(const char *dir, struct strlist *ignored, struct error *err)
{
    const char *const argv[] = { "git", "-C", dir, "ls-files", "--others", "--ignored",
                                 "--exclude-standard", "--directory", "-z", NULL };
    char             *bytes;
    size_t            size;
    int status = answer_ask(argv, GIT_S, ANSWER_MAX, &bytes, &size, err);

    if (status == 0) {
        add_paths(dir, bytes, size, ignored);
        free(bytes);
        return 0;
    }
    return status > 0 && status != ANSWER_CANNOT_RUN
               ? err_set(err, "--gitignore: %s: %s", dir, err->text)
               : err_set(err, "--gitignore: %s", err->text);
}

/* Each path ends with NUL, one of a directory with '/' before it. */
static void add_paths(const char *dir, const char *bytes, size_t size, struct strlist *ignored)
{
    const char *end = bytes + size, *at;
    size_t      length;

    for (at = bytes; at < end; at += length + 1) {
        length = strnlen(at, (size_t)(end - at));
        strlist_addf(ignored, "%s/%.*s", dir,
                     (int)(length > 0 && at[length - 1] == '/' ? length - 1 : length), at);
    }
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

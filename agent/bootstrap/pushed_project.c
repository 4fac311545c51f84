/* pushed_project.c - [project] push: what muster will copy here after the steps
 *
 * The list of the files comes with the request. The directory gets it before the files do, so undo
 * knows what is muster's, also of a copy that was cut off. The directory is made with the list in
 * it and then renamed: after a power cut there is none, or one that is known to be of muster.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "bootstrap/steps.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bootstrap/data_place.h"
#include "journal/pushed.h"
#include "journal/tree_state.h"
#include "xalloc.h"

#define WHY "[project] push of bootstrap.conf"

/* What the directory has of the files. */
struct lack {
    uint64_t files, bytes, there;
};

static int look(struct bootstrap *b, struct finding *finding, const struct pushed *pushed,
                const char *directory, struct error *err);
static int compare(struct finding *finding, const struct pushed *pushed, const struct pushed *old,
                   const char *directory, struct lack *lack, struct error *err);
static int add(struct finding *finding, const char *directory, const struct lack *lack,
               bool is_new, struct error *err);
static int read_list(struct bootstrap *b, struct pushed *pushed, struct error *err);
static int write_record(const struct pushed *pushed, const char *directory, struct error *err);
static void add_old(const struct pushed *pushed, const struct pushed *old, const char *directory,
                    struct buffer *all);

int pushed_project_look(struct bootstrap *b, struct finding *finding, struct error *err)
{
    const char   *directory = bootstrap_conf(b, "project", "directory");
    struct pushed pushed = { 0 };
    int           rc;

    if (directory == NULL)
        return err_set(err, "[project] has no directory");
    if (b->has_push) /* the files come after the steps */
        return 0;
    if (data_place_check(b, finding, directory, err) < 0 || finding->is_later)
        return finding->is_later ? 0 : -1;
    if (read_list(b, &pushed, err) < 0)
        return -1;
    rc = look(b, finding, &pushed, directory, err);
    pushed_clear(&pushed);
    return rc;
}

int pushed_project_record(struct bootstrap *b, struct finding *finding, struct error *err)
{
    struct pushed pushed = { 0 };
    int           rc;

    (void)finding;
    if (!b->has_push)
        return 0;
    if (read_list(b, &pushed, err) < 0)
        return -1;
    rc = write_record(&pushed, bootstrap_conf(b, "project", "directory"), err);
    if (rc == 0)
        task_output_line(b->out, json_pack("{s:b}", "push", true));
    pushed_clear(&pushed);
    return rc;
}

static int read_list(struct bootstrap *b, struct pushed *pushed, struct error *err)
{
    if (!json_is_string(b->list))
        return err_set(err, "the request has no list of the files");
    return pushed_parse(json_string_value(b->list), json_string_length(b->list), pushed, err);
}

/* --- looking ---------------------------------------------------------------- */

static int look(struct bootstrap *b, struct finding *finding, const struct pushed *pushed,
                const char *directory, struct error *err)
{
    struct state  tree;
    struct pushed old = { 0 };
    struct lack   lack = { 0 };
    int           rc = state_read(b->root, STATE_TREE, directory, &tree, err), has_record = -1;

    if (rc == 0)
        has_record = pushed_read(directory, &old, err);
    if (has_record < 0)
        return -1;
    rc = compare(finding, pushed, &old, directory, &lack, err);
    if (rc == 0 && lack.files > 0 && tree.exists && has_record == 0) {
        finding_fix(finding, "choose another directory in [project], or remove %s", directory);
        rc = err_set(err, "%s exists, and is not of muster", directory);
    }
    if (rc == 0 && (lack.files > 0 || !tree.exists)) {
        rc = add(finding, directory, &lack, !tree.exists, err);
        b->has_push = rc == 0 && b->op == BOOTSTRAP_APPLY;
    }
    pushed_clear(&old);
    return rc;
}

static int compare(struct finding *finding, const struct pushed *pushed, const struct pushed *old,
                   const char *directory, struct lack *lack, struct error *err)
{
    const struct pushed_file *file;
    size_t                    i;
    bool                      is_there;

    for (i = 0; i < pushed->count; i++) {
        file = &pushed->item[i];
        if (pushed_matches(pushed, directory, file->path, &is_there)) {
            lack->there++;
            continue;
        }
        if (is_there && old->count > 0 &&
            !pushed_matches(old, directory, file->path, &is_there)) {
            finding_fix(finding, "muster collect fetches it; then remove it there, and run this "
                        "again");
            return err_set(err, "%s/%s has changed since muster copied it, so nothing is copied "
                           "there", directory, file->path);
        }
        lack->files++;
        lack->bytes += file->size;
    }
    return 0;
}

static int add(struct finding *finding, const char *directory, const struct lack *lack,
               bool is_new, struct error *err)
{
    struct state   tree = { .exists = true };
    char          *what, *parent = xstrndup(directory, (size_t)(strrchr(directory, '/') -
                                                                directory));
    int            rc = parent[0] != '\0' ? changes_add_dirs(&finding->changes, parent, err) : 0;

    if (rc == 0 && is_new)
        rc = changes_add(&finding->changes, STATE_TREE, directory, &tree, "make this directory",
                         WHY, err);
    if (rc == 0) {
        what = xasprintf("%s: copy %" PRIu64 " file%s, %" PRIu64 " bytes; %" PRIu64
                         " are there already", directory, lack->files,
                         lack->files == 1 ? "" : "s", lack->bytes, lack->there);
        changes_add_later(&finding->changes, directory, what, WHY); /* after all steps */
        free(what);
    }
    free(parent);
    return rc;
}

/* --- changing --------------------------------------------------------------- */

static int write_record(const struct pushed *pushed, const char *directory, struct error *err)
{
    char         *temp = xasprintf("%s" TREE_NEW, directory), *path;
    bool          is_new = access(directory, F_OK) < 0;
    struct buffer all = { 0 };
    struct pushed old = { 0 };
    struct state  file = { .exists = true, .mode = 0600, .uid = geteuid(), .gid = getegid() };
    int           rc = is_new ? 0 : pushed_read(directory, &old, err);
    size_t        i;

    for (i = 0; i < pushed->count; i++)
        pushed_put(&pushed->item[i], &all);
    add_old(pushed, &old, directory, &all);
    file.bytes = all.bytes;
    file.size = all.size;
    path = xasprintf("%s/" PUSHED_RECORD, is_new ? temp : directory);
    if (rc >= 0 && is_new && mkdir(temp, 0755) < 0)
        rc = err_set(err, "%s: %s", temp, strerror(errno));
    rc = rc < 0 ? -1 : state_write_file(path, &file, err);
    if (rc == 0 && is_new && rename(temp, directory) < 0)
        rc = err_set(err, "%s: %s", directory, strerror(errno));
    if (rc == 0)
        state_sync_dir_of(directory);
    pushed_clear(&old);
    buffer_clear(&all);
    free(path);
    free(temp);
    return rc;
}

/* Files of earlier copies stay muster's, until they are overwritten. */
static void add_old(const struct pushed *pushed, const struct pushed *old, const char *directory,
                    struct buffer *all)
{
    size_t i;
    bool   is_there;

    for (i = 0; i < old->count; i++) {
        struct pushed one = { &old->item[i], 1 };

        if (pushed_matches(&one, directory, old->item[i].path, &is_there) &&
            !pushed_matches(pushed, directory, old->item[i].path, &is_there))
            pushed_put(&old->item[i], all);
    }
}

/* project_push.c - see project_push.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "bootstrap/project_push.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bcast/push.h"
#include "copy/bcast_tree.h"
#include "node/node.h"
#include "xalloc.h"

#define LIST_MAX (32u << 20) /* bytes of the list; an agent takes no more than 64 MiB of blobs */

/* What one job has found, for the next one, which copies. */
static struct {
    char          *dir, *to;
    struct strlist hosts;
} wanted;

static char *real_directory(const char *path, struct error *err);
static int   list(const struct tree *tree, struct buffer *into, struct error *err);

int project_push_read(struct bootstrap *bootstrap, struct error *err)
{
    static const struct tree_rules rules = { .links = TREE_LINKS_COPY };
    json_t        *project = json_object_get(bootstrap->conf, "project");
    const char    *path = json_string_value(json_object_get(project, "push"));
    const char    *mount = json_string_value(
        json_object_get(json_object_get(bootstrap->conf, "data"), "mount"));
    const char    *to = json_string_value(json_object_get(project, "directory"));
    struct trees   trees;
    struct strlist paths = { 0 }, problems = { 0 };
    int            rc = -1;

    if (path == NULL)
        return 0;
    if ((wanted.dir = real_directory(path, err)) == NULL)
        return -1;
    if (to == NULL && mount == NULL)
        return err_set(err, "[project] has no directory, and [data] no mount");
    wanted.to = to != NULL ? xstrdup(to) : xasprintf("%s%s", mount, strrchr(wanted.dir, '/'));
    strlist_add(&paths, wanted.dir);
    trees_begin(&trees, &paths, NULL, &rules, &problems);
    if (trees_read(&trees, &problems) < 0)
        err_set(err, "[project] push: %s", problems.item[0]);
    else
        rc = list(&trees.tree[0], &bootstrap->pushed, err);
    if (rc == 0 && (json_object_set_new(project, "push", json_string(wanted.dir)) < 0 ||
                    json_object_set_new(project, "directory", json_string(wanted.to)) < 0))
        rc = err_set(err, "[project] push: %s is not UTF-8", wanted.dir);
    trees_clear(&trees);
    strlist_clear(&paths);
    strlist_clear(&problems);
    return rc;
}

static char *real_directory(const char *path, struct error *err)
{
    char       *real = realpath(path, NULL);
    struct stat about;

    if (real == NULL || stat(real, &about) < 0)
        err_set(err, "[project] push: %s: %s", path, strerror(errno));
    else if (!S_ISDIR(about.st_mode) || real[1] == '\0')
        err_set(err, "[project] push: %s is not a directory that can be copied", path);
    else
        return real;
    free(real);
    return NULL;
}

/* The nodes know each name of a file as a file. */
static int list(const struct tree *tree, struct buffer *into, struct error *err)
{
    struct entry entry;
    size_t       i;

    for (i = 0; i < tree->items; i++) {
        entry = tree_entry(&tree->item[i]);
        if (entry.type == ENTRY_HARD) {
            entry.type = ENTRY_FILE;
            entry.size = tree->item[tree->item[i].size].size;
        }
        into->size += entry_put((unsigned char *)buffer_reserve(into, ENTRY_BYTES_MAX), &entry);
        if (into->size > LIST_MAX)
            return err_set(err, "[project] push: %s has more files than muster can list; pack "
                           "them, or use muster bcast", wanted.dir);
    }
    return 0;
}

void project_push_add(const struct bootstrap *bootstrap, struct node *node, json_t *request)
{
    if (bootstrap->pushed.size == 0 ||
        (strcmp(bootstrap->op, "plan") != 0 && strcmp(bootstrap->op, "apply") != 0))
        return;
    node_send_blob(node, PROJECT_PUSH_BLOB, bootstrap->pushed.bytes, bootstrap->pushed.size);
    json_object_set_new(request, "list", json_integer(PROJECT_PUSH_BLOB));
}

void project_push_line(const struct bootstrap *bootstrap, const struct node *node,
                       const json_t *line)
{
    if (bootstrap->pushed.size > 0 && strcmp(bootstrap->op, "apply") == 0 &&
        json_is_true(json_object_get(line, "push")) &&
        !strlist_has(&wanted.hosts, node->plan->host))
        strlist_add(&wanted.hosts, node->plan->host);
}

int project_push_files(const struct options *options, const struct selection *selection,
                       char *const *here)
{
    struct selection some = { xcalloc(selection->count + 1, sizeof *some.node), 0 };
    size_t           i;
    int              status = 0;

    for (i = 0; i < selection->count; i++)
        if (strlist_has(&wanted.hosts, selection->node[i].host->name))
            some.node[some.count++] = selection->node[i];
    if (some.count > 0)
        status = push_directory(options, &some, wanted.dir, wanted.to, here);
    free(some.node);
    free(wanted.dir);
    free(wanted.to);
    strlist_clear(&wanted.hosts);
    wanted.dir = wanted.to = NULL;
    return status;
}

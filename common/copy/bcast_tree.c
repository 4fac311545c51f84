/* bcast_tree.c - see bcast_tree.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "copy/bcast_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "copy/acl_mode.h"
#include "copy/first_names.h"
#include "copy/path_pattern.h"
#include "xalloc.h"

static char        *absolute(const char *path, struct error *err);
static bool         has_dots(const char *path);
static void         add_source(struct trees *trees, const char *path, const char *to,
                               struct strlist *problems);
static size_t       tree_of(struct trees *trees, const char *root, const char *here);
static bool         is_taken(const struct trees *trees, size_t tree, const char *name);
static void         open_next(struct trees *trees, struct strlist *problems);
static void         take(struct trees *trees, FTSENT *found, struct strlist *problems);
static bool         is_left_out(struct trees *trees, const FTSENT *found);
static bool         is_ignored(const struct strlist *ignored, const char *path);
static int          by_path(const void *path, const void *item);
static int          by_name(const FTSENT **a, const FTSENT **b);
static const char  *look(enum tree_links links, const FTSENT *found, struct tree_item *item);
static const char  *look_link(enum tree_links links, const FTSENT *found, struct tree_item *item);
static void         find_first_name(struct tree *tree, const struct stat *status,
                                    struct tree_item *item);
static char        *path_here(const struct trees *trees, const struct tree_item *item);
static char        *read_link(const char *path);

const char *const tree_links_words[] = { "copy", "within", "follow", "skip", NULL };

int trees_read(struct trees *trees, struct strlist *problems)
{
    while (trees_step(trees, problems))
        ;
    if (trees->unlisted > 0)
        strlist_addf(problems, "... and %zu more like these", trees->unlisted);
    return problems->count == 0 ? 0 : -1;
}

void trees_begin(struct trees *trees, const struct strlist *paths, const char *to,
                 const struct tree_rules *rules, struct strlist *problems)
{
    struct error err;
    char        *root = NULL, *path;
    size_t       i;

    *trees = (struct trees){ .rules = *rules };
    if (rules->exclude != NULL)
        trees->has_matched = xcalloc(rules->exclude->count + 1, sizeof *trees->has_matched);
    if (to != NULL && (root = absolute(to, &err)) == NULL)
        strlist_add(problems, err.text);
    for (i = 0; i < paths->count && (to == NULL || root != NULL); i++) {
        path = absolute(paths->item[i], &err);
        if (path == NULL)
            strlist_add(problems, err.text);
        else
            add_source(trees, path, root, problems);
        free(path);
    }
    free(root);
}

void trees_clear(struct trees *trees)
{
    size_t t, i;

    for (t = 0; t < trees->count; t++) {
        for (i = 0; i < trees->tree[t].items; i++) {
            free(trees->tree[t].item[i].path);
            free(trees->tree[t].item[i].target);
            free(trees->tree[t].item[i].sums);
            free(trees->tree[t].item[i].fault);
        }
        free(trees->tree[t].item);
        free(trees->tree[t].root);
        free(trees->tree[t].here);
        first_names_free(trees->tree[t].names);
    }
    free(trees->tree);
    free(trees->has_matched);
    free(trees->source_of);
    if (trees->walk != NULL)
        fts_close(trees->walk);
    strlist_clear(&trees->source);
    *trees = (struct trees){ 0 };
}

/* Makes path absolute; the caller frees it. Only the kernel knows what ".." means. NULL with
 * err. */
static char *absolute(const char *path, struct error *err)
{
    char *full = path[0] != '\0' ? tree_absolute(path) : NULL, *real;

    if (full == NULL) {
        err_set(err, "%s", path[0] == '\0' ? "an empty path" : strerror(errno));
        return NULL;
    }
    if (!has_dots(full))
        return full;
    real = realpath(full, NULL);
    if (real == NULL)
        err_set(err, "%s: %s", path, strerror(errno));
    free(full);
    return real;
}

char *tree_absolute(const char *path)
{
    char  *here = path[0] != '/' ? getcwd(NULL, 0) : xstrdup(""), *full, *to, *name;
    size_t size;

    if (here == NULL)
        return NULL;
    full = xasprintf("%s/%s", here, path);
    free(here);
    for (name = to = full; *name != '\0'; name += size) {
        name += strspn(name, "/");
        size = strcspn(name, "/");
        if (size == 0 || (size == 1 && name[0] == '.'))
            continue;
        *to++ = '/';
        memmove(to, name, size);
        to += size;
    }
    *to = '\0';
    return full;
}

static bool has_dots(const char *path)
{
    size_t size;

    for (; *path != '\0'; path += size + (path[size] == '/')) {
        size = strcspn(path, "/");
        if (size == 2 && memcmp(path, "..", 2) == 0)
            return true;
    }
    return false;
}

/* path comes from absolute(). */
static void add_source(struct trees *trees, const char *path, const char *to,
                       struct strlist *problems)
{
    const char *slash = strrchr(path, '/');
    char       *here;
    size_t      tree;

    if (slash == NULL || slash[1] == '\0') {
        strlist_add(problems, "/: name the files to copy, not the whole machine");
        return;
    }
    here = slash > path ? xstrndup(path, (size_t)(slash - path)) : xstrdup("/");
    tree = tree_of(trees, to == NULL ? here : to[0] != '\0' ? to : "/", here);
    free(here);
    if (is_taken(trees, tree, slash)) {
        strlist_addf(problems, "%s: another path with the same name goes to %s", path,
                     trees->tree[tree].root);
        return;
    }
    strlist_add(&trees->source, path);
    trees->source_of = xreallocarray(trees->source_of, trees->source.count,
                                     sizeof *trees->source_of);
    trees->source_of[trees->source.count - 1] = tree;
    if (trees->rules.name != NULL && strcmp(trees->rules.name, slash + 1) != 0) {
        free(trees->tree[tree].here); /* a node that is this machine gets a copy */
        trees->tree[tree].here = NULL;
    }
}

static size_t tree_of(struct trees *trees, const char *root, const char *here)
{
    struct tree *tree;
    size_t       t;

    for (t = 0; t < trees->count; t++)
        if (strcmp(trees->tree[t].root, root) == 0)
            break;
    if (t == trees->count) {
        trees->tree = xreallocarray(trees->tree, ++trees->count, sizeof *trees->tree);
        trees->tree[t] = (struct tree){ .root = xstrdup(root), .here = xstrdup(here) };
    }
    tree = &trees->tree[t];
    if (tree->here != NULL && strcmp(tree->here, here) != 0) {
        free(tree->here);
        tree->here = NULL;
    }
    return t;
}

/* name begins with a slash. */
static bool is_taken(const struct trees *trees, size_t tree, const char *name)
{
    size_t i;

    for (i = 0; i < trees->source.count; i++)
        if (trees->source_of[i] == tree && strcmp(strrchr(trees->source.item[i], '/'), name) == 0)
            return true;
    return false;
}

/* --- what exists ------------------------------------------------------------ */

bool trees_step(struct trees *trees, struct strlist *problems)
{
    FTSENT *found;

    if (trees->walked == trees->source.count)
        return false;
    if (trees->walk == NULL) {
        open_next(trees, problems);
        return true;
    }
    errno = 0;
    found = fts_read(trees->walk);
    if (found != NULL) {
        take(trees, found, problems);
        return true;
    }
    if (errno != 0)
        strlist_addf(problems, "%s: %s", trees->source.item[trees->walked], strerror(errno));
    fts_close(trees->walk);
    trees->walk = NULL;
    trees->walked++;
    return true;
}

/* The source itself may be a symbolic link: the user means its target. */
static void open_next(struct trees *trees, struct strlist *problems)
{
    char *paths[] = { trees->source.item[trees->walked], NULL };
    int   follow = trees->rules.links == TREE_LINKS_FOLLOW ? FTS_LOGICAL : FTS_PHYSICAL;

    trees->walk = fts_open(paths, follow | FTS_COMFOLLOW | FTS_NOCHDIR, by_name);
    if (trees->walk != NULL)
        return;
    strlist_addf(problems, "%s: %s", paths[0], strerror(errno));
    trees->walked++;
}

static void take(struct trees *trees, FTSENT *found, struct strlist *problems)
{
    const char      *source = trees->source.item[trees->walked], *fault;
    struct tree     *tree = &trees->tree[trees->source_of[trees->walked]];
    struct tree_item item = { .source = trees->walked };

    if (found->fts_info == FTS_DP)
        return;
    if (is_left_out(trees, found)) {
        fts_set(trees->walk, found, FTS_SKIP);
        return;
    }
    item.path = trees->rules.name != NULL
                    ? xasprintf("%s%s", trees->rules.name, found->fts_path + strlen(source))
                    : xstrdup(found->fts_path + (strrchr(source, '/') + 1 - source));
    fault = look(trees->rules.links, found, &item);
    if (fault == NULL && tree->items == TREE_ITEMS_MAX)
        fault = "more than 1048576 files, directories and links";
    if (fault == NULL) {
        if (item.type == ENTRY_FILE && found->fts_statp->st_nlink > 1)
            find_first_name(tree, found->fts_statp, &item);
        tree_add(tree, &item);
        return;
    }
    if (problems->count < TREE_PROBLEMS_MAX)
        strlist_addf(problems, "%s: %s", found->fts_path, fault);
    else
        trees->unlisted++;
    free(item.path);
    free(item.target);
}

/* The user named the first path itself, so it is sent in any case. */
static bool is_left_out(struct trees *trees, const FTSENT *found)
{
    const struct strlist *exclude = trees->rules.exclude;
    bool                  is_dir = found->fts_info == FTS_D;
    size_t                i;

    if (found->fts_level == 0)
        return false;
    for (i = 0; exclude != NULL && i < exclude->count; i++)
        if (path_pattern_matches(exclude->item[i],
                                 found->fts_path + strlen(trees->source.item[trees->walked]) + 1,
                                 is_dir)) {
            trees->has_matched[i] = true;
            return true;
        }
    return is_ignored(trees->rules.ignored, found->fts_path) ||
           (trees->rules.links == TREE_LINKS_SKIP &&
            (found->fts_info == FTS_SL || found->fts_info == FTS_SLNONE));
}

static bool is_ignored(const struct strlist *ignored, const char *path)
{
    return ignored != NULL && ignored->count > 0 &&
           bsearch(path, ignored->item, ignored->count, sizeof *ignored->item, by_path) != NULL;
}

static int by_path(const void *path, const void *item)
{
    return strcmp(path, *(char *const *)item);
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

/* Fills item with what was found. Returns NULL, or why it cannot be sent. */
static const char *look(enum tree_links links, const FTSENT *found, struct tree_item *item)
{
    const char *fault;

    switch (found->fts_info) {
    case FTS_D:
        item->type = ENTRY_DIR;
        break;
    case FTS_F:
        if (access(found->fts_accpath, R_OK) < 0)
            return strerror(errno);
        item->type = ENTRY_FILE;
        item->size = (uint64_t)found->fts_statp->st_size;
        break;
    case FTS_SL:
    case FTS_SLNONE:
        fault = look_link(links, found, item);
        if (fault != NULL)
            return fault;
        break;
    case FTS_DEFAULT:
        return S_ISFIFO(found->fts_statp->st_mode)   ? "a named pipe, which cannot be sent"
               : S_ISSOCK(found->fts_statp->st_mode) ? "a socket, which cannot be sent"
                                                     : "a device, which cannot be sent";
    case FTS_DC:
        return "a directory within itself";
    default:
        return strerror(found->fts_errno);
    }
    item->mode = acl_mode(found->fts_accpath, found->fts_statp->st_mode) & 07777;
    item->mtime = found->fts_statp->st_mtim;
    item->device = found->fts_statp->st_dev;
    item->inode = found->fts_statp->st_ino;
    return entry_path_fault(item->path);
}

/* A link is found only where it is not to be followed, or leads to nothing. */
static const char *look_link(enum tree_links links, const FTSENT *found, struct tree_item *item)
{
    item->type = ENTRY_LINK;
    item->target = read_link(found->fts_accpath);
    if (item->target == NULL)
        return strerror(errno);
    if (item->target[0] == '\0' || found->fts_level == 0 || links == TREE_LINKS_FOLLOW)
        return "a symbolic link to nothing";
    return links == TREE_LINKS_WITHIN ? entry_link_leaves(item->path, item->target) : NULL;
}

/* Makes item a hard link if the tree has its file already. */
static void find_first_name(struct tree *tree, const struct stat *status, struct tree_item *item)
{
    size_t first = first_names_find(&tree->names, status->st_dev, status->st_ino, tree->items);

    if (first == tree->items)
        return;
    item->type = ENTRY_HARD;
    item->size = first;
}

/* The kernel does not guarantee a limit for the size of a link. */
static char *read_link(const char *path)
{
    char    target[PATH_MAX];
    ssize_t size = readlink(path, target, sizeof target);

    if (size < 0)
        return NULL;
    if (size == sizeof target) {
        errno = ENAMETOOLONG;
        return NULL;
    }
    return xstrndup(target, (size_t)size);
}

void tree_add(struct tree *tree, const struct tree_item *item)
{
    if (tree->items == tree->room) {
        tree->room = tree->room > 0 ? tree->room * 2 : 64;
        tree->item = xreallocarray(tree->item, tree->room, sizeof *tree->item);
    }
    tree->item[tree->items++] = *item;
    if (item->type == ENTRY_FILE) {
        tree->files++;
        tree->bytes += item->size;
    }
}

/* --- what is sent ----------------------------------------------------------- */

struct entry tree_entry(const struct tree_item *item)
{
    return (struct entry){
        .type = item->type,
        .mode = item->mode,
        .size = item->size,
        .mtime = item->mtime,
        .path = item->path,
        .target = item->target != NULL ? item->target : "",
    };
}

int tree_open(const struct trees *trees, const struct tree_item *item, struct error *err)
{
    bool  may_follow = strchr(item->path, '/') == NULL || trees->rules.links == TREE_LINKS_FOLLOW;
    char *path = path_here(trees, item);
    int   fd = open(path, O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC |
                              (may_follow ? 0 : O_NOFOLLOW));

    free(path);
    if (fd < 0)
        return err_set(err, "%s", errno == ENOENT ? "was removed after muster looked at it"
                                  : errno == ELOOP ? "has become a symbolic link"
                                                   : strerror(errno));
    if (tree_check(item, fd, err) == 0)
        return fd;
    close(fd);
    return -1;
}

/* Caller frees. */
static char *path_here(const struct trees *trees, const struct tree_item *item)
{
    const char *below = strchr(item->path, '/');

    return xasprintf("%s%s", trees->source.item[item->source], below != NULL ? below : "");
}

bool tree_link_leads(const struct trees *trees, const struct tree_item *item)
{
    char *path = path_here(trees, item);
    bool  leads = access(path, F_OK) == 0;

    free(path);
    return leads;
}

int tree_check(const struct tree_item *item, int fd, struct error *err)
{
    struct stat now;

    if (fstat(fd, &now) < 0)
        return err_set(err, "%s", strerror(errno));
    if (!S_ISREG(now.st_mode) || now.st_dev != item->device || now.st_ino != item->inode ||
        (uint64_t)now.st_size != item->size || now.st_mtim.tv_sec != item->mtime.tv_sec ||
        now.st_mtim.tv_nsec != item->mtime.tv_nsec)
        return err_set(err, "has changed after muster looked at it");
    return 0;
}

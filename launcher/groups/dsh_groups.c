/* dsh_groups.c - groups that are files; see group_source.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "groups/group_source.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "file.h"
#include "groups/host_group.h"
#include "xalloc.h"

#define BLANKS    " \t\r"
#define FILES_MAX 64 /* that include each other */

struct search {
    struct strlist dirs;
    char          *wanted; /* the directories, in words */
    int            files;  /* read so far */
};

static void  search_begin(struct search *search);
static char *search_file(const struct search *search, const char *name);
static int   read_file(struct search *search, const char *path, struct strlist *hosts,
                       struct error *err);
static int   read_line(struct search *search, const char *path, char *line,
                       struct strlist *hosts, struct error *err);
static char *cut_blanks(char *text);
static void  search_end(struct search *search);

int dsh_group_hosts(const char *name, struct strlist *hosts, struct error *err)
{
    const size_t  before = hosts->count;
    const bool    is_all = strcmp(name, GROUP_ALL) == 0;
    struct search search;
    char         *path;
    int           rc = 0;

    search_begin(&search);
    path = search_file(&search, is_all ? "../machines.list" : name);
    if (path == NULL)
        err_set(err, "there is no %.200s in %s", is_all ? "../machines.list" : name, search.wanted);
    else if (read_file(&search, path, hosts, err) < 0)
        rc = -1;
    else if (hosts->count == before)
        err_set(err, "%s lists no host", path);
    else
        rc = 1;
    free(path);
    search_end(&search);
    return rc;
}

static void search_begin(struct search *search)
{
    const char *path = getenv("DSHGROUP_PATH"), *home = getenv("HOME");
    char       *copy = xstrdup(path != NULL && path[0] != '\0' ? path : "/etc/dsh/group");
    char       *rest = copy, *dir;
    size_t      i;

    *search = (struct search){ .wanted = xstrdup("") };
    if (home != NULL && home[0] == '/')
        strlist_addf(&search->dirs, "%s/.dsh/group", home);
    while ((dir = strsep(&rest, ":")) != NULL)
        if (dir[0] == '/')
            strlist_add(&search->dirs, dir);
    free(copy);
    for (i = 0; i < search->dirs.count; i++) {
        copy = xasprintf("%s%s%s", search->wanted, i > 0 ? " or " : "", search->dirs.item[i]);
        free(search->wanted);
        search->wanted = copy;
    }
}

/* Returns the path of the first that exists, or NULL. */
static char *search_file(const struct search *search, const char *name)
{
    char  *path = NULL;
    size_t i;

    for (i = 0; i < search->dirs.count && path == NULL; i++) {
        path = xasprintf("%s/%s", search->dirs.item[i], name);
        if (access(path, F_OK) < 0) {
            free(path);
            path = NULL;
        }
    }
    return path;
}

static int read_file(struct search *search, const char *path, struct strlist *hosts,
                     struct error *err)
{
    size_t size;
    char  *text, *rest, *line;
    int    rc;

    if (++search->files > FILES_MAX)
        return err_set(err, "%s: more than %d files include each other", path, FILES_MAX);
    text = rest = file_read_at_once(path, GROUP_BYTES_MAX, &size, err);
    rc = text != NULL ? 0 : -1;
    while (rc == 0 && (line = strsep(&rest, "\n")) != NULL)
        rc = read_line(search, path, line, hosts, err);
    free(text);
    return rc;
}

/* "te1", "te1 # comment", "#include NAME" */
static int read_line(struct search *search, const char *path, char *line, struct strlist *hosts,
                     struct error *err)
{
    static const char include[] = "#include ";
    char             *name, *other;
    int               rc;

    line = cut_blanks(line);
    if (strncmp(line, include, strlen(include)) != 0) {
        line[strcspn(line, "#")] = '\0';
        line = cut_blanks(line);
        if (line[0] != '\0')
            strlist_add(hosts, line);
        return 0;
    }
    name = cut_blanks(line + strlen(include));
    other = name[0] == '/' ? xstrdup(name) : search_file(search, name);
    rc = other == NULL ? err_set(err, "%s: #include %.200s: not in %s", path,
                                 name, search->wanted)
                       : read_file(search, other, hosts, err);
    free(other);
    return rc;
}

static char *cut_blanks(char *text)
{
    size_t size;

    text += strspn(text, BLANKS);
    for (size = strlen(text); size > 0 && strchr(BLANKS, text[size - 1]) != NULL; size--)
        text[size - 1] = '\0';
    return text;
}

static void search_end(struct search *search)
{
    strlist_clear(&search->dirs);
    free(search->wanted);
}

/* genders.c - groups of a genders database; see group_source.h
 *
 * libgenders is loaded when it is needed: most clusters have no such database, and muster is often
 * built on another machine. Its interface has been the same since libgenders.so.0.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "groups/group_source.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "groups/host_group.h"
#include "xalloc.h"

#define LIBRARY   "libgenders.so.0"
#define DIRECTORY "/etc"
#define FILE_NAME "genders"
#define HOST_BYTES 256 /* bytes of an altname: more than DNS allows */

struct genders {
    void *(*create)(void);
    int (*destroy)(void *handle);
    int (*load)(void *handle, const char *file);
    char *(*why)(void *handle);
    int (*new_list)(void *handle, char ***list);
    int (*free_list)(void *handle, char **list);
    int (*nodes)(void *handle, char **list, int size, const char *attribute, const char *value);
    int (*query)(void *handle, char **list, int size, const char *query);
    int (*value)(void *handle, const char *node, const char *attribute, char *value, int size);
};

static char *database(void);
static bool  load(struct genders *genders);
static int   find(const struct genders *genders, const char *file, const char *query,
                  struct strlist *hosts, struct error *err);
static int   select_nodes(const struct genders *genders, void *handle, const char *query,
                          struct strlist *hosts);
static int   by_name(const void *a, const void *b);

int genders_hosts(const char *query, struct strlist *hosts, struct error *err)
{
    struct genders genders;
    char          *file = database();
    int            rc;

    if (access(file, F_OK) < 0)
        rc = (err_set(err, "there is no %s", file), 0);
    else if (!load(&genders))
        rc = (err_set(err, "muster needs " LIBRARY " to read %s (Debian: apt-get install "
                      "libgenders0)", file), 0);
    else
        rc = find(&genders, file, query, hosts, err);
    free(file);
    return rc;
}

static char *database(void)
{
    const char *dir = getenv("PDSH_GENDERS_DIR"), *file = getenv("PDSH_GENDERS_FILE");

    dir = dir != NULL && dir[0] != '\0' ? dir : DIRECTORY;
    file = file != NULL && file[0] != '\0' ? file : FILE_NAME;
    return file[0] == '/' ? xstrdup(file) : xasprintf("%s/%s", dir, file);
}

/* The library stays: it is loaded once. */
static bool load(struct genders *genders)
{
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    const struct {
        const char *name;
        void       *into;
    } names[] = {
        { "genders_handle_create", &genders->create },
        { "genders_handle_destroy", &genders->destroy },
        { "genders_load_data", &genders->load },
        { "genders_errormsg", &genders->why },
        { "genders_nodelist_create", &genders->new_list },
        { "genders_nodelist_destroy", &genders->free_list },
        { "genders_getnodes", &genders->nodes },
        { "genders_query", &genders->query },
        { "genders_testattr", &genders->value },
    };
    size_t i;
    void  *symbol;

    for (i = 0; library != NULL && i < sizeof names / sizeof *names; i++) {
        symbol = dlsym(library, names[i].name);
        if (symbol == NULL)
            return false;
        memcpy(names[i].into, &symbol, sizeof symbol);
    }
    return library != NULL;
}

static int find(const struct genders *genders, const char *file, const char *query,
                struct strlist *hosts, struct error *err)
{
    void *handle = genders->create();
    int   rc;

    if (handle == NULL)
        xalloc_die();
    if (genders->load(handle, file) < 0) {
        rc = err_set(err, "%s: %s; nodeattr -f %s -k says where", file, genders->why(handle), file);
    } else {
        rc = select_nodes(genders, handle, query, hosts);
        if (rc < 0)
            err_set(err, "%s: %s", file, genders->why(handle));
        else if (rc == 0)
            err_set(err, "no node in %s has it", file);
        rc = rc > 0;
    }
    genders->destroy(handle);
    return rc;
}

/* Returns the number of nodes; -1: the query is none, which another source may understand. They are
 * added in the order of the file, which genders_query() does not keep: the first gets rank 0. */
static int select_nodes(const struct genders *genders, void *handle, const char *query,
                        struct strlist *hosts)
{
    char **all = NULL, **chosen = NULL, name[HOST_BYTES];
    int    size = genders->new_list(handle, &all), nodes = -1, count = -1, i;

    if (size >= 0 && genders->new_list(handle, &chosen) == size) {
        nodes = genders->nodes(handle, all, size, NULL, NULL);
        count = genders->query(handle, chosen, size, strcmp(query, GROUP_ALL) == 0 ? NULL : query);
    }
    if (count > 0)
        qsort(chosen, (size_t)count, sizeof *chosen, by_name);
    for (i = 0; i < nodes && count > 0; i++) {
        if (bsearch(&all[i], chosen, (size_t)count, sizeof *chosen, by_name) == NULL)
            continue;
        strlist_add(hosts, genders->value(handle, all[i], "altname", name, sizeof name) == 1 &&
                                   name[0] != '\0' ? name : all[i]);
    }
    if (chosen != NULL)
        genders->free_list(handle, chosen);
    if (all != NULL)
        genders->free_list(handle, all);
    return nodes < 0 ? -1 : count;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

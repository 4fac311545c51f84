/* suspects.c - see suspects.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "history/suspects.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include "frame.h"
#include "history/run_dir.h"
#include "runid.h"
#include "xalloc.h"

#define FOLDER   "suspects"
#define FILE_MAX 4096 /* bytes */
#define HOST_MAX 200  /* bytes of a host's name; a longer one has no file */

static int   add_file(struct suspects *list, int dir_fd, const char *name);
static int   read_text(int fd, char *text, size_t size);
static char *text_of(const json_t *body, const char *key);
static void  clear_one(struct suspect *suspect);
static int   is_entry(const struct dirent *entry);
static char *name_of(const char *host);

char *suspects_directory(void)
{
    char *runs = runid_directory(), *slash = runs != NULL ? strrchr(runs, '/') : NULL;
    char *directory = slash != NULL ? xasprintf("%.*s/" FOLDER, (int)(slash - runs), runs) : NULL;

    free(runs);
    return directory;
}

int suspects_read(struct suspects *list, struct error *err)
{
    char           *directory = suspects_directory();
    struct dirent **entry = NULL;
    int             dir_fd = -1, count = 0, i, rc = 0;

    *list = (struct suspects){ 0 };
    if (directory == NULL)
        return 0;
    dir_fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir_fd >= 0)
        count = scandir(directory, &entry, is_entry, alphasort);
    if ((dir_fd < 0 || count < 0) && errno != ENOENT)
        rc = err_set(err, "%s: %s", directory, strerror(errno));
    for (i = 0; i < count; i++) {
        if (list->count < SUSPECTS_MAX)
            add_file(list, dir_fd, entry[i]->d_name);
        free(entry[i]);
    }
    free(entry);
    if (dir_fd >= 0)
        close(dir_fd);
    free(directory);
    return rc;
}

/* -1: it is not a suspect's file. */
static int add_file(struct suspects *list, int dir_fd, const char *name)
{
    int            fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct suspect found = { 0 };
    char           text[FILE_MAX];
    json_t        *body = NULL;
    char          *own = NULL;
    int            size = fd >= 0 ? read_text(fd, text, sizeof text) : -1;

    if (size > 0)
        body = json_loadb(text, (size_t)size, 0, NULL);
    found.host = text_of(body, "host");
    found.reason = text_of(body, "reason");
    found.run_id = text_of(body, "run_id");
    found.since = json_integer_value(json_object_get(body, "since"));
    json_decref(body);
    if (fd >= 0)
        close(fd);
    if (found.host != NULL)
        own = name_of(found.host);
    if (own == NULL || found.reason == NULL || strcmp(own, name) != 0) {
        free(own);
        clear_one(&found);
        return -1;
    }
    free(own);
    list->item = xreallocarray(list->item, list->count + 1, sizeof *list->item);
    list->item[list->count++] = found;
    return 0;
}

/* Returns the number of bytes; -1: it is no file of that size. */
static int read_text(int fd, char *text, size_t size)
{
    struct stat about;
    ssize_t     got;

    if (fstat(fd, &about) < 0 || !S_ISREG(about.st_mode) || about.st_size >= (off_t)size)
        return -1;
    got = pread(fd, text, size, 0);
    return (int)got;
}

static char *text_of(const json_t *body, const char *key)
{
    const char *text = json_string_value(json_object_get(body, key));

    return text != NULL ? xstrdup(text) : NULL;
}

void suspects_clear(struct suspects *list)
{
    size_t i;

    for (i = 0; i < list->count; i++)
        clear_one(&list->item[i]);
    free(list->item);
    *list = (struct suspects){ 0 };
}

static void clear_one(struct suspect *suspect)
{
    free(suspect->host);
    free(suspect->reason);
    free(suspect->run_id);
}

const struct suspect *suspects_find(const struct suspects *list, const char *host)
{
    size_t i;

    for (i = 0; i < list->count; i++)
        if (strcmp(list->item[i].host, host) == 0)
            return &list->item[i];
    return NULL;
}

int suspects_add(const char *directory, const struct suspect *suspect, struct error *err)
{
    char   *name = name_of(suspect->host), *text = NULL, *own = NULL;
    json_t *body;
    int     dir_fd = -1, rc = -1;

    if (name == NULL)
        return err_set(err, "%.100s...: the name is too long for a file", suspect->host);
    if (run_dir_make_above(directory, err) < 0)
        goto out;
    if (mkdir(directory, 0700) < 0 && errno != EEXIST) {
        err_set(err, "%s: %s", directory, strerror(errno));
        goto out;
    }
    body = json_pack("{s:o, s:o, s:o, s:I}", "host",
                     json_text(suspect->host, strlen(suspect->host)), "reason",
                     json_text(suspect->reason, strlen(suspect->reason)), "run_id",
                     json_text(suspect->run_id, strlen(suspect->run_id)), "since",
                     (json_int_t)suspect->since);
    text = json_dumps(body, JSON_COMPACT);
    json_decref(body);
    if (text == NULL)
        xalloc_die();
    dir_fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    own = xasprintf("%s.%s", name, suspect->run_id); /* another run may have the same suspect */
    if (dir_fd >= 0 && run_dir_write(dir_fd, own, text, strlen(text)) == 0)
        rc = renameat(dir_fd, own, dir_fd, name);
    if (rc < 0)
        err_set(err, "%s/%s: %s", directory, name, strerror(errno));
out:
    if (dir_fd >= 0)
        close(dir_fd);
    free(text);
    free(own);
    free(name);
    return rc;
}

int suspects_remove(const char *directory, const char *host, struct error *err)
{
    char *name = name_of(host), *path = NULL;
    int   rc = 0;

    if (name == NULL)
        return 0;
    path = xasprintf("%s/%s", directory, name);
    if (unlink(path) < 0 && errno != ENOENT)
        rc = err_set(err, "%s: %s", path, strerror(errno));
    free(path);
    free(name);
    return rc;
}

/* A file that is being written has a dot in its name, and a host's file has none. */
static int is_entry(const struct dirent *entry)
{
    return entry->d_name[0] != '.' && strchr(entry->d_name, '.') == NULL;
}

/* Returns the host's name with letters, digits, '-', '_' and ':' as they are, and "%2e" for
 * others; NULL: it is too long. The caller frees it. */
static char *name_of(const char *host)
{
    static const char plain[] = "0123456789-abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_:";
    char             *name, *to;

    if (host[0] == '\0' || strlen(host) > HOST_MAX)
        return NULL;
    name = to = xcalloc(strlen(host) * 3 + 1, 1);
    for (; *host != '\0'; host++)
        if (strchr(plain, *host) != NULL)
            *to++ = *host;
        else
            to += snprintf(to, 4, "%%%02x", (unsigned char)*host);
    if (strlen(name) <= HOST_MAX)
        return name;
    free(name);
    return NULL;
}

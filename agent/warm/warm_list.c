/* warm_list.c - see warm_list.h
 *
 * The kernel reports which pages of a file are in memory (mincore), but not in which order
 * they were read. Libraries first, then files from their beginning to their end, is the order
 * of a run, and the one that disks read fastest.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "warm/warm_list.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "buffer.h"
#include "xalloc.h"

#define HEAD     "# muster warm 1\n"
#define GAP      (1 << 20)           /* smaller gaps are read, too */
#define WINDOW   (INT64_C(1) << 30)  /* bytes of a file to map at a time */

static int  parse_line(const char *line, size_t length, struct warm_list *list,
                       struct error *err);
static int  compare(const void *one, const void *other);
static bool is_library(const char *path);
static void look_at_file(struct warm_list *list, const char *path, int64_t size);
static void look_at_window(struct warm_list *list, const char *path, int fd, int64_t offset,
                           int64_t length);
static void add_resident(struct warm_list *list, const char *path, int64_t offset,
                         int64_t length);

/* --- the text --------------------------------------------------------------- */

int warm_list_parse(const char *text, struct warm_list *list, struct error *err)
{
    struct error why;
    size_t       length, line = 1;

    *list = (struct warm_list){ 0 };
    if (strncmp(text, HEAD, strlen(HEAD)) != 0)
        return err_set(err, "line 1: must be '# muster warm 1'");
    for (text += strlen(HEAD); *text != '\0'; text += length + (text[length] == '\n')) {
        length = strcspn(text, "\n");
        line++;
        if (parse_line(text, length, list, &why) < 0) {
            warm_list_clear(list);
            return err_set(err, "line %zu: %s", line, why.text);
        }
    }
    return 0;
}

static int parse_line(const char *line, size_t length, struct warm_list *list,
                      struct error *err)
{
    int64_t number[2];
    char   *end, *path;
    size_t  used = 0;
    int     i;

    for (i = 0; i < 2; i++) {
        errno = 0;
        number[i] = line[used] >= '0' && line[used] <= '9' ? strtoll(line + used, &end, 10) : -1;
        if (number[i] < 0 || errno != 0 || *end != ' ')
            return err_set(err, "must be OFFSET LENGTH PATH");
        used = (size_t)(end - line) + 1;
    }
    if (used >= length || line[used] != '/')
        return err_set(err, "the path does not begin with /");
    if (number[1] == 0 || number[1] > INT64_MAX - number[0] ||
        list->bytes > INT64_MAX - number[1])
        return err_set(err, "the length is 0 or too large");
    if (list->count >= WARM_RANGES_MAX)
        return err_set(err, "more than %u ranges", WARM_RANGES_MAX);
    path = xstrndup(line + used, length - used);
    warm_list_add(list, number[0], number[1], path);
    free(path);
    return 0;
}

void warm_list_add(struct warm_list *list, int64_t offset, int64_t length, const char *path)
{
    if (list->count >= WARM_RANGES_MAX || strchr(path, '\n') != NULL)
        return;
    if (list->range == NULL || (list->count & (list->count - 1)) == 0)
        list->range = xreallocarray(list->range, list->count > 0 ? 2 * list->count : 1,
                                    sizeof *list->range);
    list->range[list->count++] = (struct warm_range){ offset, length, xstrdup(path) };
    list->bytes += length;
}

char *warm_list_text(const struct warm_list *list)
{
    struct buffer text = { 0 };
    char         *line;
    size_t        i;

    buffer_add_text(&text, HEAD);
    for (i = 0; i < list->count; i++) {
        line = xasprintf("%" PRId64 " %" PRId64 " %s\n", list->range[i].offset,
                         list->range[i].length, list->range[i].path);
        buffer_add_text(&text, line);
        free(line);
    }
    buffer_add(&text, "", 1);
    return text.bytes;
}

void warm_list_sort(struct warm_list *list)
{
    if (list->count > 0)
        qsort(list->range, list->count, sizeof *list->range, compare);
}

static int compare(const void *one, const void *other)
{
    const struct warm_range *a = one, *b = other;
    int                      order = is_library(b->path) - is_library(a->path);

    if (order == 0)
        order = strcmp(a->path, b->path);
    return order != 0 ? order : (a->offset > b->offset) - (a->offset < b->offset);
}

static bool is_library(const char *path)
{
    const char *so = strstr(path, ".so");

    return so != NULL && (so[3] == '\0' || so[3] == '.');
}

void warm_list_clear(struct warm_list *list)
{
    size_t i;

    for (i = 0; i < list->count; i++)
        free(list->range[i].path);
    free(list->range);
    *list = (struct warm_list){ 0 };
}

/* --- what is in memory ------------------------------------------------------ */

void warm_list_look(struct warm_list *list, const char *path)
{
    char   *roots[] = { (char *)path, NULL };
    FTS    *walk = fts_open(roots, FTS_PHYSICAL | FTS_XDEV | FTS_NOCHDIR, NULL);
    FTSENT *one;

    while (walk != NULL && (one = fts_read(walk)) != NULL)
        if (one->fts_info == FTS_F && S_ISREG(one->fts_statp->st_mode))
            look_at_file(list, one->fts_path, one->fts_statp->st_size);
    if (walk != NULL)
        fts_close(walk);
}

static void look_at_file(struct warm_list *list, const char *path, int64_t size)
{
    int     fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    int64_t at;

    for (at = 0; fd >= 0 && at < size; at += WINDOW)
        look_at_window(list, path, fd, at, size - at < WINDOW ? size - at : WINDOW);
    if (fd >= 0)
        close(fd);
}

static void look_at_window(struct warm_list *list, const char *path, int fd, int64_t offset,
                           int64_t length)
{
    int64_t        page = sysconf(_SC_PAGESIZE), pages = (length + page - 1) / page, i, from = -1;
    unsigned char *resident = xmalloc((size_t)pages);
    void          *map = mmap(NULL, (size_t)length, PROT_READ, MAP_SHARED, fd, offset);

    if (map != MAP_FAILED && mincore(map, (size_t)length, resident) == 0) {
        for (i = 0; i < pages; i++) {
            if (resident[i] & 1 && from < 0)
                from = i;
            if (from >= 0 && (!(resident[i] & 1) || i == pages - 1)) {
                int64_t end = resident[i] & 1 ? length : i * page;

                add_resident(list, path, offset + from * page, end - from * page);
                from = -1;
            }
        }
    }
    if (map != MAP_FAILED)
        munmap(map, (size_t)length);
    free(resident);
}

/* Adds a range, or extends the previous range if it is near. */
static void add_resident(struct warm_list *list, const char *path, int64_t offset,
                         int64_t length)
{
    struct warm_range *last = list->count > 0 ? &list->range[list->count - 1] : NULL;
    int64_t            end;

    if (last == NULL || strcmp(last->path, path) != 0 ||
        offset - (last->offset + last->length) > GAP) {
        warm_list_add(list, offset, length, path);
        return;
    }
    end = offset + length;
    list->bytes += end - (last->offset + last->length);
    last->length = end - last->offset;
}

/* typed_lines.c - see typed_lines.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "history/typed_lines.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "buffer.h"
#include "err.h"
#include "file.h"
#include "history/run_dir.h"
#include "runid.h"
#include "xalloc.h"

#define FILE_NAME "exec_history"
#define FILE_MAX  (TYPED_LINES_MAX * (TYPED_LINES_BYTES_MAX + 1))

static char *file_path(void);
static void  write_lines(const char *path, const struct strlist *lines);

void typed_lines_read(struct strlist *lines)
{
    char        *path = file_path(), *text = NULL, *rest, *line;
    struct error err;
    size_t       size;

    if (path != NULL)
        text = file_read_at_once(path, FILE_MAX, &size, &err);
    for (rest = text; text != NULL && (line = strsep(&rest, "\n")) != NULL;)
        if (*line != '\0')
            strlist_add(lines, line);
    free(text);
    free(path);
}

bool typed_lines_keep(const char *line)
{
    struct strlist lines = { 0 };
    char          *path;

    if (line[0] == '\0' || line[0] == ' ' || line[0] == '\t' ||
        strlen(line) > TYPED_LINES_BYTES_MAX)
        return false;
    path = file_path();
    typed_lines_read(&lines); /* another prompt may have added some */
    if (path != NULL && (lines.count == 0 || strcmp(lines.item[lines.count - 1], line) != 0)) {
        strlist_add(&lines, line);
        write_lines(path, &lines);
    }
    strlist_clear(&lines);
    free(path);
    return true;
}

/* Returns NULL without a home. */
static char *file_path(void)
{
    char *runs = runid_directory();
    char *path = NULL;

    if (runs != NULL) {
        *strrchr(runs, '/') = '\0';
        path = xasprintf("%s/" FILE_NAME, runs);
    }
    free(runs);
    return path;
}

static void write_lines(const char *path, const struct strlist *lines)
{
    size_t        i = lines->count > TYPED_LINES_MAX ? lines->count - TYPED_LINES_MAX : 0;
    struct buffer text = { 0 };
    struct error  err;
    char         *dir = xstrndup(path, (size_t)(strrchr(path, '/') - path));
    int           fd = -1;

    for (; i < lines->count; i++) {
        buffer_add_text(&text, lines->item[i]);
        buffer_add_text(&text, "\n");
    }
    if (run_dir_make_above(path, &err) == 0)
        fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        run_dir_write(fd, FILE_NAME, text.bytes, text.size);
        close(fd);
    }
    buffer_clear(&text);
    free(dir);
}

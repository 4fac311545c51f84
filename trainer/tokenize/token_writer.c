/* token_writer.c - see token_writer.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "tokenize/token_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "xalloc.h"

#define FILES_MAX 1000000

static int  clear_part(const char *part, struct error *err);
static int  begin_file(struct token_writer *writer, struct error *err);
static int  end_file(struct token_writer *writer, struct error *err);
static int  fail(const struct token_writer *writer, const char *why, struct error *err);
static void name_file(const char *dir, int number, char path[PATH_MAX]);

int token_writer_open(struct token_writer *writer, const char *dir, int words, uint64_t most,
                      bool has_marks, struct error *err)
{
    *writer = (struct token_writer){ .dir = dir, .most = most, .fd = -1 };
    writer->file.width = words <= TOKEN_FILE_SMALL && !has_marks ? 2 : 4;
    writer->file.has_marks = has_marks;
    writer->part = xasprintf("%s.part", dir);
    if (rmdir(dir) < 0 && errno != ENOENT)
        return err_set(err, "%s: %s: remove it, or write to another directory", dir,
                       errno == ENOTEMPTY || errno == EEXIST ? "is not empty" : strerror(errno));
    return clear_part(writer->part, err);
}

/* Makes the directory, or empties it of the files of an earlier run. */
static int clear_part(const char *part, struct error *err)
{
    char path[PATH_MAX];
    int  i;

    if (mkdir(part, 0777) == 0)
        return 0;
    for (i = 0; errno == EEXIST && i < FILES_MAX; i++) {
        name_file(part, i, path);
        if (unlink(path) < 0)
            break;
        errno = EEXIST;
    }
    if (rmdir(part) == 0 && mkdir(part, 0777) == 0)
        return 0;
    return err_set(err, "%s: %s", part, strerror(errno));
}

int token_writer_add(struct token_writer *writer, const int32_t *tokens, size_t count,
                     struct error *err)
{
    struct error why;
    uint64_t     more;

    for (; count > 0; count -= more, tokens += more) {
        if (writer->fd >= 0 && writer->file.tokens == writer->most && end_file(writer, err) < 0)
            return -1;
        if (writer->fd < 0 && begin_file(writer, err) < 0)
            return -1;
        more = writer->most - writer->file.tokens < count ? writer->most - writer->file.tokens
                                                          : count;
        if (more > 1 << 24)
            more = 1 << 24;
        if (token_file_write(writer->fd, &writer->file, writer->file.tokens, tokens, (int)more,
                             &why) < 0)
            return fail(writer, why.text, err);
        writer->file.tokens += more;
        writer->tokens += more;
    }
    return 0;
}

int token_writer_add_document(struct token_writer *writer, const int32_t *tokens, size_t count,
                              struct error *err)
{
    if (writer->fd >= 0 && writer->file.tokens > 0 &&
        count > writer->most - writer->file.tokens && end_file(writer, err) < 0)
        return -1;
    return token_writer_add(writer, tokens, count, err);
}

static int begin_file(struct token_writer *writer, struct error *err)
{
    char path[PATH_MAX];

    if (writer->files == FILES_MAX)
        return err_set(err, "%s: more than %d files: allow more tokens in each", writer->dir,
                       FILES_MAX);
    name_file(writer->part, writer->files++, path);
    writer->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    writer->file.tokens = 0;
    return writer->fd < 0 ? fail(writer, strerror(errno), err) : 0;
}

static int end_file(struct token_writer *writer, struct error *err)
{
    struct error why;
    int          rc = token_file_begin(writer->fd, &writer->file, &why);

    if (rc == 0 && fsync(writer->fd) < 0)
        rc = err_set(&why, "%s", strerror(errno));
    if (close(writer->fd) < 0 && rc == 0)
        rc = err_set(&why, "%s", strerror(errno));
    writer->fd = -1;
    return rc < 0 ? fail(writer, why.text, err) : 0;
}

/* Names the current file in err, and returns -1. */
static int fail(const struct token_writer *writer, const char *why, struct error *err)
{
    char path[PATH_MAX];

    name_file(writer->part, writer->files - 1, path);
    return err_set(err, "%s: %s", path, why);
}

static void name_file(const char *dir, int number, char path[PATH_MAX])
{
    snprintf(path, PATH_MAX, "%s/tokens_%06d.bin", dir, number);
}

int token_writer_finish(struct token_writer *writer, struct error *err)
{
    if (writer->fd >= 0 && end_file(writer, err) < 0)
        return -1;
    if (rename(writer->part, writer->dir) < 0)
        return err_set(err, "%s: %s", writer->dir, strerror(errno));
    writer->files = 0;
    return 0;
}

void token_writer_close(struct token_writer *writer)
{
    char path[PATH_MAX];
    int  i;

    if (writer->fd >= 0)
        close(writer->fd);
    for (i = 0; i < writer->files; i++) {
        name_file(writer->part, i, path);
        unlink(path);
    }
    if (writer->part != NULL)
        rmdir(writer->part);
    free(writer->part);
    writer->part = NULL;
    writer->fd = -1;
}

/* warm_sums.c - see warm_sums.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "warm/warm_sums.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include <linux/magic.h>

#include "buffer.h"
#include "copy/seal.h"
#include "file.h"
#include "xalloc.h"

#define HEAD "# muster sums 1 "
#define BLOCK 512 /* unit of st_blocks */
#define SETTLED_S                                                                              \
    2 /* a file that changed later may change again in the same tick of its ctime */
#define XFS_MAGIC 0x58465342

static int  parse_line(const char *line, struct warm_sums *sums, struct error *err);
static int  parse_file(const char *line, struct warm_sums *sums, struct error *err);
static bool parse_time(const char **text, struct timespec *time);
static int  parse_chunk(const char *line, struct warm_sums *sums, struct error *err);
static void add_chunk_text(struct buffer *text, const struct warm_chunk *chunk);
static void add_file(struct warm_sums *sums, const char *path, const struct stat *about);
static void add_chunk(struct warm_sums *sums, uint32_t index, const unsigned char *hash);
static void drop_file(struct warm_sums *sums);
static int  compare_index(const void *one, const void *other);
static bool hash_file(struct warm_sums *sums, int fd, const struct warm_list *list, size_t from,
                      size_t to, unsigned char *room);
static bool is_settled(const struct stat *about);

/* --- the text --------------------------------------------------------------- */

void warm_mark(const char *text, char mark[WARM_MARK_CHARS + 1])
{
    unsigned char hash[CHUNK_HASH_BYTES];
    int           i;

    chunk_hash(text, strlen(text), hash);
    for (i = 0; i < WARM_MARK_CHARS / 2; i++)
        snprintf(mark + 2 * (size_t)i, 3, "%02x", hash[i]);
}

int warm_sums_parse(const char *text, const char *list_mark, struct warm_sums *sums,
                    struct error *err)
{
    size_t       length = strcspn(text, "\n"), line = 1;
    struct error why = { "" };
    char        *copy;
    int          rc = 0;

    *sums = (struct warm_sums){ 0 };
    if (strncmp(text, HEAD, strlen(HEAD)) != 0)
        return err_set(err, "line 1: is not '" HEAD "MARK'");
    if (length != strlen(HEAD) + strlen(list_mark) ||
        strncmp(text + strlen(HEAD), list_mark, strlen(list_mark)) != 0)
        return err_set(err, "line 1: it belongs to another list");
    while (rc == 0 && *(text += length + (text[length] == '\n')) != '\0') {
        length = strcspn(text, "\n");
        line++;
        copy = xstrndup(text, length);
        rc = parse_line(copy, sums, &why);
        free(copy);
    }
    if (rc < 0)
        warm_sums_clear(sums);
    return rc < 0 ? err_set(err, "line %zu: %s", line, why.text) : 0;
}

static int parse_line(const char *line, struct warm_sums *sums, struct error *err)
{
    return strncmp(line, "file ", 5) == 0 ? parse_file(line + 5, sums, err)
                                          : parse_chunk(line, sums, err);
}

static int parse_file(const char *line, struct warm_sums *sums, struct error *err)
{
    struct stat about = { 0 };
    int64_t     number[2];
    char       *end;
    int         i;

    for (i = 0; i < 2; i++, line = end + 1) {
        errno = 0;
        number[i] = *line >= '0' && *line <= '9' ? strtoll(line, &end, 10) : -1;
        if (number[i] < 0 || errno != 0 || *end != ' ')
            return err_set(err, "is not file SIZE INODE MTIME CTIME PATH");
    }
    if (!parse_time(&line, &about.st_mtim) || !parse_time(&line, &about.st_ctim) ||
        *line != '/')
        return err_set(err, "is not file SIZE INODE MTIME CTIME PATH");
    if (sums->files >= WARM_RANGES_MAX || number[0] > (int64_t)CHUNK_BYTES * INT32_MAX)
        return err_set(err, "more than %u files, or a file that is too large", WARM_RANGES_MAX);
    about.st_size = number[0];
    about.st_ino = (ino_t)number[1];
    add_file(sums, line, &about);
    return 0;
}

/* "12.000000034 " */
static bool parse_time(const char **text, struct timespec *time)
{
    char     *end;
    long long seconds;
    long      fraction;

    if (**text == '\0' || strchr("-0123456789", **text) == NULL)
        return false;
    errno = 0;
    seconds = strtoll(*text, &end, 10);
    if (errno != 0 || *end != '.' || strspn(end + 1, "0123456789") != 9)
        return false;
    fraction = strtol(end + 1, &end, 10);
    if (*end != ' ')
        return false;
    *time = (struct timespec){ (time_t)seconds, fraction };
    *text = end + 1;
    return true;
}

static int parse_chunk(const char *line, struct warm_sums *sums, struct error *err)
{
    struct warm_file *file = sums->files > 0 ? &sums->file[sums->files - 1] : NULL;
    unsigned char     hash[CHUNK_HASH_BYTES];
    char             *end;
    unsigned long index = *line >= '0' && *line <= '9' ? strtoul(line, &end, 10) : ULONG_MAX;

    if (file == NULL || index == ULONG_MAX || *end != ' ' ||
        !seal_read_hex(end + 1, hash, sizeof hash))
        return err_set(err, "must be INDEX SHA-256, after a file line");
    if (index >= chunk_count((uint64_t)file->size) ||
        (file->count > 0 && index <= sums->chunk[sums->chunks - 1].index))
        return err_set(err, "the file has no such chunk, or it is out of order");
    add_chunk(sums, (uint32_t)index, hash);
    return 0;
}

char *warm_sums_text(const struct warm_sums *sums, const char *list_mark)
{
    struct buffer           text = { 0 };
    const struct warm_file *file;
    char                   *line = xasprintf(HEAD "%s\n", list_mark);
    size_t                  i;

    buffer_add_text(&text, line);
    free(line);
    for (file = sums->file; file < sums->file + sums->files; file++) {
        line = xasprintf("file %" PRId64 " %" PRIu64 " %lld.%09ld %lld.%09ld %s\n", file->size,
                         file->inode, (long long)file->mtime.tv_sec, file->mtime.tv_nsec,
                         (long long)file->ctime.tv_sec, file->ctime.tv_nsec, file->path);
        buffer_add_text(&text, line);
        free(line);
        for (i = file->first; i < file->first + file->count; i++)
            add_chunk_text(&text, &sums->chunk[i]);
    }
    buffer_add(&text, "", 1);
    return text.bytes;
}

static void add_chunk_text(struct buffer *text, const struct warm_chunk *chunk)
{
    char   line[16 + 2 * CHUNK_HASH_BYTES];
    int    size = snprintf(line, sizeof line, "%u ", chunk->index);
    size_t i;

    for (i = 0; i < CHUNK_HASH_BYTES; i++)
        size += snprintf(line + size, 3, "%02x", chunk->hash[i]);
    line[size++] = '\n';
    buffer_add(text, line, (size_t)size);
}

void warm_sums_clear(struct warm_sums *sums)
{
    size_t i;

    for (i = 0; i < sums->files; i++)
        free(sums->file[i].path);
    free(sums->file);
    free(sums->chunk);
    *sums = (struct warm_sums){ 0 };
}

static void add_file(struct warm_sums *sums, const char *path, const struct stat *about)
{
    if ((sums->files & (sums->files - 1)) == 0)
        sums->file = xreallocarray(sums->file, sums->files > 0 ? 2 * sums->files : 1,
                                   sizeof *sums->file);
    sums->file[sums->files++] = (struct warm_file){ .path = xstrdup(path),
                                                    .size = about->st_size,
                                                    .inode = about->st_ino,
                                                    .mtime = about->st_mtim,
                                                    .ctime = about->st_ctim,
                                                    .first = sums->chunks };
}

static void add_chunk(struct warm_sums *sums, uint32_t index, const unsigned char *hash)
{
    struct warm_chunk *chunk;

    if ((sums->chunks & (sums->chunks - 1)) == 0)
        sums->chunk = xreallocarray(sums->chunk, sums->chunks > 0 ? 2 * sums->chunks : 1,
                                    sizeof *sums->chunk);
    chunk = &sums->chunk[sums->chunks++];
    *chunk = (struct warm_chunk){ .file = (uint32_t)(sums->files - 1), .index = index };
    memcpy(chunk->hash, hash, sizeof chunk->hash);
    sums->file[sums->files - 1].count++;
}

static void drop_file(struct warm_sums *sums)
{
    sums->chunks = sums->file[--sums->files].first;
    free(sums->file[sums->files].path);
}

int64_t warm_sums_find(const struct warm_sums *sums, uint32_t file, uint32_t index)
{
    const struct warm_chunk key = { .index = index }, *found;

    if (file >= sums->files || sums->file[file].count == 0)
        return -1;
    found = bsearch(&key, sums->chunk + sums->file[file].first, sums->file[file].count,
                    sizeof key, compare_index);
    return found != NULL ? found - sums->chunk : -1;
}

static int compare_index(const void *one, const void *other)
{
    const struct warm_chunk *a = one, *b = other;

    return (a->index > b->index) - (a->index < b->index);
}

/* --- files ------------------------------------------------------------------ */

/* The kernel refuses the lease while any process has the file open for writing, or has mapped
 * it so: stores into a mapped page that is already dirty would not change the ctime. */
void warm_sums_make(struct warm_sums *sums, const struct warm_list *list,
                    void (*told)(int64_t bytes, void *arg), void   *arg)
{
    unsigned char *room = xmalloc(CHUNK_BYTES);
    size_t         from, to;
    int64_t        bytes = 0;
    int            fd;

    *sums = (struct warm_sums){ 0 };
    signal(SIGIO, SIG_IGN); /* the kernel sends it if a process wants to write */
    for (from = 0; from < list->count; from = to) {
        for (to = from;
             to < list->count && strcmp(list->range[from].path, list->range[to].path) == 0;
             to++)
            bytes += list->range[to].length;
        fd = open(list->range[from].path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        if (fd >= 0 && fcntl(fd, F_SETLEASE, F_RDLCK) == 0 &&
            !hash_file(sums, fd, list, from, to, room))
            drop_file(sums);
        if (fd >= 0)
            close(fd);
        told(bytes, arg);
    }
    free(room);
}

/* Hashes the file of the ranges from..to of the list. False: the file cannot be used. */
static bool hash_file(struct warm_sums *sums, int fd, const struct warm_list *list, size_t from,
                      size_t to, unsigned char *room)
{
    struct stat       about = { 0 }, after;
    struct warm_file *file;
    unsigned char     hash[CHUNK_HASH_BYTES];
    int64_t           index, next = 0, size;

    fstat(fd, &about);
    add_file(sums, list->range[from].path, &about);
    if (!warm_file_is_plain(fd, &about) || !is_settled(&about))
        return false;
    for (; from < to; from++) {
        const struct warm_range *range = &list->range[from];

        index = range->offset / CHUNK_BYTES;
        for (index = index > next ? index : next;
             index * CHUNK_BYTES < range->offset + range->length &&
             index < chunk_count((uint64_t)about.st_size);
             next = ++index) {
            size = (int64_t)chunk_size((uint64_t)about.st_size, (uint32_t)index);
            if (size < (int64_t)WARM_CHUNK_MIN)
                continue;
            if (file_pread(fd, room, (size_t)size, (uint64_t)index * CHUNK_BYTES, NULL) < 0)
                return false;
            chunk_hash(room, (size_t)size, hash);
            add_chunk(sums, (uint32_t)index, hash);
        }
    }
    file = &sums->file[sums->files - 1];
    return file->count > 0 && fstat(fd, &after) == 0 && warm_file_is(file, &after);
}

static bool is_settled(const struct stat *about)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return about->st_ctim.tv_sec + SETTLED_S < now.tv_sec;
}

bool warm_file_is(const struct warm_file *file, const struct stat *now)
{
    return now->st_size == file->size && now->st_ino == file->inode &&
           now->st_mtim.tv_sec == file->mtime.tv_sec &&
           now->st_mtim.tv_nsec == file->mtime.tv_nsec &&
           now->st_ctim.tv_sec == file->ctime.tv_sec &&
           now->st_ctim.tv_nsec == file->ctime.tv_nsec;
}

/* Fewer blocks than bytes: the file has holes, or is compressed or inside its inode. */
bool warm_file_is_plain(int fd, const struct stat *now)
{
    struct statfs where;

    return S_ISREG(now->st_mode) && now->st_blocks >= now->st_size / BLOCK &&
           fstatfs(fd, &where) == 0 &&
           ((uint32_t)where.f_type == EXT4_SUPER_MAGIC || (uint32_t)where.f_type == XFS_MAGIC);
}

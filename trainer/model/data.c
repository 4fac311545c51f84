/* data.c - see data.h
 *
 * The order of an epoch is a permutation that is computed and not stored: four Feistel rounds
 * over the next power of four, repeated until the result is a sample's number. So any sample of
 * any epoch is found in constant time.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "model/data.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file.h"
#include "model/scramble.h"
#include "xalloc.h"

/* A shard's header has 256 numbers of four bytes; only the first three are used. */
#define BIN_HEADER  1024
#define BIN_MAGIC   20240520
#define BIN_VERSION 1

static int      open_all(struct data *data, const char *path, struct error *err);
static int      open_directory(struct data *data, const char *path, struct error *err);
static int      add_file(struct data *data, const char *path, struct error *err);
static int      look_at(struct data_file *file, struct error *err);
static int      look_at_bin(struct data_file *file, uint64_t size, struct error *err);
static bool     has_suffix(const char *path, const char *suffix);
static uint64_t samples_of(const struct data *data, uint64_t tokens);
static uint64_t shuffled(uint64_t i, uint64_t count, uint64_t seed, uint64_t epoch);
static const struct data_file *file_of(const struct data *data, uint64_t sample);
static int      read_tokens(const struct data_file *file, uint64_t first, int count,
                            int32_t *tokens, struct error *err);

struct data *data_open(const char *path, int length, bool with_next, uint64_t seed,
                       struct error *err)
{
    struct data *data = xcalloc(1, sizeof *data);

    data->length = length;
    data->with_next = with_next;
    data->seed = seed;
    if (open_all(data, path, err) < 0) {
        data_close(data);
        return NULL;
    }
    return data;
}

void data_close(struct data *data)
{
    int i;

    if (data == NULL)
        return;
    for (i = 0; i < data->files; i++) {
        if (data->file[i].fd >= 0)
            close(data->file[i].fd);
        free(data->file[i].path);
    }
    free(data->file);
    free(data);
}

static int open_all(struct data *data, const char *path, struct error *err)
{
    struct stat is;
    int         i;

    if (stat(path, &is) < 0)
        return err_set(err, "%s: %s", path, strerror(errno));
    if ((S_ISDIR(is.st_mode) ? open_directory(data, path, err) : add_file(data, path, err)) < 0)
        return -1;
    for (i = 0; i < data->files; i++) {
        data->file[i].first = data->samples;
        data->samples += samples_of(data, data->file[i].tokens);
    }
    if (data->samples == 0)
        return err_set(err, "%s: too short for a sample of %d tokens", path,
                       data->length + data->with_next);
    return 0;
}

static int visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name); /* the same in every locale */
}

static int open_directory(struct data *data, const char *path, struct error *err)
{
    struct dirent **entries;
    char            inside[PATH_MAX];
    int             i, rc = 0, count = scandir(path, &entries, visible, by_name);

    if (count < 0)
        return err_set(err, "%s: %s", path, strerror(errno));
    if (count > DATA_FILES_MAX)
        rc = err_set(err, "%s: more than %d files", path, DATA_FILES_MAX);
    for (i = 0; i < count; i++) {
        snprintf(inside, sizeof inside, "%s/%s", path, entries[i]->d_name);
        if (rc == 0)
            rc = add_file(data, inside, err);
        free(entries[i]);
    }
    free(entries);
    return rc;
}

static int add_file(struct data *data, const char *path, struct error *err)
{
    struct data_file *file;
    struct error      why;

    data->file = xreallocarray(data->file, (size_t)data->files + 1, sizeof *data->file);
    file = &data->file[data->files++];
    *file = (struct data_file){ .path = xstrdup(path) };
    file->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* does not block on a pipe */
    if (file->fd < 0)
        return err_set(err, "%s: %s", path, strerror(errno));
    return look_at(file, &why) < 0 ? err_set(err, "%s: %s", path, why.text) : 0;
}

static int look_at(struct data_file *file, struct error *err)
{
    struct stat is;

    if (fstat(file->fd, &is) < 0)
        return err_set(err, "%s", strerror(errno));
    if (!S_ISREG(is.st_mode))
        return err_set(err, "not a regular file");
    file->text = !has_suffix(file->path, ".bin");
    if (!file->text)
        return look_at_bin(file, (uint64_t)is.st_size, err);
    file->tokens = (uint64_t)is.st_size;
    return 0;
}

static int look_at_bin(struct data_file *file, uint64_t size, struct error *err)
{
    uint32_t header[3]; /* magic, version, tokens */

    if (size < BIN_HEADER)
        return err_set(err, "not a token shard: shorter than its header");
    if (file_pread(file->fd, header, sizeof header, 0, err) < 0)
        return -1;
    if (header[0] != BIN_MAGIC)
        return err_set(err, "not a token shard: it begins with %" PRIu32 ", not %d", header[0],
                       BIN_MAGIC);
    if (header[1] != BIN_VERSION)
        return err_set(err, "token shard version %" PRIu32 " is not supported, only %d",
                       header[1], BIN_VERSION);
    file->tokens = header[2];
    if (size != BIN_HEADER + 2 * file->tokens)
        return err_set(err, "the header says %" PRIu64 " tokens, but the file has %" PRIu64,
                       file->tokens, (size - BIN_HEADER) / 2);
    return 0;
}

static bool has_suffix(const char *path, const char *suffix)
{
    const size_t length = strlen(path), end = strlen(suffix);

    return length >= end && strcmp(path + length - end, suffix) == 0;
}

static uint64_t samples_of(const struct data *data, uint64_t tokens)
{
    const uint64_t more = data->with_next ? 1 : 0;

    return tokens < more ? 0 : (tokens - more) / (uint64_t)data->length;
}

int data_sample(const struct data *data, uint64_t n, int vocabulary, int32_t *tokens,
                struct error *err)
{
    const uint64_t sample =
        shuffled(n % data->samples, data->samples, data->seed, n / data->samples);
    const struct data_file *file = file_of(data, sample);
    const uint64_t          first = (sample - file->first) * (uint64_t)data->length;
    const int               count = data->length + data->with_next;
    struct error            why;
    int                     i;

    if (read_tokens(file, first, count, tokens, &why) < 0)
        return err_set(err, "%s: %s", file->path, why.text);
    for (i = 0; i < count; i++)
        if (tokens[i] >= vocabulary)
            return err_set(
                err, "%s: token number %" PRIu64 " is %d, but the model's tokens are 0 to %d",
                file->path, first + (uint64_t)i, (int)tokens[i], vocabulary - 1);
    return 0;
}

/* A Feistel network is a permutation for any round function. Repeated until the result is below
 * count, it is a permutation of 0 to count - 1. */
static uint64_t shuffled(uint64_t i, uint64_t count, uint64_t seed, uint64_t epoch)
{
    const uint64_t key = scramble(seed) + epoch;
    uint64_t       mask, left, right, next;
    int            half = 1, round;

    while (half < 32 && (count - 1) >> 2 * half != 0)
        half++;
    mask = (UINT64_C(1) << half) - 1;
    do {
        left = i >> half;
        right = i & mask;
        for (round = 0; round < 4; round++) {
            next = left ^ (scramble(scramble(key * 4 + (uint64_t)round) + right) & mask);
            left = right;
            right = next;
        }
        i = left << half | right;
    } while (i >= count);
    return i;
}

/* Returns the last file that begins at or before this sample; files without samples come before
 * it. */
static const struct data_file *file_of(const struct data *data, uint64_t sample)
{
    int low = 0, high = data->files, middle;

    while (high - low > 1) {
        middle = low + (high - low) / 2;
        if (data->file[middle].first <= sample)
            low = middle;
        else
            high = middle;
    }
    return &data->file[low];
}

static int read_tokens(const struct data_file *file, uint64_t first, int count, int32_t *tokens,
                       struct error *err)
{
    unsigned char bytes[4096];
    const int     size = file->text ? 1 : 2, room = (int)sizeof bytes / size;
    const size_t  width = (size_t)size;
    int           i, n;

    for (; count > 0; count -= n, first += (uint64_t)n, tokens += n) {
        n = count < room ? count : room;
        if (file_pread(file->fd, bytes, (size_t)n * width,
                       (file->text ? 0 : BIN_HEADER) + first * (uint64_t)size, err) < 0)
            return -1;
        for (i = 0; i < n; i++) /* NOLINTNEXTLINE: file_pread has filled bytes */
            tokens[i] = file->text ? bytes[i] : bytes[2 * i] | bytes[2 * i + 1] << 8;
    }
    return 0;
}

/* data.c - see data.h
 *
 * The order of an epoch is a permutation that is computed and not stored: four Feistel rounds
 * over the next power of four, repeated until the result is a sample's number. So any sample of
 * any epoch is found in constant time.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "data/data.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/file_list.h"
#include "file.h"
#include "model/scramble.h"
#include "xalloc.h"

static int      open_all(struct data *data, const char *path, const struct data_text *text,
                         struct error *err);
static int      add_file(struct data *data, const char *path, const struct data_text *text,
                         struct error *err);
static int      look_at(struct data_file *file, const struct data_text *text,
                        struct error *err);
static uint64_t samples_of(const struct data *data, uint64_t tokens);
static uint64_t shuffled(uint64_t i, uint64_t count, uint64_t seed, uint64_t epoch);
static const struct data_file *file_of(const struct data *data, uint64_t sample);
static int      read_tokens(const struct data_file *file, uint64_t first, int count,
                            int32_t *tokens, struct error *err);

struct data *data_open(const char *path, int length, bool with_next, uint64_t seed,
                       const struct data_text *text, struct error *err)
{
    struct data *data = xcalloc(1, sizeof *data);

    data->length = length;
    data->with_next = with_next;
    data->seed = seed;
    if (open_all(data, path, text, err) < 0) {
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
        free(data->file[i].memory);
        free(data->file[i].path);
    }
    free(data->file);
    free(data);
}

static int open_all(struct data *data, const char *path, const struct data_text *text,
                    struct error *err)
{
    struct strlist files;
    size_t         number;
    int            i, rc = file_list_read(&files, path, err);

    for (number = 0; number < files.count && rc == 0; number++)
        rc = add_file(data, files.item[number], text, err);
    strlist_clear(&files);
    if (rc < 0)
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

static int add_file(struct data *data, const char *path, const struct data_text *text,
                    struct error *err)
{
    struct data_file *file;
    struct error      why;

    data->file = xreallocarray(data->file, (size_t)data->files + 1, sizeof *data->file);
    file = &data->file[data->files++];
    *file = (struct data_file){ .path = xstrdup(path) };
    file->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* does not block on a pipe */
    if (file->fd < 0)
        return err_set(err, "%s: %s", path, strerror(errno));
    return look_at(file, text, &why) < 0 ? err_set(err, "%s: %s", path, why.text) : 0;
}

static int look_at(struct data_file *file, const struct data_text *text, struct error *err)
{
    struct stat is;
    int         rc;

    if (fstat(file->fd, &is) < 0)
        return err_set(err, "%s", strerror(errno));
    if (!S_ISREG(is.st_mode))
        return err_set(err, "not a regular file");
    file->text = !file_ends_in(file->path, ".bin");
    file->tokens = (uint64_t)is.st_size;
    if (!file->text) {
        rc = token_file_look(file->fd, (uint64_t)is.st_size, &file->form, err);
        file->tokens = file->form.tokens;
        return rc;
    }
    if (file_is_json(file->path))
        return err_set(err, "records in JSON are not supported yet: write their texts to a file "
                            "whose name does not end so, or token shards");
    if (text == NULL)
        return 0;
    rc = text->encode(text->arg, file->fd, (size_t)is.st_size, &file->memory, &file->tokens, err);
    return rc < 0 ? -1 : 0;
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
        if (tokens[i] < 0 || tokens[i] >= vocabulary)
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

static int read_tokens(const struct data_file *file, uint64_t first, int count,
                       int32_t *tokens, struct error *err)
{
    unsigned char bytes[4096];
    int           i, n;

    if (file->memory != NULL) {
        memcpy(tokens, file->memory + first, (size_t)count * sizeof *tokens);
        return 0;
    }
    if (!file->text)
        return token_file_read(file->fd, &file->form, first, count, tokens, err);
    for (; count > 0; count -= n, first += (uint64_t)n, tokens += n) {
        n = count < (int)sizeof bytes ? count : (int)sizeof bytes;
        if (file_pread(file->fd, bytes, (size_t)n, first, err) < 0)
            return -1;
        for (i = 0; i < n; i++)
            tokens[i] = bytes[i];
    }
    return 0;
}

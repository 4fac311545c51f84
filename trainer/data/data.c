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

#define SCAN_TOKENS 4096 /* at a time */

static int      open_all(struct data *data, const char *path, const struct data_text *text,
                         struct error *err);
static int      add_file(struct data *data, const char *path, const struct data_text *text,
                         struct error *err);
static int      look_at(struct data_file *file, const struct data_text *text,
                        struct error *err);
static int      pack_documents(struct data *data, const char *path, struct error *err);
static int      find_documents(struct data *data, int number, struct error *err);
static void     add_document(struct data *data, const struct data_document *next, uint64_t size,
                             uint64_t learnt);
static uint64_t samples_of(const struct data *data, uint64_t tokens);
static int      check_token(const struct data_file *file, uint64_t number, int32_t token,
                            int vocabulary, struct error *err);
static int      read_document(const struct data *data, const struct data_document *document,
                              int vocabulary, int32_t *tokens, int32_t *targets,
                              struct error *err);
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
    free(data->document);
    packing_clear(&data->packing);
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
    data->has_documents = data->file[0].has_marks;
    for (i = 1; i < data->files; i++)
        if (data->file[i].has_marks != data->has_documents)
            return err_set(err, "%s: %s has records, and %s has not: train on them apart, or write "
                                "the texts as records, too", path,
                           data->file[data->has_documents ? 0 : i].path,
                           data->file[data->has_documents ? i : 0].path);
    if (data->has_documents)
        return pack_documents(data, path, err);
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
    if (look_at(file, text, &why) == 0)
        return 0;
    if (strncmp(why.text, path, strlen(path)) == 0) /* it names a line of it */
        return err_set(err, "%s", why.text);
    return err_set(err, "%s: %s", path, why.text);
}

static int look_at(struct data_file *file, const struct data_text *text, struct error *err)
{
    struct data_encoded encoded = { .tokens = NULL };
    struct stat         is;
    int                 rc;

    if (fstat(file->fd, &is) < 0)
        return err_set(err, "%s", strerror(errno));
    if (!S_ISREG(is.st_mode))
        return err_set(err, "not a regular file");
    file->text = !file_ends_in(file->path, ".bin");
    file->tokens = (uint64_t)is.st_size;
    if (!file->text) {
        rc = token_file_look(file->fd, (uint64_t)is.st_size, &file->form, err);
        file->tokens = file->form.tokens;
        file->has_marks = file->form.has_marks;
        return rc;
    }
    if (text == NULL)
        return file_is_json(file->path) ? err_set(err, "records in JSON need a tokenizer") : 0;
    rc = text->encode(text->arg, file->path, file->fd, (size_t)is.st_size, &encoded, err);
    if (rc != 1) {
        file->memory = encoded.tokens;
        file->tokens = encoded.count;
        file->has_marks = encoded.has_marks;
    }
    return rc < 0 ? -1 : 0;
}

/* Finds the documents of all files, and puts them into samples. */
static int pack_documents(struct data *data, const char *path, struct error *err)
{
    uint32_t *sizes;
    size_t    i;
    int       number;

    if (!data->with_next)
        return err_set(err, "%s: a masked model is not trained on records", path);
    for (number = 0; number < data->files; number++)
        if (find_documents(data, number, err) < 0)
            return -1;
    sizes = xcalloc(data->documents + 1, sizeof *sizes);
    for (i = 0; i < data->documents; i++)
        sizes[i] = data->document[i].size - 1; /* the last token is only predicted */
    packing_make(&data->packing, sizes, data->documents, (uint32_t)data->length);
    free(sizes);
    data->samples = data->packing.samples;
    return data->samples > 0 ? 0 : err_set(err, "%s: has no record of which anything is learnt",
                                           path);
}

static int find_documents(struct data *data, int number, struct error *err)
{
    struct data_file    *file = &data->file[number];
    struct data_document next = { .file = number };
    int32_t              tokens[SCAN_TOKENS];
    struct error         why;
    uint64_t             at, size = 0, learnt = 0;
    int                  i, count;

    for (at = 0; at < file->tokens; at += (uint64_t)count) {
        count = file->tokens - at < SCAN_TOKENS ? (int)(file->tokens - at) : SCAN_TOKENS;
        if (read_tokens(file, at, count, tokens, &why) < 0)
            return err_set(err, "%s: %s", file->path, why.text);
        for (i = 0; i < count; i++, size++) {
            if (tokens[i] & TOKEN_BEGINS) {
                add_document(data, &next, size, learnt);
                next.first = at + (uint64_t)i;
                size = learnt = 0;
            }
            /* The first token is not predicted, and what is cut off is not read. */
            learnt += size > 0 && size <= (uint64_t)data->length && !(tokens[i] & TOKEN_MUTED);
        }
    }
    add_document(data, &next, size, learnt);
    return data->documents <= PACKING_MAX ? 0 : err_set(err, "%s: too many records", file->path);
}

/* Adds a document of so many tokens, unless nothing of it is learnt. */
static void add_document(struct data *data, const struct data_document *next, uint64_t size,
                         uint64_t learnt)
{
    const uint64_t most = (uint64_t)data->length + 1;

    if (size == 0)
        return;
    data->silent += learnt == 0;
    if (learnt == 0)
        return;
    data->cut += size > most;
    data->cut_tokens += size > most ? size - most : 0;
    if (data->documents == data->document_room) {
        data->document_room = 2 * data->document_room + 1024;
        data->document = xreallocarray(data->document, data->document_room,
                                       sizeof *data->document);
    }
    data->document[data->documents] = *next;
    data->document[data->documents++].size = (uint32_t)(size < most ? size : most);
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
        if (check_token(file, first + (uint64_t)i, tokens[i], vocabulary, err) < 0)
            return -1;
    return 0;
}

static int check_token(const struct data_file *file, uint64_t number, int32_t token,
                       int vocabulary, struct error *err)
{
    if (token >= 0 && token < vocabulary)
        return 0;
    return err_set(err, "%s: token number %" PRIu64 " is %d, but the model's tokens are 0 to %d",
                   file->path, number, (int)token, vocabulary - 1);
}

int data_packed_sample(const struct data *data, uint64_t n, int vocabulary, int32_t *tokens,
                       int32_t *targets, int32_t *begins, struct error *err)
{
    const uint64_t sample =
        shuffled(n % data->samples, data->samples, data->seed, n / data->samples);
    size_t i;
    int    at = 0, begin;

    for (i = data->packing.first[sample]; i < data->packing.first[sample + 1]; i++) {
        const struct data_document *document = &data->document[data->packing.document[i]];

        if (read_document(data, document, vocabulary, tokens + at, targets + at, err) < 0)
            return -1;
        for (begin = at; at < begin + (int)document->size - 1; at++)
            begins[at] = begin;
    }
    for (begin = at; at < data->length; at++) {
        tokens[at] = 0;
        targets[at] = -1;
        begins[at] = begin;
    }
    return 0;
}

/* Reads all tokens of a document but the last one, and of each the next one as its target. */
static int read_document(const struct data *data, const struct data_document *document,
                         int vocabulary, int32_t *tokens, int32_t *targets, struct error *err)
{
    const struct data_file *file = &data->file[document->file];
    const int               count = (int)document->size - 1;
    struct error            why;
    int                     i;

    if (read_tokens(file, document->first, count, tokens, &why) < 0 ||
        read_tokens(file, document->first + 1, count, targets, &why) < 0)
        return err_set(err, "%s: %s", file->path, why.text);
    for (i = 0; i < count; i++) {
        tokens[i] &= ~(TOKEN_BEGINS | TOKEN_MUTED);
        if (check_token(file, document->first + (uint64_t)i, tokens[i], vocabulary, err) < 0 ||
            check_token(file, document->first + (uint64_t)i + 1, targets[i] & ~TOKEN_MUTED,
                        vocabulary, err) < 0)
            return -1;
        if (targets[i] & TOKEN_MUTED)
            targets[i] = -1;
    }
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

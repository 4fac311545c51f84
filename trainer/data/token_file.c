/* token_file.c - see token_file.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "data/token_file.h"

#include <inttypes.h>
#include <string.h>

#include "file.h"

#define PART 2048 /* tokens that are read or written at a time */

static const struct kind {
    uint32_t mark, version;
    int      width;
    bool     has_marks;
} kinds[] = { { 20240520, 1, 2, false }, { 20240801, 7, 4, false }, { 0x5453554d, 1, 4, true } };
#define KINDS (sizeof kinds / sizeof kinds[0])

static uint64_t place_of(const struct token_file *file, uint64_t number);

int token_file_look(int fd, uint64_t size, struct token_file *file, struct error *err)
{
    uint32_t header[3]; /* mark, version, tokens */
    size_t   i;

    if (size < TOKEN_FILE_HEADER)
        return err_set(err, "not a token shard: shorter than its header");
    if (file_pread(fd, header, sizeof header, 0, err) < 0)
        return -1;
    for (i = 0; i < KINDS && header[0] != kinds[i].mark; i++)
        ;
    if (i == KINDS)
        return err_set(err, "not a token shard: it begins with %" PRIu32 ", not %" PRIu32
                            " or %" PRIu32, header[0], kinds[0].mark, kinds[1].mark);
    if (header[1] != kinds[i].version)
        return err_set(err, "token shard version %" PRIu32 " is not supported, only %" PRIu32,
                       header[1], kinds[i].version);
    *file = (struct token_file){ kinds[i].width, kinds[i].has_marks, header[2] };
    if (size != place_of(file, file->tokens))
        return err_set(err, "the header says %" PRIu64 " tokens, but the file has %" PRIu64,
                       file->tokens, (size - TOKEN_FILE_HEADER) / (uint64_t)file->width);
    return 0;
}

/* Returns the offset of a token in the file. */
static uint64_t place_of(const struct token_file *file, uint64_t number)
{
    return TOKEN_FILE_HEADER + number * (uint64_t)file->width;
}

int token_file_read(int fd, const struct token_file *file, uint64_t first, int count,
                    int32_t *tokens, struct error *err)
{
    uint16_t small[PART];
    int      i, n;

    if (file->width == 4)
        return file_pread(fd, tokens, (size_t)count * sizeof *tokens, place_of(file, first), err);
    for (; count > 0; count -= n, first += (uint64_t)n, tokens += n) {
        n = count < PART ? count : PART;
        if (file_pread(fd, small, (size_t)n * sizeof small[0], place_of(file, first), err) < 0)
            return -1;
        for (i = 0; i < n; i++)
            tokens[i] = small[i];
    }
    return 0;
}

int token_file_begin(int fd, const struct token_file *file, struct error *err)
{
    const struct kind *kind = &kinds[file->has_marks ? 2 : file->width == 4];
    uint32_t           header[TOKEN_FILE_HEADER / 4] = { kind->mark, kind->version,
                                                         (uint32_t)file->tokens };

    return file_pwrite(fd, header, sizeof header, 0, err);
}

int token_file_write(int fd, const struct token_file *file, uint64_t first,
                     const int32_t *tokens, int count, struct error *err)
{
    uint16_t small[PART];
    int      i, n;

    if (file->width == 4)
        return file_pwrite(fd, tokens, (size_t)count * sizeof *tokens, place_of(file, first),
                           err);
    for (; count > 0; count -= n, first += (uint64_t)n, tokens += n) {
        n = count < PART ? count : PART;
        for (i = 0; i < n; i++)
            small[i] = (uint16_t)tokens[i];
        if (file_pwrite(fd, small, (size_t)n * sizeof small[0], place_of(file, first), err) < 0)
            return -1;
    }
    return 0;
}

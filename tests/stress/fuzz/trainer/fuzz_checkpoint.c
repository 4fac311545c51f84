/* fuzz_checkpoint.c - any bytes as the only shard of a checkpoint
 *
 * The checksum of the front is made right first, or nothing behind it would be reached. What
 * is accepted must hold each element of the model once, and be readable or refused.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/crc32c.h"
#include "train/checkpoint.h"
#include "xalloc.h"

#define TOTAL_MAX 100000 /* elements that are read, too */

/* As shard.c has them. */
#define AT_CHECKSUM 12
#define AT_TOTAL    16
#define AT_MODEL    24
#define AT_ELEMENTS 32
#define HEAD_SIZE   56

static char dir[] = "/dev/shm/fuzz_checkpoint.XXXXXX"; /* no disk to wait for */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(int is_true)
{
    if (!is_true)
        abort();
}

static uint64_t number(const uint8_t *bytes, size_t size, size_t at)
{
    uint64_t value = 0;

    if (size >= HEAD_SIZE)
        memcpy(&value, bytes + at, sizeof value);
    return value;
}

/* What is in front is as long as what the three arrays leave. */
static void mend(uint8_t *bytes, size_t size)
{
    uint64_t elements = number(bytes, size, AT_ELEMENTS);
    uint32_t sum = 0;

    if (size < HEAD_SIZE || elements > (size - HEAD_SIZE) / 12)
        return;
    memcpy(bytes + AT_CHECKSUM, &sum, sizeof sum);
    sum = crc32c(0, bytes, size - elements * 12);
    memcpy(bytes + AT_CHECKSUM, &sum, sizeof sum);
}

static void put_file(const char *path, const void *bytes, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);

    expect(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
    close(fd);
}

static void clean_up(void)
{
    char *command = xasprintf("rm -rf %s", dir);

    if (system(command) != 0)
        fputs("fuzz_checkpoint: its files stay\n", stderr);
    free(command);
}

static void read_all(struct checkpoint *checkpoint, uint64_t total)
{
    struct zero_piece piece = { .count = total };
    struct error      err;

    piece.param = xcalloc(total + 1, sizeof(float));
    piece.mean = xcalloc(total + 1, sizeof(float));
    piece.square = xcalloc(total + 1, sizeof(float));
    if (checkpoint_read(checkpoint, &piece, 1, &err) < 0)
        expect(strstr(err.text, "shard-00000: damaged: wrong checksum of block") != NULL);
    free(piece.param);
    free(piece.mean);
    free(piece.square);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char       *path;
    struct checkpoint *checkpoint;
    struct error       err = { "" };
    uint8_t           *bytes = xmemdup(data, size);
    uint64_t           total = number(bytes, size, AT_TOTAL);

    if (path == NULL) {
        expect(mkdtemp(dir) != NULL);
        atexit(clean_up);
        path = xasprintf("%s/one/shard-00000", dir);
        *strrchr(path, '/') = '\0';
        expect(mkdir(path, 0777) == 0);
        path[strlen(path)] = '/';
    }
    mend(bytes, size);
    put_file(path, bytes, size);
    checkpoint = checkpoint_open(dir, "one", total, number(bytes, size, AT_MODEL), &err);
    if (checkpoint == NULL) {
        expect(err.text[0] != '\0');
    } else {
        expect(checkpoint_ranks(checkpoint) == 1);
        expect(strlen(checkpoint_note(checkpoint)) <= SHARD_NOTE_MAX);
        if (total <= TOTAL_MAX)
            read_all(checkpoint, total);
    }
    checkpoint_close(checkpoint);
    free(bytes);
    return 0;
}

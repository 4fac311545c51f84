/* shard.c - see shard.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "train/shard.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file.h"
#include "report/crc32c.h"
#include "xalloc.h"

#define MAGIC      "MUSTERCK"
#define MAGIC_SIZE 8
#define ARRAYS     3 /* per range: masters, means, squares */
#define NO_BLOCK   UINT64_MAX

struct shard_head {
    char     magic[MAGIC_SIZE];
    uint32_t version;
    uint32_t checksum; /* of all bytes before the data, computed with 0 in this field */
    uint64_t total, model;
    uint64_t elements; /* per array */
    uint32_t rank, ranks;
    uint32_t note_size, range_count;
};

/* A file that is being written. The checksums of blocks are computed during writing. */
struct writer {
    int       fd;
    uint64_t  at;   /* offset in the file */
    uint64_t  done; /* bytes of data */
    uint32_t *checksum;
};

static struct shard_head head_of(const struct shard_info *info, const struct zero_piece *pieces,
                                 int count);
static uint64_t front_size(const struct shard_head *head);
static uint64_t blocks_of(const struct shard_head *head);
static int      write_all(int fd, const struct shard_head *head, const struct shard_info *info,
                          const struct zero_piece *pieces, int count, struct error *err);
static int      write_piece(struct writer *writer, struct zero_piece piece, struct error *err);
static int      write_array(struct writer *writer, const float *array, size_t count,
                            struct error *err);
static char    *make_front(const struct shard_head *head, const struct shard_info *info,
                           const struct zero_piece *pieces, int count,
                           const uint32_t *checksum);
static int      wake(struct shard *shard, struct error *err);
static int      read_front(struct shard *shard, struct error *err);
static int      judge_head(const struct shard *shard, const struct shard_head *head,
                           uint64_t file_size, struct error *err);
static int      judge_ranges(const struct shard *shard, struct error *err);
static int      read_array(struct shard *shard, uint64_t first, size_t count, float *to,
                           struct error *err);
static int      read_block(struct shard *shard, uint64_t number, struct error *err);
static int      pread_all(const struct shard *shard, void *bytes, size_t size, uint64_t at,
                          struct error *err);

/* ---- writing ---- */

int shard_write(const char *path, const struct shard_info *info,
                const struct zero_piece *pieces, int count, struct error *err)
{
    const struct shard_head head = head_of(info, pieces, count);
    struct error            why;
    int                     fd, rc;

    if (head.note_size > SHARD_NOTE_MAX || head.range_count > SHARD_RANGES_MAX)
        return err_set(err, "%s: too many ranges or too long a note for one shard", path);
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        return err_set(err, "%s: %s", path, strerror(errno));
    rc = write_all(fd, &head, info, pieces, count, &why);
    if (rc == 0 && fsync(fd) < 0)
        rc = err_set(&why, "%s", strerror(errno));
    if (rc < 0)
        err_set(err, "%s: %s", path, why.text);
    if (close(fd) < 0 && rc == 0)
        rc = err_set(err, "%s: %s", path, strerror(errno));
    return rc;
}

static struct shard_head head_of(const struct shard_info *info, const struct zero_piece *pieces,
                                 int count)
{
    struct shard_head head = {
        .magic = MAGIC, .version = SHARD_VERSION, .total = info->total, .model = info->model,
        .rank = (uint32_t)info->rank, .ranks = (uint32_t)info->ranks,
        .note_size = (uint32_t)strlen(info->note), .range_count = (uint32_t)count,
    };
    int i;

    for (i = 0; i < count; i++)
        head.elements += pieces[i].count;
    return head;
}

/* Returns the size of everything before the data, which starts at a multiple of 8. */
static uint64_t front_size(const struct shard_head *head)
{
    uint64_t size = sizeof *head + head->note_size;

    size = (size + 7) / 8 * 8;
    size += head->range_count * sizeof(struct shard_range) + blocks_of(head) * sizeof(uint32_t);
    return (size + 7) / 8 * 8;
}

static uint64_t blocks_of(const struct shard_head *head)
{
    return (head->elements * ARRAYS * sizeof(float) + SHARD_BLOCK - 1) / SHARD_BLOCK;
}

/* Writes the front last, because it has the checksums. So an incomplete file has no valid
 * front. */
static int write_all(int fd, const struct shard_head *head, const struct shard_info *info,
                     const struct zero_piece *pieces, int count, struct error *err)
{
    struct writer writer = { .fd = fd, .at = front_size(head) };
    char         *front;
    int           i, rc = 0;

    writer.checksum = xcalloc(blocks_of(head) + 1, sizeof *writer.checksum);
    for (i = 0; i < count && rc == 0; i++)
        rc = write_piece(&writer, pieces[i], err);
    if (rc == 0) {
        front = make_front(head, info, pieces, count, writer.checksum);
        rc = file_pwrite(fd, front, front_size(head), 0, err);
        free(front);
    }
    free(writer.checksum);
    return rc;
}

static int write_piece(struct writer *writer, struct zero_piece piece, struct error *err)
{
    int rc;

    if (zero_piece_take(&piece, err) < 0)
        return -1;
    rc = write_array(writer, piece.param, piece.count, err);
    if (rc == 0)
        rc = write_array(writer, piece.mean, piece.count, err);
    if (rc == 0)
        rc = write_array(writer, piece.square, piece.count, err);
    zero_piece_give(&piece, false);
    return rc;
}

static int write_array(struct writer *writer, const float *array, size_t count,
                       struct error *err)
{
    const char *bytes = (const char *)array;
    size_t      left = count * sizeof *array, n;
    uint32_t   *sum;

    while (left > 0) {
        n = SHARD_BLOCK - writer->done % SHARD_BLOCK;
        if (n > left)
            n = left;
        sum = &writer->checksum[writer->done / SHARD_BLOCK];
        *sum = crc32c(*sum, bytes, n);
        if (file_pwrite(writer->fd, bytes, n, writer->at, err) < 0)
            return -1;
        writer->at += n;
        writer->done += n;
        bytes += n;
        left -= n;
    }
    return 0;
}

static char *make_front(const struct shard_head *head, const struct shard_info *info,
                        const struct zero_piece *pieces, int count, const uint32_t *checksum)
{
    const size_t       size = front_size(head);
    char              *front = xcalloc(1, size), *at = front + sizeof *head;
    struct shard_range range;
    uint32_t           sum;
    int                i;

    memcpy(front, head, sizeof *head);
    memcpy(at, info->note, head->note_size);
    at = front + (sizeof *head + head->note_size + 7) / 8 * 8;
    for (i = 0; i < count; i++) {
        range = (struct shard_range){ pieces[i].start, pieces[i].count };
        memcpy(at, &range, sizeof range);
        at += sizeof range;
    }
    memcpy(at, checksum, blocks_of(head) * sizeof *checksum);
    sum = crc32c(0, front, size);
    memcpy(front + offsetof(struct shard_head, checksum), &sum, sizeof sum);
    return front;
}

/* ---- reading ---- */

struct shard *shard_open(const char *path, struct error *err)
{
    struct shard *shard = xcalloc(1, sizeof *shard);

    shard->path = xstrdup(path);
    shard->fd = -1;
    if (wake(shard, err) == 0 && read_front(shard, err) == 0) {
        shard_rest(shard);
        return shard;
    }
    shard_close(shard);
    return NULL;
}

static int wake(struct shard *shard, struct error *err)
{
    shard->block_number = NO_BLOCK;
    shard->fd = open(shard->path, O_RDONLY | O_CLOEXEC);
    return shard->fd < 0 ? err_set(err, "%s: %s", shard->path, strerror(errno)) : 0;
}

void shard_rest(struct shard *shard)
{
    if (shard->fd >= 0)
        close(shard->fd);
    shard->fd = -1;
    free(shard->block);
    shard->block = NULL;
}

void shard_close(struct shard *shard)
{
    if (shard == NULL)
        return;
    shard_rest(shard);
    free((char *)shard->info.note);
    free(shard->range);
    free(shard->checksum);
    free(shard->path);
    free(shard);
}

static int read_front(struct shard *shard, struct error *err)
{
    struct shard_head head = { .version = 0 };
    struct stat       status;
    const uint32_t    none = 0;
    size_t            size, tables;
    char             *front;
    int               rc;

    if (fstat(shard->fd, &status) < 0)
        return err_set(err, "%s: %s", shard->path, strerror(errno));
    if (pread(shard->fd, &head, sizeof head, 0) < 0)
        return err_set(err, "%s: %s", shard->path, strerror(errno));
    if (judge_head(shard, &head, (uint64_t)status.st_size, err) < 0)
        return -1;

    size = front_size(&head);
    front = xmalloc(size);
    rc = pread_all(shard, front, size, 0, err);
    memcpy(front + offsetof(struct shard_head, checksum), &none, sizeof none);
    if (rc == 0 && crc32c(0, front, size) != head.checksum)
        rc = err_set(err, "%s: damaged: wrong checksum of the first %zu bytes", shard->path,
                     size);
    if (rc == 0) {
        tables = (sizeof head + head.note_size + 7) / 8 * 8;
        shard->info = (struct shard_info){
            .total = head.total, .model = head.model, .rank = (int)head.rank,
            .ranks = (int)head.ranks, .note = xstrndup(front + sizeof head, head.note_size),
        };
        shard->ranges = head.range_count;
        shard->elements = head.elements;
        shard->data_start = size;
        shard->range = xmemdup(front + tables, head.range_count * sizeof *shard->range);
        tables += head.range_count * sizeof *shard->range;
        shard->checksum = xmemdup(front + tables, blocks_of(&head) * sizeof *shard->checksum);
        rc = judge_ranges(shard, err);
    }
    free(front);
    return rc;
}

/* Trusts the sizes in the head only if the file has exactly the size that follows from them. */
static int judge_head(const struct shard *shard, const struct shard_head *head,
                      uint64_t file_size, struct error *err)
{
    uint64_t size;

    if (memcmp(head->magic, MAGIC, MAGIC_SIZE) != 0)
        return err_set(err, "%s: not a shard of a checkpoint, or incomplete", shard->path);
    if (head->version != SHARD_VERSION)
        return err_set(err, "%s: written by another version of muster-train", shard->path);
    if (head->note_size > SHARD_NOTE_MAX || head->range_count > SHARD_RANGES_MAX ||
        head->total > SHARD_TOTAL_MAX || head->elements > head->total ||
        head->ranks > INT32_MAX || head->rank >= head->ranks)
        return err_set(err, "%s: damaged: invalid sizes", shard->path);
    size = front_size(head) + head->elements * ARRAYS * sizeof(float);
    if (file_size != size)
        return err_set(err, "%s: has %llu bytes, but %llu were written", shard->path,
                       (unsigned long long)file_size, (unsigned long long)size);
    return 0;
}

static int judge_ranges(const struct shard *shard, struct error *err)
{
    const struct shard_range *range;
    uint64_t                  elements = 0, end = 0;
    uint32_t                  i;

    for (i = 0; i < shard->ranges; i++) {
        range = &shard->range[i];
        if (range->start < end || range->start > shard->info.total ||
            range->count > shard->info.total - range->start)
            return err_set(err, "%s: damaged: range %u is invalid", shard->path, i);
        end = range->start + range->count;
        elements += range->count;
    }
    if (elements != shard->elements)
        return err_set(err, "%s: damaged: the ranges do not match the number of elements",
                       shard->path);
    return 0;
}

int shard_read(struct shard *shard, const struct zero_piece *piece, struct error *err)
{
    const uint64_t end = piece->start + piece->count;
    uint64_t       before = 0, first, from, to;
    size_t         at;
    uint32_t       i;

    for (i = 0; i < shard->ranges; before += shard->range[i++].count) {
        const struct shard_range *range = &shard->range[i];

        from = range->start > piece->start ? range->start : piece->start;
        to = range->start + range->count < end ? range->start + range->count : end;
        if (from >= to)
            continue;
        at = from - piece->start;
        first = ARRAYS * before + from - range->start;
        if (read_array(shard, first, to - from, piece->param + at, err) < 0 ||
            read_array(shard, first + range->count, to - from, piece->mean + at, err) < 0 ||
            read_array(shard, first + 2 * range->count, to - from, piece->square + at, err) < 0)
            return -1;
    }
    return 0;
}

static int read_array(struct shard *shard, uint64_t first, size_t count, float *to,
                      struct error *err)
{
    uint64_t at = first * sizeof *to;
    size_t   left = count * sizeof *to, n;
    char    *bytes = (char *)to;

    while (left > 0) {
        n = SHARD_BLOCK - at % SHARD_BLOCK;
        if (n > left)
            n = left;
        if (read_block(shard, at / SHARD_BLOCK, err) < 0)
            return -1;
        memcpy(bytes, shard->block + at % SHARD_BLOCK, n);
        bytes += n;
        at += n;
        left -= n;
    }
    return 0;
}

static int read_block(struct shard *shard, uint64_t number, struct error *err)
{
    const uint64_t start = number * SHARD_BLOCK;
    const uint64_t all = shard->elements * ARRAYS * sizeof(float);
    size_t         size = all - start < SHARD_BLOCK ? all - start : SHARD_BLOCK;

    if (shard->fd < 0 && wake(shard, err) < 0)
        return -1;
    if (shard->block_number == number)
        return 0;
    shard->block_number = NO_BLOCK;
    if (shard->block == NULL)
        shard->block = xmalloc(SHARD_BLOCK);
    if (pread_all(shard, shard->block, size, shard->data_start + start, err) < 0)
        return -1;
    if (crc32c(0, shard->block, size) != shard->checksum[number])
        return err_set(err, "%s: damaged: wrong checksum of block %llu", shard->path,
                       (unsigned long long)number);
    shard->block_number = number;
    return 0;
}

static int pread_all(const struct shard *shard, void *bytes, size_t size, uint64_t at,
                     struct error *err)
{
    struct error why;

    if (file_pread(shard->fd, bytes, size, at, &why) < 0)
        return err_set(err, "%s: %s", shard->path, why.text);
    return 0;
}

/* data.c - see data.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "train/data.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* BERT's: of the tokens, how many are targets, and what stands in their place. */
#define TARGETS_PERCENT 15
#define MASK_PERCENT    80 /* the mask; else half of them another token, half themselves */
#define OTHER_PERCENT   90

static int      map_file(struct data *data, const char *path, struct error *err);
static uint64_t place_of(const struct data *data, int64_t number);
static void     hide(const struct data *data, int64_t number, int32_t *tokens,
                     int32_t *targets);
static uint64_t mix(uint64_t x);
static uint64_t common_divisor(uint64_t a, uint64_t b);

int data_open(struct data *data, const char *path, int length, bool is_masked,
              int vocabulary, uint64_t seed, struct error *err)
{
    const int tokens = is_masked ? DATA_BYTES + 1 : DATA_BYTES;

    *data = (struct data){ .length = length, .is_masked = is_masked, .seed = seed };
    if (vocabulary < tokens)
        return err_set(err, "%s: text has %d tokens, the model's vocabulary %d", path, tokens,
                       vocabulary);
    if (map_file(data, path, err) < 0)
        return -1;
    if (data->size < (size_t)length + 1) {
        data_close(data);
        return err_set(err, "%s: shorter than one sample, %d bytes", path, length + 1);
    }
    data->samples = (int64_t)((data->size - 1) / (size_t)length);
    return 0;
}

static int map_file(struct data *data, const char *path, struct error *err)
{
    int         fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    void       *bytes = MAP_FAILED;

    if (fd < 0)
        return err_set(err, "%s: %s", path, strerror(errno));
    if (fstat(fd, &status) == 0 && status.st_size > 0)
        bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED)
        err_set(err, "%s: %s", path, status.st_size == 0 ? "empty" : strerror(errno));
    close(fd);
    if (bytes == MAP_FAILED)
        return -1;
    data->bytes = bytes;
    data->size = (size_t)status.st_size;
    return 0;
}

void data_close(struct data *data)
{
    if (data->bytes != NULL)
        munmap((void *)data->bytes, data->size);
    data->bytes = NULL;
}

void data_sample(const struct data *data, int64_t number, int32_t *tokens, int32_t *targets)
{
    const uint8_t *from = data->bytes + place_of(data, number) * (uint64_t)data->length;
    int            i;

    for (i = 0; i < data->length; i++) {
        tokens[i] = from[i];
        targets[i] = from[i + 1];
    }
    if (data->is_masked)
        hide(data, number, tokens, targets);
}

/* Each epoch goes through the file in an order of its own, by a stride that has no
 * divisor in common with the number of samples. */
static uint64_t place_of(const struct data *data, int64_t number)
{
    const uint64_t samples = (uint64_t)data->samples, epoch = (uint64_t)number / samples;
    uint64_t       stride = mix(data->seed + epoch * 2) % samples;

    while (common_divisor(stride, samples) != 1)
        stride++;
    return (uint64_t)(((unsigned __int128)((uint64_t)number % samples) * stride +
                       mix(data->seed + epoch * 2 + 1)) % samples);
}

static void hide(const struct data *data, int64_t number, int32_t *tokens, int32_t *targets)
{
    uint64_t random = mix(data->seed ^ mix((uint64_t)number + 1));
    unsigned how;
    int      i;

    for (i = 0; i < data->length; i++) {
        targets[i] = -1;
        random = mix(random);
        if (random % 100 >= TARGETS_PERCENT)
            continue;
        targets[i] = tokens[i];
        how = (unsigned)(random >> 20) % 100;
        if (how < MASK_PERCENT)
            tokens[i] = DATA_MASK;
        else if (how < OTHER_PERCENT)
            tokens[i] = (int32_t)(random >> 40) % DATA_BYTES;
    }
}

/* SplitMix64. */
static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    uint64_t rest;

    while (b != 0) {
        rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* cold.c - how fast is data read that is in no cache? A disk restored
 * from a snapshot loads lazily
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "doctor/checkup.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"

#define READS      64
#define READ_BYTES (128u << 10)
#define ALIGN      4096
#define LOOK_MAX   20000 /* entries of folders to look at */
#define DEPTH_MAX  6
#define SIZE_LEAST (64ll << 20)
#define SLOW_MS    50.0
#define READ_S     20.0

struct largest {
    char  path[PATH_MAX];
    off_t size;
    int   looked;
};

static void find_largest(const char *folder, int depth, dev_t disk, struct largest *largest);
static void measure(const struct checkup *checkup, const struct largest *largest);
static int  by_size(const void *left, const void *right);

void cold_check(const struct checkup *checkup)
{
    const json_t *list = json_object_get(checkup->request, "data"), *item;
    struct stat   about;
    size_t        i;

    json_array_foreach(list, i, item) {
        struct largest largest = { .size = SIZE_LEAST };

        if (json_is_string(item) && stat(json_string_value(item), &about) == 0)
            find_largest(json_string_value(item), 0, about.st_dev, &largest);
        if (largest.path[0] != '\0')
            measure(checkup, &largest);
    }
}

static void find_largest(const char *folder, int depth, dev_t disk, struct largest *largest)
{
    char           path[PATH_MAX];
    struct dirent *entry;
    struct stat    about;
    DIR           *dir = opendir(folder);

    while (dir != NULL && (entry = readdir(dir)) != NULL && largest->looked < LOOK_MAX) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        largest->looked++;
        if (snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) >= (int)sizeof path ||
            lstat(path, &about) < 0 || about.st_dev != disk)
            continue;
        if (S_ISDIR(about.st_mode) && depth < DEPTH_MAX)
            find_largest(path, depth + 1, disk, largest);
        if (!S_ISREG(about.st_mode) || about.st_size <= largest->size)
            continue;
        largest->size = about.st_size;
        snprintf(largest->path, sizeof largest->path, "%s", path);
    }
    if (dir != NULL)
        closedir(dir);
}

/* Reads at random offsets, bypassing the page cache. */
static void measure(const struct checkup *checkup, const struct largest *largest)
{
    int      fd = open(largest->path, O_RDONLY | O_DIRECT | O_CLOEXEC);
    double   ms[READS], begun_ns = (double)clock_now_ns();
    void    *bytes = NULL;
    int64_t  before;
    int      reads;
    unsigned seed = (unsigned)clock_now_ns();

    if (fd < 0 || posix_memalign(&bytes, ALIGN, READ_BYTES) != 0) {
        if (fd >= 0)
            close(fd);
        return;
    }
    for (reads = 0; reads < READS; reads++) {
        before = clock_now_ns();
        if ((double)before - begun_ns > READ_S * NS_PER_S ||
            pread(fd, bytes, READ_BYTES,
                  rand_r(&seed) % (largest->size / READ_BYTES) * READ_BYTES) < 0)
            break;
        ms[reads] = (double)(clock_now_ns() - before) / 1e6;
    }
    free(bytes);
    close(fd);
    if (reads == 0)
        return;
    qsort(ms, (size_t)reads, sizeof *ms, by_size);
    checkup_fact(checkup, "read latency",
                 json_pack("{s:f, s:f, s:i}", "p50_ms", ms[reads / 2], "p99_ms",
                           ms[reads * 99 / 100], "reads", reads));
    if (ms[reads * 99 / 100] > SLOW_MS)
        checkup_find(checkup, CHECKUP_WARN, "programs seem to hang while they load a model",
                     "read it once before the run (muster exec -- cat FILE...), or wait",
                     "%s is read slowly: p50 %.0f ms, p99 %.0f ms for 128 KiB", largest->path,
                     ms[reads / 2], ms[reads * 99 / 100]);
}

static int by_size(const void *left, const void *right)
{
    double one, other;

    memcpy(&one, left, sizeof one);
    memcpy(&other, right, sizeof other);
    return (one > other) - (one < other);
}

/* fuzz_bcast_receive.c - what a sender may say to the agent that receives files
 *
 * Input is a row of messages: a byte that says which, two for its size, its body. They come
 * into a directory that has links to another one beside it, where nothing may ever appear.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "copy/arriving.h"
#include "copy/bcast_receive.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char world[] = "/dev/shm/fuzz-receive-XXXXXX";
static char root[64], outside[64], notes[64];

static int remove_cb(const char *path, const struct stat *what, int kind, struct FTW *at)
{
    (void)what, (void)kind, (void)at;
    return remove(path);
}

static void leave(void)
{
    nftw(world, remove_cb, 16, FTW_DEPTH | FTW_PHYS);
}

static void enter(void)
{
    if (root[0] != '\0')
        return;
    if (mkdtemp(world) == NULL)
        abort();
    snprintf(root, sizeof root, "%s/root", world);
    snprintf(outside, sizeof outside, "%s/outside", world);
    if (mkdir(outside, 0755) < 0)
        abort();
    snprintf(notes, sizeof notes, "%s/muster", world);
    setenv("XDG_CACHE_HOME", world, 1); /* for the notes about parts */
    atexit(leave);
}

static void plant(const char *name)
{
    char path[96];

    snprintf(path, sizeof path, "%s/%s", root, name);
    if (symlink("../outside", path) < 0)
        abort();
}

static void check_outside(void)
{
    struct dirent *entry;
    DIR           *dir = opendir(outside);
    int            entries = 0;

    while (dir != NULL && (entry = readdir(dir)) != NULL)
        entries++;
    if (entries != 2)
        abort();
    closedir(dir);
}

static void failed_cb(uint32_t tree, uint32_t number, const char *path, const char *what,
                      const char *why, bool is_all, void *arg)
{
    (void)tree, (void)number, (void)is_all, (void)arg;
    if (path[0] == '\0' || what[0] == '\0' || why[0] == '\0')
        abort();
}

static void dangling_cb(uint32_t tree, uint32_t number, void *arg)
{
    (void)tree, (void)number, (void)arg;
}

/* A row has the hash that its contents really have, or else it could never be settled: what comes
 * as a chunk is a row of equal bytes. */
static int take_sums(struct bcast_receive *receive, const uint8_t *body, size_t size)
{
    static uint8_t contents[CHUNK_BYTES];
    uint8_t        row[CHUNK_ROW_BYTES];
    struct chunk   chunk;
    struct error   err;
    size_t         bytes;

    if (size < CHUNK_ID_BYTES + 1)
        return bcast_receive_sums(receive, body, size, &err);
    memcpy(row, body, CHUNK_ID_BYTES);
    chunk = chunk_get(row);
    bytes = bcast_receive_chunk_size(receive, chunk);
    memset(contents, body[CHUNK_ID_BYTES], bytes);
    chunk_hash(contents, bytes, row + CHUNK_ID_BYTES);
    return bcast_receive_sums(receive, row, sizeof row, &err);
}

static void take_chunk(struct bcast_receive *receive, const uint8_t *body, size_t size)
{
    static uint8_t contents[CHUNK_BYTES];
    struct chunk   chunk;
    size_t         bytes;

    if (size < CHUNK_ID_BYTES + 1)
        return;
    chunk = chunk_get(body);
    bytes = bcast_receive_chunk_size(receive, chunk);
    memset(contents, body[CHUNK_ID_BYTES], bytes);
    if (!bcast_receive_chunk(receive, chunk, contents, bytes))
        bcast_receive_spoilt(receive, chunk);
    else if (bcast_receive_read(receive, chunk, contents, &bytes) > 0 && bytes > CHUNK_BYTES)
        abort();
}

/* As a sender cuts it into FILE and DATA: an id, and what comes of it in one part. */
static int take_part(struct bcast_receive *receive, struct arriving *arriving, const uint8_t *body,
                     size_t size)
{
    size_t       id = size < CHUNK_ID_BYTES ? size : CHUNK_ID_BYTES;
    struct error err;

    if (id > 0 && arriving->size == 0 &&
        arriving_begin(arriving, receive, body, id, &err) < 0)
        return -1;
    return arriving_take(arriving, receive, body + id, size - id, &err);
}

static int take(struct bcast_receive *receive, struct arriving *arriving, int kind,
                const uint8_t *body, size_t size)
{
    struct buffer wanted = { 0 };
    struct error  err;
    int           rc = 0;

    if ((kind & 64) != 0)
        rc = take_part(receive, arriving, body, size);
    else if (kind % 3 == 0)
        rc = bcast_receive_entries(receive, body, size, &wanted, &err);
    else if (kind % 3 == 1)
        rc = take_sums(receive, body, size);
    else
        take_chunk(receive, body, size);
    buffer_clear(&wanted);
    if (kind >= 128)
        bcast_receive_settle(receive);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct bcast_receive_ops ops = { failed_cb, dangling_cb };
    struct bcast_receive *receive = bcast_receive_new(
        &ops, NULL, size % 2 == 0 ? BCAST_LINKS_ANY : BCAST_LINKS_WITHIN, BCAST_SMALL_MAX);
    struct arriving arriving = { 0 };
    struct error    err;
    uint8_t        *body;
    size_t          part;
    int             rc = 0;

    enter();
    if (bcast_receive_root(receive, 0, root, &err) < 0)
        abort();
    plant("l");
    plant("a");
    while (size >= 3 && rc == 0) {
        part = (size_t)(data[1] << 8 | data[2]);
        part = part < size - 3 ? part : size - 3;
        body = malloc(part + 1); /* so that a sanitizer sees what is read behind it */
        memcpy(body, data + 3, part);
        rc = take(receive, &arriving, data[0], body, part);
        free(body);
        data += 3 + part;
        size -= 3 + part;
    }
    while (rc == 0 && !bcast_receive_finish(receive))
        ;
    arriving_clear(&arriving);
    bcast_receive_free(receive);
    check_outside();
    nftw(root, remove_cb, 16, FTW_DEPTH | FTW_PHYS);
    nftw(notes, remove_cb, 16, FTW_DEPTH | FTW_PHYS);
    return 0;
}

/* swarm.c - see swarm.h
 *
 * In the first phase this node reads its own chunks, and chunks that no other node
 * can send, while other nodes' chunks arrive. Then it reads the rest. Then it waits
 * until no other node needs it.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "warm/swarm.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"
#include "copy/bcast_serve.h"
#include "copy/bcast_stream.h"
#include "file.h"
#include "strlist.h"
#include "warm/swarm_file.h"
#include "warm/swarm_peers.h"
#include "warm/warm_read.h"
#include "xalloc.h"
#include "xevent.h"

#define RUN_OF 4 /* consecutive chunks that are assigned to one node: disks read them faster */
#define TICK_S 0.02
#define TELL_S 1
#define LINGER_S 30.0 /* for other nodes that request nothing */
#define ADDRESSES_MAX 64

enum phase { EXCHANGE, LEFT, LINGER };
enum own { OWN_WAITS, OWN_HERE, OWN_GONE };

struct swarm {
    const struct warm_list *list;
    const struct warm_sums *sums;
    const struct swarm_ops *ops;
    void                   *arg;
    struct swarm_counts    *counts;
    int                     number, count, streams;
    enum phase              phase;
    struct event_base      *base;
    struct event           *tick;
    struct swarm_files      files;
    struct swarm_peers      peers;
    struct bcast_serve     *serve;
    _Atomic unsigned char  *own;   /* per chunk: enum own; OWN_GONE for other nodes' chunks */
    struct warm_parts       parts; /* read from this disk: first parts, then those in left */
    struct warm_parts       left;
    struct warm_reading    *reading;
    int64_t                 told_ns, served_ns, before;
};

static int     read_request(struct swarm *swarm, const json_t *request, struct error *err);
static int     expect(struct swarm *swarm, const json_t *request, const unsigned char *run,
                      struct error *err);
static void    deal(struct swarm *swarm);
static void    deal_range(struct swarm *swarm, const struct warm_range *range, int64_t file,
                          int64_t *next);
static void    deal_chunk(struct swarm *swarm, size_t number);
static void    add_part(struct warm_parts *parts, const struct swarm *swarm, size_t number,
                        int64_t skip);
static int     part_open(const struct warm_part *part, void *arg);
static void    part_close(const struct warm_part *part, int fd, void *arg);
static void    part_read(const struct warm_part *part, bool is_whole, void *arg);
static int     serve_read(struct chunk chunk, void *bytes, size_t *size, void *arg);
static int64_t number_of(struct chunk chunk, void *arg);
static struct chunk chunk_of(size_t number, void *arg);
static void         got(size_t number, const void *bytes, size_t size, void *arg);
static void         missing(size_t number, void *arg);
static void         tick_cb(evutil_socket_t fd, short what, void *arg);
static void         advance(struct swarm *swarm, bool are_peers_over);
static void         tell(struct swarm *swarm);
static void         clear(struct swarm *swarm);

static const struct warm_read_ops read_ops = { part_open, part_close, part_read };

int swarm_port(const char *address)
{
    struct sockaddr_storage own;
    socklen_t               size = 0;
    int                     fd = -1, port = -1;

    if (stream_address(address, 0, &own, &size))
        fd = socket(own.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && bind(fd, (struct sockaddr *)&own, size) == 0 &&
        getsockname(fd, (struct sockaddr *)&own, &size) == 0)
        port = ntohs(own.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&own)->sin6_port
                                               : ((struct sockaddr_in *)&own)->sin_port);
    if (fd >= 0)
        close(fd);
    return port;
}

int swarm_run(const json_t *request, const struct warm_list *list, const struct warm_sums *sums,
              int streams, const struct swarm_ops *ops, void *arg, struct swarm_counts *counts,
              struct error *err)
{
    const struct timeval every = clock_interval(TICK_S);
    struct swarm         swarm = { .list = list, .sums = sums, .ops = ops, .arg = arg,
                                   .counts = counts, .streams = streams };
    int rc;

    *counts = (struct swarm_counts){ 0 };
    swarm.base = event_base_new();
    if (swarm.base == NULL)
        xalloc_die();
    swarm.own = xcalloc(sums->chunks + 1, sizeof *swarm.own);
    swarm_files_begin(&swarm.files, sums);
    rc = read_request(&swarm, request, err);
    if (rc == 0) {
        swarm.tick = event_new(swarm.base, -1, EV_PERSIST, tick_cb, &swarm);
        if (swarm.tick == NULL)
            xalloc_die();
        xevent_add(swarm.tick, &every);
        deal(&swarm);
        counts->total += swarm.parts.bytes;
        swarm.told_ns = swarm.served_ns = clock_now_ns();
        swarm.reading = warm_read_begin(&swarm.parts, streams, &read_ops, &swarm);
        swarm_peers_begin(&swarm.peers);
        event_base_dispatch(swarm.base);
        rc = swarm_files_sync(&swarm.files, err);
    }
    clear(&swarm);
    return rc;
}

static int read_request(struct swarm *swarm, const json_t *request, struct error *err)
{
    static const struct swarm_peers_ops ops = { number_of, chunk_of, got, missing };
    const json_t                       *peers = json_object_get(request, "peers");
    unsigned char                       run[SEAL_RUN_BYTES] = { 0 };
    json_int_t number = json_integer_value(json_object_get(request, "number"));
    json_int_t count = json_integer_value(json_object_get(request, "count"));

    if (json_array_size(peers) == 0) {
        swarm->count = 1;
        return 0;
    }
    if (number < 0 || count <= number || count > BCAST_SERVE_LINKS_MAX + 1 ||
        !seal_read_hex(json_string_value(json_object_get(request, "run")), run, sizeof run))
        return err_set(err, "swarm: \"number\", \"count\" or \"run\" is invalid");
    swarm->number = (int)number;
    swarm->count = (int)count;
    swarm->peers = (struct swarm_peers){ .base = swarm->base, .ops = &ops, .arg = swarm };
    swarm->counts->peers = (int)json_array_size(peers);
    return swarm_peers_read(&swarm->peers, peers, run, err) < 0
               ? -1
               : expect(swarm, request, run, err);
}

/* Expects the connections of the other nodes. If we cannot listen, they do without us. */
static int expect(struct swarm *swarm, const json_t *request, const unsigned char *run,
                  struct error *err)
{
    static const struct bcast_serve_ops ops = { serve_read };
    const char   *address = json_string_value(json_object_get(request, "address"));
    const json_t *item, *one;
    size_t        i, k;

    swarm->serve =
        bcast_serve_new(swarm->base, address != NULL ? address : "",
                        (int)json_integer_value(json_object_get(request, "port")), &ops, swarm);
    json_array_foreach(json_object_get(request, "peers"), i, item)
    {
        const json_t    *list = json_object_get(item, "addresses");
        struct seal_link link = { .number = (uint32_t)json_integer_value(
                                      json_object_get(item, "answer_link")) };
        struct strlist   callers = { 0 };
        struct error     why;

        memcpy(link.run, run, sizeof link.run);
        if (link.number == 0 || json_array_size(list) > ADDRESSES_MAX ||
            !seal_read_hex(json_string_value(json_object_get(item, "answer")), link.key,
                           sizeof link.key))
            return err_set(
                err,
                "swarm: \"answer_link\", \"answer\" or \"addresses\" of a node is invalid");
        json_array_foreach(list, k, one)
            strlist_add(&callers, json_is_string(one) ? json_string_value(one) : "");
        if (bcast_serve_expect(swarm->serve, &link, &callers, &why) < 0)
            snprintf(swarm->counts->why, sizeof swarm->counts->why, "%s: %.80s",
                     address != NULL ? address : "no address", why.text);
        strlist_clear(&callers);
        OPENSSL_cleanse(&link, sizeof link);
    }
    return 0;
}

/* --- assignment ------------------------------------------------------------- */

/* Assigns all chunks. The files of the sums are in the order of the list. */
static void deal(struct swarm *swarm)
{
    int64_t file = -1, next = 0;
    size_t  i, known = 0;

    for (i = 0; i < swarm->sums->chunks; i++)
        swarm->own[i] = OWN_GONE;
    for (i = 0; i < swarm->list->count; i++) {
        const struct warm_range *range = &swarm->list->range[i];

        if (i == 0 || strcmp(range->path, swarm->list->range[i - 1].path) != 0) {
            file = -1;
            next = 0;
            if (known < swarm->sums->files &&
                strcmp(swarm->sums->file[known].path, range->path) == 0)
                file = (int64_t)known++;
        }
        deal_range(swarm, range, file, &next);
    }
}

/* Assigns a range chunk by chunk; chunks before *next were assigned with an earlier range. */
static void deal_range(struct swarm *swarm, const struct warm_range *range, int64_t file,
                       int64_t *next)
{
    struct warm_part part = { .path = range->path, .file = -1, .chunk = -1 };
    int64_t          at = range->offset, end = range->offset + range->length, index, number;

    for (; at < end; at = (index + 1) * (int64_t)CHUNK_BYTES) {
        index = at / CHUNK_BYTES;
        if (index < *next)
            continue;
        number = file >= 0 ? warm_sums_find(swarm->sums, (uint32_t)file, (uint32_t)index) : -1;
        if (number >= 0) {
            deal_chunk(swarm, (size_t)number);
            *next = index + 1;
            continue;
        }
        part.offset = at;
        part.length = (index + 1) * (int64_t)CHUNK_BYTES < end
                          ? (index + 1) * (int64_t)CHUNK_BYTES - at
                          : end - at;
        warm_parts_add(&swarm->parts, &part);
    }
}

/* Another node cannot send the end of a file. Whether the file here is the same one is checked
 * only when one of its chunks arrives: to read its inode takes a disk access, too. */
static void deal_chunk(struct swarm *swarm, size_t number)
{
    const struct warm_chunk *chunk = &swarm->sums->chunk[number];
    int                      owner = (int)(number / RUN_OF % (size_t)swarm->count);
    int64_t whole = (int64_t)swarm_file_whole(&swarm->sums->file[chunk->file], chunk->index);

    if (owner == swarm->number)
        swarm->own[number] = OWN_WAITS;
    if (owner == swarm->number || !swarm_peers_want(&swarm->peers, owner, number))
        whole = 0;
    add_part(&swarm->parts, swarm, number, whole);
    swarm->counts->total += whole;
}

/* Adds a part for a chunk, without its first skip bytes. */
static void add_part(struct warm_parts *parts, const struct swarm *swarm, size_t number,
                     int64_t skip)
{
    const struct warm_chunk *chunk = &swarm->sums->chunk[number];
    const struct warm_file  *file = &swarm->sums->file[chunk->file];
    struct warm_part         part = { .offset = (int64_t)chunk->index * CHUNK_BYTES + skip,
                                      .path = file->path,
                                      .file = chunk->file,
                                      .chunk = skip == 0 ? (int64_t)number : -1 };

    part.length = (int64_t)chunk_size((uint64_t)file->size, chunk->index) - skip;
    warm_parts_add(parts, &part);
}

/* --- this disk -------------------------------------------------------------- */

static int part_open(const struct warm_part *part, void *arg)
{
    struct swarm *swarm = arg;
    int fd = part->file >= 0 ? swarm_file_open(&swarm->files, (uint32_t)part->file) : -1;

    return fd >= 0 ? fd : open(part->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

static void part_close(const struct warm_part *part, int fd, void *arg)
{
    struct swarm *swarm = arg;

    if (part->file >= 0)
        swarm_file_close(&swarm->files, (uint32_t)part->file, fd);
    else
        close(fd);
}

static void part_read(const struct warm_part *part, bool is_whole, void *arg)
{
    struct swarm *swarm = arg;

    if (part->chunk >= 0 && swarm->own[part->chunk] == OWN_WAITS)
        swarm->own[part->chunk] = is_whole ? OWN_HERE : OWN_GONE;
}

/* Reads a chunk for another node, which compares the hash. */
static int serve_read(struct chunk chunk, void *bytes, size_t *size, void *arg)
{
    struct swarm    *swarm = arg;
    int64_t          number = number_of(chunk, swarm);
    struct warm_part part = { .file = chunk.file };
    struct error     err;
    int              fd, rc = -1;

    swarm->served_ns = clock_now_ns();
    if (number < 0 || swarm->own[number] != OWN_HERE)
        return number < 0 || swarm->own[number] == OWN_GONE ? -1 : 0;
    part.path = swarm->sums->file[chunk.file].path;
    *size = chunk_size((uint64_t)swarm->sums->file[chunk.file].size, chunk.index);
    fd = part_open(&part, swarm);
    if (fd >= 0) {
        rc = file_pread(fd, bytes, *size, (uint64_t)chunk.index * CHUNK_BYTES, &err);
        part_close(&part, fd, swarm);
    }
    return rc == 0 ? 1 : -1;
}

/* --- other nodes ------------------------------------------------------------ */

static int64_t number_of(struct chunk chunk, void *arg)
{
    const struct swarm *swarm = arg;

    return chunk.tree == 0 ? warm_sums_find(swarm->sums, chunk.file, chunk.index) : -1;
}

static struct chunk chunk_of(size_t number, void *arg)
{
    const struct swarm *swarm = arg;

    return (struct chunk){ 0, swarm->sums->chunk[number].file,
                           swarm->sums->chunk[number].index };
}

static void got(size_t number, const void *bytes, size_t size, void *arg)
{
    struct swarm            *swarm = arg;
    const struct warm_chunk *chunk = &swarm->sums->chunk[number];
    const struct warm_file  *file = &swarm->sums->file[chunk->file];
    unsigned char            hash[CHUNK_HASH_BYTES];

    chunk_hash(bytes, size, hash);
    if (size == chunk_size((uint64_t)file->size, chunk->index) &&
        memcmp(hash, chunk->hash, sizeof hash) == 0 &&
        swarm_file_put(&swarm->files, chunk, bytes))
        swarm->counts->received += (int64_t)swarm_file_whole(file, chunk->index);
    else
        missing(number, swarm);
}

static void missing(size_t number, void *arg)
{
    struct swarm *swarm = arg;

    add_part(&swarm->left, swarm, number, 0);
}

/* --- phases ----------------------------------------------------------------- */

static void tick_cb(evutil_socket_t fd, short what, void *arg)
{
    struct swarm *swarm = arg;

    (void)fd, (void)what;
    if (swarm->serve != NULL)
        bcast_serve_wake(swarm->serve);
    advance(swarm, swarm_peers_tick(&swarm->peers));
    if (clock_now_ns() - swarm->told_ns >= TELL_S * NS_PER_S)
        tell(swarm);
}

static void advance(struct swarm *swarm, bool are_peers_over)
{
    bool is_unneeded = swarm->serve == NULL || bcast_serve_callers(swarm->serve) == 0 ||
                       clock_now_ns() - swarm->served_ns > LINGER_S * NS_PER_S;

    if (swarm->phase == EXCHANGE && are_peers_over && warm_read_is_over(swarm->reading)) {
        swarm->before = warm_read_bytes(swarm->reading);
        swarm->counts->failed = warm_read_failed(swarm->reading);
        warm_read_free(swarm->reading);
        swarm->reading = warm_read_begin(&swarm->left, swarm->streams, &read_ops, swarm);
        swarm->phase = LEFT;
    }
    if (swarm->phase == LEFT && warm_read_is_over(swarm->reading)) {
        swarm->counts->failed += warm_read_failed(swarm->reading);
        swarm->served_ns = clock_now_ns();
        swarm->phase = LINGER;
        tell(swarm);
    } else if (swarm->phase == LINGER && is_unneeded) {
        event_base_loopbreak(swarm->base);
    }
}

static void tell(struct swarm *swarm)
{
    struct swarm_counts *counts = swarm->counts;

    swarm->told_ns = clock_now_ns();
    counts->read = swarm->before + warm_read_bytes(swarm->reading);
    counts->lost = swarm->peers.lost;
    if (swarm->peers.why[0] != '\0')
        snprintf(counts->why, sizeof counts->why, "%s", swarm->peers.why);
    swarm->ops->tell(counts, swarm->arg);
}

static void clear(struct swarm *swarm)
{
    warm_read_free(swarm->reading);
    warm_parts_clear(&swarm->parts);
    warm_parts_clear(&swarm->left);
    swarm_peers_clear(&swarm->peers);
    bcast_serve_free(swarm->serve);
    swarm_files_end(&swarm->files);
    free((void *)swarm->own);
    if (swarm->tick != NULL)
        event_free(swarm->tick);
    event_base_free(swarm->base);
}

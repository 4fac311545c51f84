/* roster.c - see roster.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "check/roster.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check/nodes/version.h"
#include "number.h"
#include "xalloc.h"

#define ENTRY_MAX 500 /* of a rank's entry; hex doubles it, and PMI allows 1023 characters */

static void describe_self(struct roster_rank *self);
static void read_boot_id(char *text, size_t size);
static int  env_number(const char *name, const char *other);
static void entry_write(const struct roster_rank *rank, char entry[ENTRY_MAX]);
static int  entry_read(struct roster_rank *rank, char *entry);
static int  take_text(char **entry, char *text, size_t size);
static int  take_number(char **entry, int *number);
static void number_nodes(struct roster *roster);
static void name_nodes(struct roster *roster);
static int  verify_versions(const struct roster *roster, struct error *err);
static int  same_node(const struct roster_rank *a, const struct roster_rank *b);
static int  same_machine(const struct roster_rank *a, const struct roster_rank *b);

int roster_exchange(struct roster *roster, struct pmi *pmi, struct error *err)
{
    char entry[ENTRY_MAX], hex[2 * ENTRY_MAX + 1], key[32];
    int  rank, size;

    *roster = (struct roster){ .size = pmi->size };
    roster->rank = xcalloc((size_t)pmi->size, sizeof *roster->rank);
    roster->label = xcalloc((size_t)pmi->size, sizeof *roster->label);
    describe_self(&roster->rank[pmi->rank]);
    entry_write(&roster->rank[pmi->rank], entry);
    hex_encode(entry, strlen(entry), hex);
    snprintf(key, sizeof key, "roster-%d", pmi->rank);
    if (pmi_put(pmi, key, hex, err) < 0 || pmi_barrier(pmi, err) < 0)
        return -1;

    for (rank = 0; rank < pmi->size; rank++) {
        if (rank == pmi->rank)
            continue;
        snprintf(key, sizeof key, "roster-%d", rank);
        if (pmi_get(pmi, key, hex, sizeof hex, err) < 0)
            return -1;
        size = hex_decode(hex, entry, sizeof entry - 1);
        if (size >= 0)
            entry[size] = '\0';
        if (size < 0 || entry_read(&roster->rank[rank], entry) < 0)
            return err_set(
                err, "rank %d has another version of muster-train, or is not muster-train",
                rank);
    }
    number_nodes(roster);
    return 0;
}

void roster_clear(struct roster *roster)
{
    int rank;

    for (rank = 0; rank < roster->size && roster->label != NULL; rank++)
        free(roster->label[rank]);
    for (rank = 0; rank < roster->nodes && roster->name != NULL; rank++)
        free(roster->name[rank]);
    free(roster->label);
    free(roster->name);
    free(roster->leader);
    free(roster->rank);
    *roster = (struct roster){ 0 };
}

int roster_verify(const struct roster *roster, struct error *err)
{
    const struct roster_rank *one, *other;
    int                       i, j, on_node;

    if (verify_versions(roster, err) < 0)
        return -1;
    for (i = 0; i < roster->size; i++) {
        one = &roster->rank[i];
        if (one->env_size >= 0 && one->env_size != roster->size)
            return err_set(err,
                           "%s has WORLD_SIZE=%d, but %d %s: was it started by muster, with "
                           "its complete environment?",
                           roster->label[i], one->env_size, roster->size,
                           roster->size == 1 ? "rank is here" : "ranks are here");
        if (one->env_rank >= 0 && one->env_rank != i)
            return err_set(err, "%s has RANK=%d in its environment", roster->label[i],
                           one->env_rank);
        on_node = 0;
        for (j = 0; j < roster->size; j++) {
            other = &roster->rank[j];
            if (other->node != one->node)
                continue;
            on_node++;
            if (j < i && one->local_rank >= 0 && other->local_rank == one->local_rank)
                return err_set(err, "%s and %s both have local rank %d", roster->label[j],
                               roster->label[i], one->local_rank);
        }
        if (one->local_size >= 0 && one->local_size != on_node)
            return err_set(err, "%s has LOCAL_WORLD_SIZE=%d, but its node has %d %s",
                           roster->label[i], one->local_size, on_node,
                           on_node == 1 ? "rank" : "ranks");
    }
    return 0;
}

static int verify_versions(const struct roster *roster, struct error *err)
{
    int i;

    for (i = 1; i < roster->size; i++)
        if (strcmp(roster->rank[i].version, roster->rank[0].version) != 0)
            return err_set(err, "%s has muster-train %s, %s has %s: install the same version on "
                                "all nodes", roster->rank[i].host, roster->rank[i].version,
                           roster->rank[0].host, roster->rank[0].version);
    return 0;
}

int roster_gpus(const struct roster *roster, struct error *err)
{
    const struct roster_rank *one, *other;
    const char               *shared = getenv("NCCL_MULTI_RANK_GPU_ENABLE");
    int                       i, j;

    for (i = 0; i < roster->size; i++) {
        one = &roster->rank[i];
        if (!one->device.usable)
            return err_set(err, "%s: %s", roster->label[i], one->device.why_not);
        if (one->device.library_version != roster->rank[0].device.library_version)
            return err_set(err,
                           "%s has NCCL %d, %s has %d: different versions cannot communicate",
                           roster->label[0], roster->rank[0].device.library_version,
                           roster->label[i], one->device.library_version);
        if (shared != NULL && strcmp(shared, "1") == 0)
            continue; /* NCCL 2.30 and newer may share a GPU */
        for (j = 0; j < i; j++) {
            other = &roster->rank[j];
            if (strcmp(one->boot_id, other->boot_id) == 0 &&
                strcmp(one->device.uuid, other->device.uuid) == 0)
                return err_set(err, "%s and %s both use GPU %s: start only one rank per GPU",
                               roster->label[j], roster->label[i], one->device.uuid);
        }
    }
    return 0;
}

static void describe_self(struct roster_rank *self)
{
    snprintf(self->version, sizeof self->version, "%s", TRAIN_VERSION);
    gethostname(self->host, sizeof self->host - 1);
    read_boot_id(self->boot_id, sizeof self->boot_id);
    self->node_rank = env_number("NODE_RANK", "GROUP_RANK");
    self->local_rank = env_number("LOCAL_RANK", "MPI_LOCALRANKID"); /* the second is MPICH's */
    self->local_size = env_number("LOCAL_WORLD_SIZE", "MPI_LOCALNRANKS");
    self->env_rank = env_number("RANK", NULL);
    self->env_size = env_number("WORLD_SIZE", NULL);
    comm_probe(self->local_rank >= 0 ? self->local_rank : 0, &self->device);
}

static void read_boot_id(char *text, size_t size)
{
    int     fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, size - 1) : 0;

    text[n > 0 ? n : 0] = '\0';
    if (fd >= 0)
        close(fd);
}

static int env_number(const char *name, const char *other)
{
    const char *text = getenv(name);
    int64_t     value;

    if (text == NULL && other != NULL)
        text = getenv(other);
    if (text == NULL || parse_number(text, 0, INT_MAX, &value, NULL) < 0)
        return -1;
    return (int)value;
}

/* An entry consists of lines of text, in the order of the fields of roster_rank. */
static void entry_write(const struct roster_rank *rank, char entry[ENTRY_MAX])
{
    const struct comm_device *device = &rank->device;

    snprintf(entry, ENTRY_MAX, "%s\n%s\n%s\n%d\n%d\n%d\n%d\n%d\n%d\n%d\n%d\n%s\n%s\n%s",
             rank->version, rank->host, rank->boot_id, rank->node_rank, rank->local_rank,
             rank->local_size,
             rank->env_rank, rank->env_size, device->usable, device->index,
             device->library_version, device->uuid, device->name, device->why_not);
}

static int entry_read(struct roster_rank *rank, char *entry)
{
    struct comm_device *device = &rank->device;
    int                 usable = 0;

    if (take_text(&entry, rank->version, sizeof rank->version) < 0 ||
        take_text(&entry, rank->host, sizeof rank->host) < 0)
        return -1;
    if (strcmp(rank->version, TRAIN_VERSION) != 0)
        return 0; /* the other lines may differ; roster_verify() reports the version */
    if (take_text(&entry, rank->boot_id, sizeof rank->boot_id) < 0 ||
        take_number(&entry, &rank->node_rank) < 0 ||
        take_number(&entry, &rank->local_rank) < 0 ||
        take_number(&entry, &rank->local_size) < 0 ||
        take_number(&entry, &rank->env_rank) < 0 ||
        take_number(&entry, &rank->env_size) < 0 ||
        take_number(&entry, &usable) < 0 ||
        take_number(&entry, &device->index) < 0 ||
        take_number(&entry, &device->library_version) < 0 ||
        take_text(&entry, device->uuid, sizeof device->uuid) < 0 ||
        take_text(&entry, device->name, sizeof device->name) < 0 ||
        take_text(&entry, device->why_not, sizeof device->why_not) < 0)
        return -1;
    device->usable = usable != 0;
    return 0;
}

static int take_text(char **entry, char *text, size_t size)
{
    const char *line = strsep(entry, "\n");

    if (line == NULL || strlen(line) >= size)
        return -1;
    memcpy(text, line, strlen(line) + 1);
    return 0;
}

static int take_number(char **entry, int *number)
{
    const char *line = strsep(entry, "\n");
    int64_t     value;

    if (line == NULL || parse_number(line, -1, INT_MAX, &value, NULL) < 0)
        return -1;
    *number = (int)value;
    return 0;
}

static void number_nodes(struct roster *roster)
{
    struct roster_rank *one;
    int                 i, j, known;

    for (i = 0; i < roster->size; i++) {
        one = &roster->rank[i];
        for (j = known = 0; j < i; j++)
            known |= same_machine(&roster->rank[j], one);
        roster->machines += !known;
        for (j = 0; j < i && !same_node(&roster->rank[j], one); j++)
            ;
        one->node = j < i ? roster->rank[j].node : roster->nodes++;
        roster->label[i] = xasprintf("rank %d on %s", i, one->host);
    }
    name_nodes(roster);
}

static void name_nodes(struct roster *roster)
{
    int rank, node, other, same;

    roster->name = xcalloc((size_t)roster->nodes, sizeof *roster->name);
    roster->leader = xcalloc((size_t)roster->nodes, sizeof *roster->leader);
    for (rank = roster->size - 1; rank >= 0; rank--)
        roster->leader[roster->rank[rank].node] = rank;
    for (node = 0; node < roster->nodes; node++) {
        for (other = same = 0; other < roster->nodes; other++)
            same += strcmp(roster->rank[roster->leader[other]].host,
                           roster->rank[roster->leader[node]].host) == 0;
        roster->name[node] = same > 1
            ? xasprintf("%s (node %d)", roster->rank[roster->leader[node]].host, node)
            : xstrdup(roster->rank[roster->leader[node]].host);
    }
}

static int same_node(const struct roster_rank *a, const struct roster_rank *b)
{
    return same_machine(a, b) && a->node_rank == b->node_rank && strcmp(a->host, b->host) == 0;
}

/* Two nodes of a run may be on the same machine (a test, containers), and two machines may have
 * the same host name (cloned images). */
static int same_machine(const struct roster_rank *a, const struct roster_rank *b)
{
    return strcmp(a->boot_id, b->boot_id) == 0;
}

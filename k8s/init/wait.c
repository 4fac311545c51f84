/* wait.c - see wait.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "init/wait.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"
#include "file.h"
#include "log.h"
#include "xalloc.h"

#define HOSTFILE_MAX (1 << 20)
#define ROUND_MS     2000 /* for all connections of one round */
#define PAUSE_S      1
#define SAY_S        15
#define AT_ONCE_MAX  64 /* connections */

enum stage { STAGE_NAME, STAGE_CONNECT, STAGE_BANNER, STAGE_DONE };
static const char *const stages[] = { "its name does not resolve",
                                      "no connection on its SSH port",
                                      "its SSH port sends nothing", "it is ready" };

struct host {
    char      *name;
    enum stage stage;
    int        fd;
};

struct hosts {
    struct host *item;
    size_t       count, done;
};

static void   read_hosts(struct hosts *hosts, char *text);
static void   read_again(struct hosts *hosts, char **text, const char *hostfile);
static void   try_round(struct hosts *hosts, int port, int64_t until);
static void   try_some(struct host **some, size_t count, int port);
static int    open_connection(struct host *host, int port);
static void   take_banner(struct host *host);
static const struct host *first_missing(const struct hosts *hosts);
static void   clear(struct hosts *hosts);

int wait_for_hosts(const char *hostfile, int port, double seconds, struct error *err)
{
    struct hosts hosts = { 0 };
    size_t       size;
    char        *text = file_read(hostfile, HOSTFILE_MAX, &size, err);
    int64_t      until = clock_now_ns() + (int64_t)(seconds * NS_PER_S), say = clock_now_ns();
    int          rc = 0;

    if (text == NULL)
        return -1;
    read_hosts(&hosts, text);
    for (;;) {
        read_again(&hosts, &text, hostfile);
        try_round(&hosts, port, until);
        if (hosts.done == hosts.count)
            break;
        if (clock_now_ns() > until) {
            rc = err_set(err, "%zu of %zu workers are not ready after %.0f s; %s: %s",
                         hosts.count - hosts.done, hosts.count, seconds,
                         first_missing(&hosts)->name, stages[first_missing(&hosts)->stage]);
            break;
        }
        if (clock_now_ns() > say + SAY_S * NS_PER_S) {
            log_warn("waiting for %zu of %zu workers; %s: %s", hosts.count - hosts.done,
                     hosts.count, first_missing(&hosts)->name,
                     stages[first_missing(&hosts)->stage]);
            say = clock_now_ns();
        }
        sleep(PAUSE_S);
    }
    clear(&hosts);
    free(text);
    return rc;
}

static void read_hosts(struct hosts *hosts, char *text)
{
    char *line, *rest = text;

    while ((line = strsep(&rest, "\n")) != NULL) {
        line[strcspn(line, " \t#")] = '\0';
        if (line[0] == '\0')
            continue;
        hosts->item = xreallocarray(hosts->item, hosts->count + 1, sizeof *hosts->item);
        hosts->item[hosts->count++] = (struct host){ .name = line, .fd = -1 };
    }
}

/* Reads the hostfile again: an elastic job may have another number of workers now. Compares
 * only counts, because parsing modifies the text; hosts change only at its end. */
static void read_again(struct hosts *hosts, char **text, const char *hostfile)
{
    struct hosts now = { 0 };
    struct error harmless;
    size_t       size, i;
    char        *read = file_read(hostfile, HOSTFILE_MAX, &size, &harmless);

    if (read != NULL)
        read_hosts(&now, read);
    if (read == NULL || now.count == hosts->count) {
        clear(&now);
        free(read);
        return;
    }
    for (i = 0; i < now.count && i < hosts->count; i++)
        now.item[i].stage = hosts->item[i].stage;
    clear(hosts);
    free(*text);
    *hosts = now;
    *text = read;
}

/* Tries all missing hosts, AT_ONCE_MAX at a time; at least once, even if the time is over. */
static void try_round(struct hosts *hosts, int port, int64_t until)
{
    struct host *some[AT_ONCE_MAX];
    size_t       count = 0, i;

    for (i = 0; i < hosts->count; i++) {
        if (hosts->item[i].stage != STAGE_DONE)
            some[count++] = &hosts->item[i];
        if (count == AT_ONCE_MAX || (count > 0 && i + 1 == hosts->count)) {
            try_some(some, count, port);
            count = 0;
            if (clock_now_ns() > until) /* looking up a name can take seconds */
                break;
        }
    }
    hosts->done = 0;
    for (i = 0; i < hosts->count; i++)
        hosts->done += hosts->item[i].stage == STAGE_DONE;
}

static void try_some(struct host **some, size_t count, int port)
{
    struct pollfd ready[AT_ONCE_MAX];
    int64_t       until = clock_now_ns() + ROUND_MS * (NS_PER_S / 1000), left;
    size_t        i, open;

    for (i = 0; i < count; i++)
        some[i]->fd = open_connection(some[i], port);
    while ((left = until - clock_now_ns()) > 0) {
        for (i = open = 0; i < count; i++) {
            ready[i] = (struct pollfd){ .fd = some[i]->fd, .events = POLLIN };
            open += some[i]->fd >= 0;
        }
        if (open == 0 || poll(ready, count, (int)(left / 1000000) + 1) <= 0)
            break;
        for (i = 0; i < count; i++)
            if (some[i]->fd >= 0 && ready[i].revents != 0)
                take_banner(some[i]);
    }
    for (i = 0; i < count; i++)
        if (some[i]->fd >= 0)
            close(some[i]->fd);
}

/* Returns a descriptor that is connected or connecting, or -1. */
static int open_connection(struct host *host, int port)
{
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *found = NULL;
    char            service[16];
    int             fd;

    host->stage = STAGE_NAME;
    snprintf(service, sizeof service, "%d", port);
    if (getaddrinfo(host->name, service, &hints, &found) != 0)
        return -1;
    host->stage = STAGE_CONNECT;
    fd = socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, found->ai_addr, found->ai_addrlen) < 0 && errno != EINPROGRESS) {
        close(fd);
        fd = -1;
    }
    freeaddrinfo(found);
    return fd;
}

static void take_banner(struct host *host)
{
    char    says[4];
    ssize_t got = recv(host->fd, says, sizeof says, 0);

    if (got == (ssize_t)sizeof says && memcmp(says, "SSH-", sizeof says) == 0)
        host->stage = STAGE_DONE;
    else if (got >= 0)
        host->stage = STAGE_BANNER;
    close(host->fd);
    host->fd = -1;
}

static const struct host *first_missing(const struct hosts *hosts)
{
    size_t i;

    for (i = 0; i + 1 < hosts->count; i++)
        if (hosts->item[i].stage != STAGE_DONE)
            break;
    return &hosts->item[i];
}

static void clear(struct hosts *hosts)
{
    free(hosts->item);
    *hosts = (struct hosts){ 0 };
}

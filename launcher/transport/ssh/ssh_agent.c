/* ssh_agent.c - see ssh_agent.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "transport/ssh/ssh_agent.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "clock.h"
#include "frame.h"

/* draft-miller-ssh-agent */
#define REQUEST_IDENTITIES 11
#define IDENTITIES_ANSWER  12
#define ANSWER_BYTES_MAX   (256 * 1024) /* as in OpenSSH */

#define TIMEOUT_S 2
#define FRESH_S   60 /* a key may be added while a long run starts more nodes */

static int ask(const char *path, struct error *err);
static int exchange(int fd, struct error *err);

int ssh_agent_count(const char *path, struct error *err)
{
    static struct {
        char         path[sizeof((struct sockaddr_un *)0)->sun_path];
        int64_t      asked_ns;
        int          count;
        struct error err;
    } last;

    if (path[0] == '\0')
        return err_set(err, "none is running");
    if (last.asked_ns == 0 || strcmp(last.path, path) != 0 ||
        clock_now_ns() - last.asked_ns > FRESH_S * NS_PER_S) {
        last.count = ask(path, &last.err);
        last.asked_ns = clock_now_ns();
        snprintf(last.path, sizeof last.path, "%s", path);
    }
    *err = last.err;
    return last.count;
}

int ssh_agent_connect(const char *path, struct error *err)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    struct timeval     limit = { .tv_sec = TIMEOUT_S };
    int                fd;

    if (strlen(path) >= sizeof address.sun_path)
        return err_set(err, "%s: the path is too long", path);
    memcpy(address.sun_path, path, strlen(path));
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return err_set(err, "%s: %s", path, strerror(errno));
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) < 0) {
        err_set(err, "%s: %s", path, strerror(errno));
        close(fd);
        return -1;
    }
    return fd;
}

static int ask(const char *path, struct error *err)
{
    int fd = ssh_agent_connect(path, err), count;

    if (fd < 0)
        return -1;
    count = exchange(fd, err);
    close(fd);
    return count;
}

/* A refusal is exactly five bytes long. */
static int exchange(int fd, struct error *err)
{
    unsigned char request[5] = { 0, 0, 0, 1, REQUEST_IDENTITIES }, head[5], count[4];
    uint32_t      size;

    if (send(fd, request, sizeof request, MSG_NOSIGNAL) != sizeof request ||
        recv(fd, head, sizeof head, MSG_WAITALL) != sizeof head)
        return err_set(err, "it does not answer");
    size = get_u32(head);
    if (head[4] != IDENTITIES_ANSWER || size < 5 || size > ANSWER_BYTES_MAX)
        return err_set(err, "it is locked, or is not an ssh agent");
    if (recv(fd, count, sizeof count, MSG_WAITALL) != sizeof count)
        return err_set(err, "its answer is incomplete");
    return (int)(get_u32(count) & 0x7fffffff);
}

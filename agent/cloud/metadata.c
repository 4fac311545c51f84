/* metadata.c - see metadata.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cloud/metadata.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"
#include "xalloc.h"

#define HEAD_END "\r\n\r\n"
#define NO_SIZE  SIZE_MAX

static bool   is_connected(int fd, int64_t late_ns, struct error *err);
static int    await(int fd, short events, int64_t late_ns);
static int    send_all(int fd, const char *text, int64_t late_ns);
static int    read_head(const char *head, size_t size, struct metadata_reply *reply,
                        size_t *body_size);
static bool   begins(const char *at, const char *end, const char *name);
static size_t decimal(const char *text, size_t most);

char *metadata_request(const struct cloud *cloud, const char *method, const char *path,
                       const char *more)
{
    return xasprintf("%s %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n"
                     "Content-Length: 0\r\n%s%s\r\n", method, path, cloud->host, cloud->headers,
                     more);
}

int metadata_connect(const struct cloud *cloud, struct error *err)
{
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)cloud->port) };
    int                fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    inet_pton(AF_INET, cloud->address, &to.sin_addr);
    if (fd >= 0 && (connect(fd, (struct sockaddr *)&to, sizeof to) == 0 || errno == EINPROGRESS))
        return fd;
    err_set(err, "%s", strerror(errno));
    if (fd >= 0)
        close(fd);
    return -1;
}

int metadata_ask(const struct cloud *cloud, const char *method, const char *path,
                 const char *more, int64_t late_ns, struct metadata_reply *reply,
                 struct error *err)
{
    int   fd = metadata_connect(cloud, err), rc = -1;
    char *request;

    if (fd < 0)
        return -1;
    if (is_connected(fd, late_ns, err)) {
        request = metadata_request(cloud, method, path, more);
        rc = metadata_exchange(fd, request, late_ns, reply, err);
        free(request);
    }
    close(fd);
    return rc;
}

static bool is_connected(int fd, int64_t late_ns, struct error *err)
{
    int       error = 0;
    socklen_t size = sizeof error;

    if (await(fd, POLLOUT, late_ns) < 0)
        error = ETIMEDOUT;
    else if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0)
        error = errno;
    if (error != 0)
        err_set(err, "%s", strerror(error));
    return error == 0;
}

int metadata_exchange(int fd, const char *request, int64_t late_ns, struct metadata_reply *reply,
                      struct error *err)
{
    size_t  size = 0, most = METADATA_HEAD + METADATA_BODY;
    char   *bytes = xmalloc(most);
    ssize_t got;
    int     found = 0;

    if (send_all(fd, request, late_ns) < 0)
        found = -1;
    while (found == 0) {
        if (await(fd, POLLIN, late_ns) < 0)
            break;
        got = read(fd, bytes + size, most - size);
        if (got < 0 && (errno == EAGAIN || errno == EINTR))
            continue;
        size += got > 0 ? (size_t)got : 0;
        found = metadata_parse(bytes, size, got <= 0, reply);
    }
    free(bytes);
    return found > 0 ? 0 : err_set(err, "%s", found < 0 ? "what it says is not understood"
                                                        : "its answer took too long");
}

/* -1: not by then. */
static int await(int fd, short events, int64_t late_ns)
{
    struct pollfd wait = { fd, events, 0 };
    int64_t       left_ms;
    int           rc;

    do {
        left_ms = (late_ns - clock_now_ns()) / (NS_PER_S / 1000);
        rc = left_ms <= 0 ? 0 : poll(&wait, 1, (int)left_ms);
    } while (rc < 0 && errno == EINTR);
    return rc > 0 ? 0 : -1;
}

static int send_all(int fd, const char *text, int64_t late_ns)
{
    size_t  size = strlen(text);
    ssize_t sent;

    while (size > 0) {
        if (await(fd, POLLOUT, late_ns) < 0)
            return -1;
        sent = send(fd, text, size, MSG_NOSIGNAL);
        if (sent < 0 && errno != EAGAIN && errno != EINTR)
            return -1;
        text += sent > 0 ? sent : 0;
        size -= sent > 0 ? (size_t)sent : 0;
    }
    return 0;
}

/* --- HTTP ------------------------------------------------------------------- */

int metadata_parse(const char *bytes, size_t size, int is_end, struct metadata_reply *reply)
{
    const char *end = memmem(bytes, size < METADATA_HEAD ? size : METADATA_HEAD, HEAD_END,
                             strlen(HEAD_END));
    size_t      head, body, wanted;

    if (end == NULL)
        return is_end || size >= METADATA_HEAD ? -1 : 0;
    head = (size_t)(end - bytes) + strlen(HEAD_END);
    if (read_head(bytes, head, reply, &wanted) < 0)
        return -1;
    body = size - head;
    if (wanted == NO_SIZE ? !is_end && body <= METADATA_BODY : body < wanted)
        return is_end ? -1 : 0;
    reply->size = wanted == NO_SIZE ? body : wanted;
    if (reply->size > METADATA_BODY)
        return -1;
    memcpy(reply->body, bytes + head, reply->size);
    reply->body[reply->size] = '\0';
    return 1;
}

/* "HTTP/1.1 200 OK", then "Name: value". */
static int read_head(const char *head, size_t size, struct metadata_reply *reply,
                     size_t *body_size)
{
    static const char length[] = "\r\nContent-Length:", coding[] = "\r\nTransfer-Encoding:";
    const char       *at;

    *body_size = NO_SIZE;
    if (size < 13 || memcmp(head, "HTTP/1.", 7) != 0 || head[8] != ' ' ||
        memchr(head, '\0', size) != NULL)
        return -1;
    reply->status = (int)decimal(head + 9, 999);
    for (at = head; at < head + size - 2; at++) { /* no name begins later */
        if (begins(at, head + size, coding))
            return -1; /* none of them needs it */
        if (!begins(at, head + size, length))
            continue;
        at += strlen(length);
        at += strspn(at, " ");
        *body_size = decimal(at, METADATA_BODY);
        if (*body_size == NO_SIZE)
            return -1;
    }
    return reply->status >= 100 && reply->status <= 999 ? 0 : -1;
}

/* In whatever case. */
static bool begins(const char *at, const char *end, const char *name)
{
    return (size_t)(end - at) >= strlen(name) && strncasecmp(at, name, strlen(name)) == 0;
}

/* NO_SIZE: it is no number, or a larger one. */
static size_t decimal(const char *text, size_t most)
{
    size_t number = 0;

    if (!isdigit((unsigned char)*text))
        return NO_SIZE;
    for (; isdigit((unsigned char)*text); text++) {
        number = number * 10 + (size_t)(*text - '0');
        if (number > most)
            return NO_SIZE;
    }
    return number;
}

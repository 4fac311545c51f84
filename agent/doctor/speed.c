/* speed.c - how fast a node sends to another one, and how long a round trip takes
 *
 * In each round every node sends to one peer while another one sends to it, so that all
 * connections are busy in both directions, as in an all_reduce. It first measures round trips,
 * then sends for half a second. The receiver counts the bytes and measures the time, since its
 * answer may have to wait behind the data that it sends.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "doctor/checkup.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "doctor/listen.h"
#include "frame.h"
#include "xalloc.h"

#define MESSAGE   20 /* bytes: token, number of the sender */
#define TOKEN     16
#define TRIPS     16
#define PART      (256u << 10)
#define SEND_AT_S 0.3 /* when the others' round trips are over, too, which would wait behind
                         the data */
#define SEND_S    0.5
#define STUCK_S   3   /* per part, or message */
#define CALL_S    2.0 /* for the peer to listen */
#define AGAIN_MS  20
#define SERVE_S   6.0 /* in total */

static void send_to(const struct checkup *checkup, const unsigned char message[MESSAGE]);
static int  call(const char *address, int port);
static bool measure(int fd, const unsigned char message[MESSAGE], int64_t send_ns, double *mb_s,
                    double *trip_ms);
static void serve(int listener, const unsigned char message[MESSAGE]);
static bool serve_one(int fd, const unsigned char message[MESSAGE], int64_t late_ns);
static void set_timeouts(int fd);
static bool exchange(int fd, bool is_send, void *bytes, size_t size);

void speed_check(const struct checkup *checkup)
{
    const char   *token = checkup_word(checkup, "token");
    unsigned char message[MESSAGE];
    int           listener;
    pid_t         pid;

    if (token == NULL || strlen(token) != TOKEN)
        return;
    memcpy(message, token, TOKEN);
    put_u32(message + TOKEN,
            (uint32_t)json_integer_value(json_object_get(checkup->request, "node")));
    listener = listen_at((int)json_integer_value(json_object_get(checkup->request, "port")));
    pid = fork();
    if (pid == 0) {
        send_to(checkup, message);
        _exit(0);
    }
    if (listener >= 0) {
        if (json_is_true(json_object_get(checkup->request, "is_called")))
            serve(listener, message);
        close(listener);
    }
    if (pid > 0)
        waitpid(pid, NULL, 0);
}

/* --- the sender ------------------------------------------------------------- */

static void send_to(const struct checkup *checkup, const unsigned char message[MESSAGE])
{
    const json_t *peer = json_object_get(checkup->request, "peer");
    const char   *address = json_string_value(json_object_get(peer, "address"));
    int           port = (int)json_integer_value(json_object_get(peer, "port"));
    int64_t       send_ns = clock_now_ns() + (int64_t)(SEND_AT_S * NS_PER_S);
    int           fd = address != NULL ? call(address, port) : -1;
    char          name[32];
    double        mb_s, trip_ms;

    if (fd < 0 || !measure(fd, message, send_ns, &mb_s, &trip_ms))
        return;
    snprintf(name, sizeof name, "speed %d",
             (int)json_integer_value(json_object_get(checkup->request, "id")));
    checkup_fact(checkup, name,
                 json_pack("{s:O, s:f, s:f}", "node", json_object_get(peer, "node"), "mb_s", mb_s,
                           "trip_ms", trip_ms));
}

/* Returns -1 if the peer does not listen. */
static int call(const char *address, int port)
{
    const struct timespec again = { 0, AGAIN_MS * 1000000L };
    int64_t               late_ns = clock_now_ns() + (int64_t)(CALL_S * NS_PER_S);
    struct sockaddr_in    v4 = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
    struct sockaddr_in6   v6 = { .sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port) };
    bool                  is_v4 = inet_pton(AF_INET, address, &v4.sin_addr) == 1;
    const void           *to = is_v4 ? (const void *)&v4 : &v6;
    int                   fd, on = 1;

    if (!is_v4 && inet_pton(AF_INET6, address, &v6.sin6_addr) != 1)
        return -1;
    do {
        fd = socket(is_v4 ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd < 0)
            return -1;
        set_timeouts(fd);
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        if (connect(fd, to, is_v4 ? sizeof v4 : sizeof v6) == 0)
            return fd;
        close(fd);
        nanosleep(&again, NULL);
    } while (clock_now_ns() < late_ns);
    return -1;
}

static bool measure(int fd, const unsigned char message[MESSAGE], int64_t send_ns, double *mb_s,
                    double *trip_ms)
{
    unsigned char *part = xcalloc(1, PART), copy[MESSAGE], answer[16];
    uint64_t       ns;
    int64_t        begun_ns;
    double         ms;
    int            i;
    bool           is_ok = true;

    for (*trip_ms = 1e9, i = 0; is_ok && i < TRIPS; i++) {
        memcpy(copy, message, MESSAGE);
        begun_ns = clock_now_ns();
        is_ok = exchange(fd, true, copy, MESSAGE) && exchange(fd, false, copy, MESSAGE);
        ms = (double)(clock_now_ns() - begun_ns) / 1e6;
        *trip_ms = ms < *trip_ms ? ms : *trip_ms;
    }
    while ((begun_ns = clock_now_ns()) < send_ns)
        poll(NULL, 0, (int)((send_ns - begun_ns) / 1000000) + 1);
    do {
        is_ok = is_ok && exchange(fd, true, part, PART);
    } while (is_ok && clock_now_ns() - begun_ns < (int64_t)(SEND_S * NS_PER_S));
    free(part);
    if (!is_ok || shutdown(fd, SHUT_WR) < 0 || !exchange(fd, false, answer, sizeof answer))
        return false;
    ns = get_u64(answer + 8);
    *mb_s = (double)get_u64(answer) * 1e3 / (ns > 0 ? (double)ns : 1);
    return true;
}

/* --- the receiver ----------------------------------------------------------- */

/* Rejects callers without the token. */
static void serve(int listener, const unsigned char message[MESSAGE])
{
    int64_t       late_ns = clock_now_ns() + (int64_t)(SERVE_S * NS_PER_S), left_ns;
    struct pollfd wait = { .fd = listener, .events = POLLIN };
    bool          is_served = false;
    int           fd;

    while (!is_served && (left_ns = late_ns - clock_now_ns()) > 0) {
        poll(&wait, 1, (int)(left_ns / 1000000) + 1);
        fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0)
            continue;
        set_timeouts(fd);
        is_served = serve_one(fd, message, late_ns);
        close(fd);
    }
}

static bool serve_one(int fd, const unsigned char message[MESSAGE], int64_t late_ns)
{
    unsigned char *part = xmalloc(PART), theirs[MESSAGE], answer[16];
    uint64_t       bytes = 0;
    int64_t        begun_ns = 0;
    ssize_t        got = 1;
    int            i, on = 1;
    bool           is_ok = true;

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    for (i = 0; is_ok && i < TRIPS; i++)
        is_ok = exchange(fd, false, theirs, MESSAGE) && memcmp(theirs, message, TOKEN) == 0 &&
                exchange(fd, true, theirs, MESSAGE);
    while (is_ok && got > 0 && clock_now_ns() < late_ns) {
        got = recv(fd, part, PART, 0);
        begun_ns = begun_ns != 0 ? begun_ns : clock_now_ns();
        bytes += got > 0 ? (uint64_t)got : 0;
    }
    free(part);
    put_u64(answer, bytes);
    put_u64(answer + 8, (uint64_t)(clock_now_ns() - begun_ns));
    return is_ok && got == 0 && exchange(fd, true, answer, sizeof answer);
}

/* --- both ------------------------------------------------------------------- */

static void set_timeouts(int fd)
{
    const struct timeval stuck = { .tv_sec = STUCK_S };

    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &stuck, sizeof stuck);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &stuck, sizeof stuck);
}

/* Sends or receives all bytes. */
static bool exchange(int fd, bool is_send, void *bytes, size_t size)
{
    size_t  done = 0;
    ssize_t part;

    while (done < size) {
        part = is_send ? send(fd, (char *)bytes + done, size - done, MSG_NOSIGNAL)
                       : recv(fd, (char *)bytes + done, size - done, 0);
        if (part == 0 || (part < 0 && errno != EINTR))
            return false;
        done += part > 0 ? (size_t)part : 0;
    }
    return true;
}

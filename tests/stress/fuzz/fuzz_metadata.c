/* fuzz_metadata.c - any bytes as all that a metadata service says
 *
 * The first byte chooses the cloud, the question, whether the answer comes in two parts, and
 * whether nobody waits for its end. Over a real socket of this process, for evhttp connects by
 * itself.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <arpa/inet.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"
#include "cloud/cloud.h"
#include "cloud/metadata.h"
#include "xevent.h"

#define NOW   1795335600 /* 2026-11-22T08:20:00Z */
#define FAR_S 60         /* the service closes, after which there is nothing to wait for */

struct asking {
    struct cloud        cloud;
    enum metadata_asked asked;
    const uint8_t      *at, *end; /* what the service has yet to say */
    size_t              part;
    int                 answers;
};

static struct event_base *base;
static struct cloud       here; /* of which the address counts */
static struct event      *accepts;
static struct event      *service; /* its connection; NULL: none */
static struct asking      asking;

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "fuzz_metadata: %s\n", what);
    abort();
}

/* --- the service ------------------------------------------------------------ */

/* It hears the question, answers, and says that this was all. */
static void service_cb(evutil_socket_t fd, short what, void *arg)
{
    char    request[4096];
    size_t  left = (size_t)(asking.end - asking.at);
    size_t  part = left < asking.part ? left : asking.part;
    ssize_t size;

    (void)arg;
    if ((what & EV_READ) != 0) {
        if (read(fd, request, sizeof request) > 0)
            xevent_watch(service, EV_WRITE);
        else
            event_del(service);
        return;
    }
    size = part > 0 ? send(fd, asking.at, part, MSG_NOSIGNAL) : 0;
    asking.at += size > 0 ? size : 0;
    if (size < 0 || asking.at == asking.end) {
        shutdown(fd, SHUT_WR);
        event_del(service);
    }
}

static void accept_cb(evutil_socket_t fd, short what, void *arg)
{
    int accepted = accept(fd, NULL, NULL);

    (void)what, (void)arg;
    must(accepted >= 0 && service == NULL, "a second connection");
    evutil_make_socket_nonblocking(accepted);
    service = xevent_new(base, accepted, service_cb, NULL);
    xevent_watch(service, EV_READ);
}

/* Without linger, so that the kernel keeps none of the thousands of ports. */
static void hang_up(void)
{
    const struct linger none = { .l_onoff = 1 };
    int                 fd = service != NULL ? event_get_fd(service)
                                             : accept(event_get_fd(accepts), NULL, NULL);

    if (service != NULL)
        event_free(service);
    service = NULL;
    if (fd < 0)
        return;
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof none);
    close(fd);
}

/* --- who asks --------------------------------------------------------------- */

static void answer_cb(const struct metadata_reply *reply, const struct error *err, void *arg)
{
    const struct cloud *cloud = &asking.cloud;
    struct cloud_notice notice;
    struct error        why;
    char                word[CLOUD_FIRST_MAX + 1];

    (void)arg;
    asking.answers++;
    must(reply != NULL || err->text[0] != '\0', "no answer, and nothing why");
    if (reply == NULL)
        return;
    must(reply->status >= 100 && reply->status <= 999, "no status");
    must(reply->size <= METADATA_BODY && reply->body[reply->size] == '\0', "no end");
    if (asking.asked == METADATA_FIRST && cloud_read_first(reply->body, reply->size, word) == 0)
        must(strpbrk(word, "\r\n: ") == NULL, "a token that is a header");
    else if (asking.asked == METADATA_CLASS)
        cloud_is_spot(cloud, reply->body);
    else if (cloud_read(cloud, reply->status, reply->body, reply->size, "vm1", NOW, &notice,
                        &why) == CLOUD_GOES && notice.at_s != 0)
        must(notice.at_s > NOW && notice.at_s <= NOW + CLOUD_LATEST_S, "an odd time");
}

static void choose(uint8_t byte)
{
    static const char *const names[] = { "alibaba", "aws",     "gcp",
                                         "azure",   "tencent", "volcengine" };

    asking = (struct asking){ .cloud = *cloud_by_name(names[byte % 6]), .asked = byte / 6 % 3 };
    asking.cloud.address = here.address;
    asking.cloud.port = here.port;
    if ((asking.asked == METADATA_FIRST && asking.cloud.first_path == NULL) ||
        (asking.asked == METADATA_CLASS && asking.cloud.class_path == NULL))
        asking.asked = METADATA_NOTICE;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t          size = sizeof at;
    int                fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

    (void)argc, (void)argv;
    must(bind(fd, (struct sockaddr *)&at, sizeof at) == 0 && listen(fd, 10) == 0 &&
         getsockname(fd, (struct sockaddr *)&at, &size) == 0, "no port");
    here.address = "127.0.0.1";
    here.port = ntohs(at.sin_port);
    base = event_base_new();
    accepts = xevent_new(base, fd, accept_cb, NULL);
    xevent_watch(accepts, EV_READ);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t          byte = size > 0 ? data[0] : 0;
    int              rounds = byte >= 216 ? byte % 5 : 1000000; /* after which nobody waits */
    struct metadata *question;

    choose(byte);
    asking.at = data + (size > 0);
    asking.end = data + size;
    asking.part = byte / 18 % 2 != 0 ? size / 2 + 1 : size + 1;
    question = metadata_begin(base, &asking.cloud, asking.asked, "t0==",
                              clock_now_ns() + FAR_S * NS_PER_S, answer_cb, NULL);
    while (asking.answers == 0 && rounds-- > 0)
        event_base_loop(base, EVLOOP_ONCE);
    must(asking.answers == 1 || byte >= 216, "no answer");
    metadata_free(question);
    hang_up();
    event_base_loop(base, EVLOOP_NONBLOCK);
    must(asking.answers <= 1, "answered twice");
    return 0;
}

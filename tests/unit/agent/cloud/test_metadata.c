/* test_metadata.c - what a metadata service may answer, and who is in its place
 *
 * Each answers on a port of its own, as a child of this process.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "clock.h"
#include "cloud/metadata.h"
#include "fd.h"
#include "xalloc.h"

#define H      "HTTP/1.1 200 OK\r\n"
#define L(n)   "Content-Length: " #n "\r\n"
#define NONE "its answer is not valid HTTP"
#define LATE   "its answer took too long"
#define FAR_S  30   /* of a deadline that must not be met; less than those of evhttp */
#define NEAR_S 0.05 /* of one that must */

/* What a service does when it has said its bytes: */
enum then {
    ENDS,   /* closes */
    STAYS,  /* says nothing more */
    DRIPS,  /* says the last byte again and again */
    SPILLS, /* ... as fast as it can */
    FLOODS, /* says all of it again and again, as fast as it can */
};

struct service {
    const char *bytes;
    enum then   then;
};

static int listen_here(int backlog, struct cloud *cloud);

/* --- services --------------------------------------------------------------- */

static void serve(int listener, struct service service, int told)
{
    static char last[65536];
    char        request[4096];
    int         fd = accept(listener, NULL, NULL);
    ssize_t     size = read(fd, request, sizeof request);
    size_t      length = strlen(service.bytes);

    signal(SIGPIPE, SIG_DFL);
    if (size > 0)
        fd_write_all(told, request, (size_t)size);
    fd_write_all(fd, service.bytes, length);
    if (service.then == DRIPS || service.then == SPILLS)
        memset(last, service.bytes[length - 1], sizeof last);
    while (service.then == DRIPS && fd_write_all(fd, last, 1) == 1)
        usleep(5000);
    while (service.then == SPILLS && fd_write_all(fd, last, sizeof last) == sizeof last)
        ;
    while (service.then == FLOODS && fd_write_all(fd, service.bytes, length) == length)
        ;
    while (service.then == STAYS && read(fd, request, sizeof request) > 0)
        ;
    close(fd);
    _exit(0);
}

/* backlog 0: the kernel takes one connection more than are accepted. */
static int listen_here(int backlog, struct cloud *cloud)
{
    struct sockaddr_in here = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t          size = sizeof here;
    int                fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(bind(fd, (struct sockaddr *)&here, sizeof here), 0);
    assert_int_equal(listen(fd, backlog), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&here, &size), 0);
    cloud->address = "127.0.0.1";
    cloud->port = ntohs(here.sin_port);
    return fd;
}

/* "200 spot", or why not. Caller frees. */
static char *answer_of(const struct cloud *cloud, enum metadata_asked asked, const char *first,
                       double seconds)
{
    struct metadata_reply *reply = xcalloc(1, sizeof *reply);
    int64_t                late_ns = clock_now_ns() + (int64_t)(seconds * NS_PER_S);
    struct error           err;
    char                  *text;

    if (metadata_ask(cloud, asked, first, late_ns, reply, &err) == 0) {
        assert_int_equal(strlen(reply->body), reply->size);
        text = xasprintf("%d %s", reply->status, reply->body);
    } else {
        text = xstrdup(err.text);
    }
    free(reply);
    return text;
}

/* The same of this service, which hears this request (caller frees), and no second one. */
static char *exchange(const struct cloud *kind, enum metadata_asked asked, const char *first,
                      struct service service, double seconds, char **request)
{
    struct cloud  cloud = *kind;
    int           listener = listen_here(5, &cloud), told[2];
    struct pollfd again = { listener, POLLIN, 0 };
    char         *text;
    ssize_t       size;
    pid_t         pid;

    assert_int_equal(pipe(told), 0);
    pid = fork();
    if (pid == 0)
        serve(listener, service, told[1]);
    close(told[1]);
    text = answer_of(&cloud, asked, first, seconds);
    *request = xcalloc(1, 4097);
    size = read(told[0], *request, 4096);
    assert_true(size >= 0);
    assert_int_equal(poll(&again, 1, 0), 0);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    close(told[0]);
    close(listener);
    return text;
}

/* --- what they say ---------------------------------------------------------- */

static const struct {
    struct service service;
    double         seconds;
    const char    *says;
} table[] = {
    { { H L(4) "\r\nspot", STAYS }, FAR_S, "200 spot" },
    { { H "content-length:4\r\n\r\nspot and more", STAYS }, FAR_S, "200 spot" },
    { { H L(0) "\r\n", STAYS }, FAR_S, "200 " },
    { { H "Transfer-Encoding: chunked\r\n\r\n4\r\nspot\r\n0\r\n\r\n", STAYS }, FAR_S,
      "200 spot" },
    { { "HTTP/1.0 404 Not Found\r\n\r\nnone", ENDS }, FAR_S, "404 none" },
    { { H "X-Content-Length: 1\r\n\r\nab", ENDS }, FAR_S, "200 ab" },
    { { H "Connection: keep-alive\r\n\r\nspot", ENDS }, FAR_S, "200 spot" },
    { { "HTTP/1.1 302 Found\r\nLocation: /else\r\n" L(2) "\r\nno", STAYS }, FAR_S, "302 no" },
    { { H L(28) "\r\n<html>Please log in.</html>\n", STAYS }, FAR_S,
      "200 <html>Please log in.</html>\n" },
    /* no answers */
    { { "", ENDS }, FAR_S, NONE },
    { { H L(4) "\r\nspo", ENDS }, FAR_S, NONE },
    { { H L(4), ENDS }, FAR_S, NONE },
    { { H "Transfer-Encoding: chunked\r\n\r\n4\r\nspot\r\n", ENDS }, FAR_S, NONE },
    { { H "Transfer-Encoding: chunked\r\n\r\n-4\r\nspot\r\n", STAYS }, FAR_S, NONE },
    { { H L(-1) "\r\n", STAYS }, FAR_S, NONE },
    { { H L() "\r\n", STAYS }, FAR_S, NONE },
    { { H L(4x) "\r\nspot", STAYS }, FAR_S, NONE },
    { { "HTTP/1.1 20\r\n\r\n", ENDS }, FAR_S, NONE },
    { { "HTTP/1.1 99999 x\r\n\r\n", ENDS }, FAR_S, NONE },
    { { "HTTP/2 200\r\n\r\n", STAYS }, FAR_S, NONE },
    { { "SSH-2.0-OpenSSH_9.2\r\n\r\n", STAYS }, FAR_S, NONE },
    { { "\r\n\r\n", STAYS }, FAR_S, NONE },
    /* too long */
    { { H L(10000000) "\r\n ", STAYS }, FAR_S, NONE },
    { { H L(16385) "\r\n", STAYS }, FAR_S, NONE },
    { { H L(99999999999999999999999999) "\r\n", STAYS }, FAR_S, NONE },
    { { H "Transfer-Encoding: chunked\r\n\r\n4001\r\n", STAYS }, FAR_S, NONE },
    { { H "\r\nx", SPILLS }, FAR_S, NONE },
    { { "x", SPILLS }, FAR_S, NONE },
    { { H "A: x", SPILLS }, FAR_S, NONE },
    { { H "Transfer-Encoding: chunked\r\n\r\n0\r\nA: x", SPILLS }, FAR_S, NONE },
    { { "HTTP/1.1 100 Continue\r\nA: b\r\n\r\n", FLOODS }, FAR_S, NONE },
    /* too slow */
    { { "", STAYS }, NEAR_S, LATE },
    { { H L(4) "\r\nspo", STAYS }, NEAR_S, LATE },
    { { H "\r\nspot", STAYS }, NEAR_S, LATE },
    { { H L(16384) "\r\nx", DRIPS }, NEAR_S, LATE },
    { { H "A: x", DRIPS }, NEAR_S, LATE },
    { { H "Transfer-Encoding: chunked\r\n\r\n4000\r\nx", DRIPS }, NEAR_S, LATE },
};

static void answers(void **state)
{
    const struct cloud *cloud = cloud_by_name("volcengine");
    char               *text, *request;
    size_t              i;

    (void)state;
    for (i = 0; i < sizeof table / sizeof *table; i++) {
        text = exchange(cloud, METADATA_NOTICE, "", table[i].service, table[i].seconds, &request);
        if (strcmp(text, table[i].says) != 0)
            fail_msg("'%s', not '%s': %s", text, table[i].says, table[i].service.bytes);
        free(text);
        free(request);
    }
}

static long most_memory_kib(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

/* A line without an end, which evhttp would take as it comes. */
static void endless(void **state)
{
    long  before_kib = most_memory_kib();
    char *request;
    char *text = exchange(cloud_by_name("volcengine"), METADATA_NOTICE, "",
                          (struct service){ H "Transfer-Encoding: chunked\r\n\r\n4 x", SPILLS },
                          0.3, &request);

    (void)state;
    assert_string_equal(text, LATE);
    assert_in_range(most_memory_kib() - before_kib, 0, 8192);
    free(text);
    free(request);
}

static void questions(void **state)
{
    static const struct {
        const char         *cloud;
        enum metadata_asked asked;
        const char         *first, *request;
    } rows[] = {
        { "aws", METADATA_FIRST, "",
          "PUT /latest/api/token HTTP/1.1\r\nHost: 169.254.169.254\r\nConnection: close\r\n"
          "X-aws-ec2-metadata-token-ttl-seconds: 60\r\nContent-Length: 0\r\n\r\n" },
        { "aws", METADATA_NOTICE, "t0==",
          "GET /latest/meta-data/spot/instance-action HTTP/1.1\r\nHost: 169.254.169.254\r\n"
          "Connection: close\r\nX-aws-ec2-metadata-token: t0==\r\n\r\n" },
        { "aws", METADATA_NOTICE, "",
          "GET /latest/meta-data/spot/instance-action HTTP/1.1\r\nHost: 169.254.169.254\r\n"
          "Connection: close\r\n\r\n" },
        { "gcp", METADATA_CLASS, "",
          "GET /computeMetadata/v1/instance/scheduling/preemptible HTTP/1.1\r\n"
          "Host: metadata.google.internal\r\nConnection: close\r\n"
          "Metadata-Flavor: Google\r\n\r\n" },
        { "azure", METADATA_FIRST, "",
          "GET /metadata/instance/compute/name?api-version=2021-02-01&format=text HTTP/1.1\r\n"
          "Host: 169.254.169.254\r\nConnection: close\r\nMetadata: true\r\n\r\n" },
        { "azure", METADATA_NOTICE, "vm1",
          "GET /metadata/scheduledevents?api-version=2020-07-01 HTTP/1.1\r\n"
          "Host: 169.254.169.254\r\nConnection: close\r\nMetadata: true\r\n\r\n" },
    };
    char  *text, *request;
    size_t i;

    (void)state;
    for (i = 0; i < sizeof rows / sizeof *rows; i++) {
        text = exchange(cloud_by_name(rows[i].cloud), rows[i].asked, rows[i].first,
                        (struct service){ H L(4) "\r\nspot", STAYS }, FAR_S, &request);
        assert_string_equal(request, rows[i].request);
        assert_string_equal(text, "200 spot");
        free(text);
        free(request);
    }
}

/* --- who is not there ------------------------------------------------------- */

/* Connections that nobody accepts, so that the kernel takes no more: the address is silent. */
static void fill(const struct cloud *cloud, int fds[2])
{
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                              .sin_port = htons((uint16_t)cloud->port) };
    int                i;

    for (i = 0; i < 2; i++) {
        fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        connect(fds[i], (struct sockaddr *)&to, sizeof to);
    }
}

static void nobody(void **state)
{
    struct cloud cloud = *cloud_by_name("aws");
    int          listener = listen_here(0, &cloud), fds[2];
    char        *text;

    (void)state;
    fill(&cloud, fds);
    text = answer_of(&cloud, METADATA_NOTICE, "", NEAR_S);
    assert_string_equal(text, LATE);
    free(text);
    text = answer_of(&cloud, METADATA_NOTICE, "", -1);
    assert_string_equal(text, LATE);
    free(text);
    close(fds[0]);
    close(fds[1]);
    close(listener);
    text = answer_of(&cloud, METADATA_NOTICE, "", FAR_S);
    assert_string_equal(text, "Connection refused");
    free(text);
    cloud.address = "255.255.255.255"; /* TCP has no way to it */
    text = answer_of(&cloud, METADATA_NOTICE, "", FAR_S);
    assert_string_equal(text, "Network is unreachable");
    free(text);
}

/* --- questions that end before their answer --------------------------------- */

struct asker {
    struct metadata *question;
    int              answers;
};

static void answer_cb(const struct metadata_reply *reply, const struct error *err, void *arg)
{
    struct asker *asker = arg;

    assert_null(reply);
    assert_string_not_equal(err->text, "");
    asker->answers++;
    metadata_free(asker->question);
    asker->question = NULL;
}

static void begin(struct asker *asker, struct event_base *base, const struct cloud *cloud)
{
    *asker = (struct asker){ 0 };
    asker->question = metadata_begin(base, cloud, METADATA_NOTICE, "",
                                     clock_now_ns() + FAR_S * NS_PER_S, answer_cb, asker);
}

/* So many are open; those that a program would inherit. */
static int count_open(bool by_programs)
{
    DIR                 *dir = opendir("/proc/self/fd");
    const struct dirent *entry;
    int                  count = 0, fd;

    while ((entry = readdir(dir)) != NULL) {
        fd = atoi(entry->d_name);
        if (entry->d_name[0] != '.' && (!by_programs || (fcntl(fd, F_GETFD) & FD_CLOEXEC) == 0))
            count++;
    }
    closedir(dir);
    return count;
}

/* rounds: of the loop, after which nobody waits for the answer any more. */
static void give_up(struct event_base *base, const struct cloud *cloud, int rounds)
{
    struct asker asker;
    int          open = count_open(false), inherited = count_open(true);

    begin(&asker, base, cloud);
    assert_int_equal(count_open(true), inherited);
    while (rounds-- > 0)
        event_base_loop(base, EVLOOP_NONBLOCK);
    metadata_free(asker.question);
    event_base_loop(base, EVLOOP_NONBLOCK);
    assert_int_equal(asker.answers, 0);
    assert_int_equal(count_open(false), open);
}

static void given_up(void **state)
{
    struct event_base *base = event_base_new();
    struct cloud       cloud = *cloud_by_name("aws");
    int                listener = listen_here(5, &cloud), fds[2], rounds;
    struct asker       asker;

    (void)state;
    for (rounds = 0; rounds < 5; rounds++) /* it connects, sends, waits */
        give_up(base, &cloud, rounds);
    close(listener);
    give_up(base, &cloud, 0);
    listener = listen_here(0, &cloud);
    fill(&cloud, fds);
    give_up(base, &cloud, 3);
    close(fds[0]);
    close(fds[1]);
    close(listener);
    cloud.address = "255.255.255.255";
    give_up(base, &cloud, 0); /* it has failed, and has not been told */
    begin(&asker, base, &cloud);
    assert_int_equal(asker.answers, 0);
    event_base_dispatch(base);
    assert_int_equal(asker.answers, 1); /* and was freed there */
    metadata_free(NULL);
    event_base_free(base);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers),
        cmocka_unit_test(endless),
        cmocka_unit_test(questions),
        cmocka_unit_test(nobody),
        cmocka_unit_test(given_up),
    };

    setenv("http_proxy", "http://127.0.0.1:1", 1); /* nobody asks it */
    return cmocka_run_group_tests(tests, NULL, NULL);
}

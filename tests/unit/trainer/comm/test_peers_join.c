/* test_peers_join.c - the ranks find each other, whoever else calls them or has taken their ports
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "comm/peers_state.h"
#include "comm/pmi_client.h"
#include "loopback.h"

#define RANKS     4
#define STRANGERS 300
#define LONG_S    300 /* never waited for */

static struct peers *peers[RANKS]; /* as if each were in a process of its own */
static int           fd[RANKS][RANKS];
static struct error  why[RANKS];
static int           rc[RANKS];
static double        timeout_s;
static const char *const label[RANKS] = { "rank 0", "rank 1", "rank 2", "rank 3" };

static void know(int rank, int other, const struct sockaddr_storage *address)
{
    struct error err;
    char         text[300];

    hex_encode(address, sizeof(struct sockaddr_in), text);
    assert_int_equal(peers_know(peers[rank], other, text, &err), 0);
}

static int set_up(void **state)
{
    const struct sockaddr_storage address = loopback();
    struct error                  err;
    int                           i, rank;

    (void)state;
    timeout_s = LONG_S;
    for (i = 0; i < RANKS; i++) {
        peers[i] = peers_listen(&address, i, RANKS, label, &err);
        assert_non_null(peers[i]);
        for (rank = 0; rank < RANKS; rank++)
            fd[i][rank] = -1;
    }
    for (i = 0; i < RANKS; i++)
        for (rank = 0; rank < RANKS; rank++)
            if (rank != i)
                know(rank, i, &peers[i]->address[i]);
    return 0;
}

static int tear_down(void **state)
{
    int i, rank;

    (void)state;
    for (i = 0; i < RANKS; i++) {
        peers_close(peers[i]);
        peers[i] = NULL;
        for (rank = 0; rank < RANKS; rank++)
            hang_up(&fd[i][rank]);
    }
    return 0;
}

static void begin(int rank)
{
    struct error err;

    assert_int_equal(peers_begin(peers[rank], peers[0], &err), 0);
}

static void begin_all(void)
{
    int rank;

    for (rank = 0; rank < RANKS; rank++)
        begin(rank);
}

static void *join(void *arg)
{
    const int rank = (int)(intptr_t)arg;

    rc[rank] = peers_join(peers[rank], timeout_s, fd[rank], &why[rank]);
    return NULL;
}

/* All ranks but this one join, each in a thread. */
static void join_all_but(int missing)
{
    pthread_t thread[RANKS];
    int       rank;

    for (rank = 0; rank < RANKS; rank++)
        if (rank != missing)
            assert_int_equal(pthread_create(&thread[rank], NULL, join, (void *)(intptr_t)rank), 0);
    for (rank = 0; rank < RANKS; rank++)
        if (rank != missing)
            pthread_join(thread[rank], NULL);
}

/* What each rank sends to each arrives there, and nothing has come before it. */
static void assert_joined(void)
{
    char sent[2], got[2];
    int  rank, other;

    for (rank = 0; rank < RANKS; rank++) {
        assert_int_equal(rc[rank], 0);
        assert_int_equal(fd[rank][rank], -1);
        for (other = 0; other < RANKS; other++) {
            if (other == rank)
                continue;
            snprintf(sent, sizeof sent, "%d", rank);
            assert_int_equal(write(fd[rank][other], sent, 1), 1);
        }
    }
    for (rank = 0; rank < RANKS; rank++)
        for (other = 0; other < RANKS; other++)
            if (other != rank) {
                assert_int_equal(recv(fd[rank][other], got, sizeof got, MSG_DONTWAIT), 1);
                assert_int_equal(got[0], '0' + other);
            }
}

static int connect_to(int rank)
{
    const struct sockaddr *to = (struct sockaddr *)&peers[rank]->address[rank];
    const struct timeval   patience = { .tv_sec = LONG_S };
    const int              caller = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(caller >= 0);
    assert_int_equal(connect(caller, to, sizeof(struct sockaddr_in)), 0);
    setsockopt(caller, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    return caller;
}

/* Reads until the rank hangs up, and closes the caller. Returns the number of bytes. */
static size_t read_to_end(int caller)
{
    char    bytes[1000];
    size_t  all = 0;
    ssize_t n;

    while ((n = read(caller, bytes, sizeof bytes)) > 0)
        all += (size_t)n;
    assert_true(n == 0 || errno == ECONNRESET);
    close(caller);
    return all;
}

static void test_join(void **state)
{
    (void)state;
    begin_all();
    join_all_but(-1);
    assert_joined();
}

/* A rank may be called before it has the secret. */
static void test_early(void **state)
{
    struct pollfd called = { .fd = peers[1]->listen_fd, .events = POLLIN };
    pthread_t     thread;

    (void)state;
    begin(3);
    assert_int_equal(pthread_create(&thread, NULL, join, (void *)(intptr_t)3), 0);
    assert_int_equal(poll(&called, 1, LONG_S * 1000), 1);
    begin(2);
    begin(1);
    begin(0);
    join_all_but(3);
    pthread_join(thread, NULL);
    assert_joined();
}

/* A process may have fewer descriptors than there could be callers. */
static void test_few_descriptors(void **state)
{
    struct rlimit limit, few;

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    few = limit;
    few.rlim_cur = 60;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    begin_all();
    join_all_but(-1);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_joined();
}

/* ---- strangers who call ---- */

/* What they say, before they wait for an answer. */
static const struct said {
    const char *what;
    size_t      bytes;      /* of the first message; the right one, if not is_rubbish */
    bool        is_rubbish;
    int         from, to, purpose;
    size_t      more;       /* bytes behind it */
    size_t      answer;     /* bytes that they get */
} said[] = {
    { "rubbish", 4096, true, 0, 0, 0, 0, 0 },
    { "as many bytes as the first message", sizeof(struct greeting_first), true, 0, 0, 0, 0, 0 },
    { "for another rank", sizeof(struct greeting_first), false, 3, 2, GREETING_JOIN, 0, 0 },
    { "from no rank", sizeof(struct greeting_first), false, RANKS, 1, GREETING_JOIN, 0, 0 },
    { "a wrong proof", sizeof(struct greeting_first), false, 3, 1, GREETING_JOIN, GREETING_PROOF,
      sizeof(struct greeting_answer) },
    { "a report with a wrong proof", sizeof(struct greeting_first), false, 3, 1, GREETING_REPORT,
      RANKS + GREETING_PROOF, sizeof(struct greeting_answer) },
    { "a stream", sizeof(struct greeting_first), false, 3, 1, GREETING_JOIN, 1 << 20,
      sizeof(struct greeting_answer) },
    /* These are waited for, and then hung up on. */
    { "nothing", 0, false, 3, 1, GREETING_JOIN, 0, 0 },
    { "a part of it", sizeof(struct greeting_first) - 1, false, 3, 1, GREETING_JOIN, 0, 0 },
    { "no proof", sizeof(struct greeting_first), false, 3, 1, GREETING_JOIN, 0,
      sizeof(struct greeting_answer) },
    { "a part of the proof", sizeof(struct greeting_first), false, 3, 1, GREETING_JOIN,
      GREETING_PROOF - 1, sizeof(struct greeting_answer) },
};
#define SAID (sizeof said / sizeof said[0])

static int say(const struct said *row, int to)
{
    static unsigned char  more[1 << 20];
    unsigned char         bytes[4096] = "GET / HTTP/1.0\r\n\r\n";
    struct greeting_first first;
    const int             caller = connect_to(to);

    assert_int_equal(greeting_begin(&first, (enum greeting_purpose)row->purpose, row->from,
                                    row->to),
                     0);
    if (!row->is_rubbish)
        memcpy(bytes, &first, sizeof first);
    if (row->bytes > 0)
        (void)send(caller, bytes, row->bytes, MSG_NOSIGNAL);
    if (row->more > 0)
        (void)send(caller, more, row->more, MSG_NOSIGNAL);
    return caller;
}

static void test_strangers(void **state)
{
    int    caller[SAID];
    size_t i, got;

    (void)state;
    begin_all();
    for (i = 0; i < SAID; i++)
        caller[i] = say(&said[i], 1);
    join_all_but(-1);
    assert_joined();
    for (i = 0; i < SAID; i++) {
        got = read_to_end(caller[i]); /* the end of a stream may overtake the answer */
        if (got != said[i].answer && !(got == 0 && said[i].more > RANKS + GREETING_PROOF))
            fail_msg("%s: %zu bytes", said[i].what, got);
    }
    assert_int_equal(peers_blame(peers[1], "barrier", "it broke", 0, &why[1]), -1);
    assert_string_equal(why[1].text, "barrier: it broke"); /* their report is not believed */
}

/* Returns how many descriptors this process has. */
static int descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int  count = -3; /* ".", ".." and dir's own */

    assert_non_null(dir);
    while (readdir(dir) != NULL)
        count++;
    closedir(dir);
    return count;
}

/* Rank 1 has accepted them all before the calls of the ranks 2 and 3, and keeps only some. */
static void test_many(void **state)
{
    static int caller[STRANGERS];
    const int  before = descriptors();
    int        i;

    (void)state;
    begin_all();
    for (i = 0; i < STRANGERS; i++)
        caller[i] = connect_to(1);
    join_all_but(-1);
    assert_true(descriptors() <= before + STRANGERS + RANKS * (RANKS - 1) + RANKS + 64);
    assert_joined();
    for (i = 0; i < STRANGERS; i++)
        assert_int_equal(read_to_end(caller[i]), 0);
}

/* ---- strangers who listen ---- */

static int listen_as(struct sockaddr_storage *address)
{
    socklen_t size = sizeof(struct sockaddr_in);
    const int port = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    *address = loopback();
    assert_int_equal(bind(port, (struct sockaddr *)address, size), 0);
    assert_int_equal(getsockname(port, (struct sockaddr *)address, &size), 0);
    assert_int_equal(listen(port, 50), 0);
    return port;
}

/* One has the port of rank 0, and answers with rubbish. Then he leaves, and the port is closed. */
static void test_taken_port(void **state)
{
    static const char       rubbish[sizeof(struct greeting_answer) + 100] = "HTTP/1.0 200 OK\r\n";
    struct sockaddr_storage address;
    unsigned char           got[1000];
    const int               port = listen_as(&address);
    int                     caller;
    pthread_t               thread;

    (void)state;
    begin_all();
    know(1, 0, &address);
    timeout_s = 2;
    pthread_create(&thread, NULL, join, (void *)(intptr_t)1);
    caller = accept(port, NULL, NULL);
    assert_true(caller >= 0);
    (void)send(caller, rubbish, sizeof rubbish, MSG_NOSIGNAL);
    assert_int_equal(recv(caller, got, sizeof got, MSG_WAITALL), sizeof(struct greeting_first));
    close(caller);
    caller = accept(port, NULL, NULL); /* it tries again */
    assert_true(caller >= 0);
    pthread_join(thread, NULL);
    assert_int_equal(rc[1], -1);
    assert_string_equal(why[1].text, "rank 0: not connected in time");
    close(caller);
    close(port);
    timeout_s = LONG_S;
    join((void *)(intptr_t)1);
    assert_int_equal(rc[1], -1);
    assert_string_equal(why[1].text, "rank 0: its process has exited");
}

/* The ranks of another run, which has another secret. */
static void test_other_run(void **state)
{
    struct error err;

    (void)state;
    begin(0);
    begin(1);
    begin(2);
    assert_int_equal(secret_make(&peers[3]->secret, &err), 0);
    assert_int_equal(peers_begin(peers[3], peers[3], &err), 0);
    timeout_s = 1;
    join_all_but(-1);
    assert_int_equal(rc[0], -1);
    assert_string_equal(why[0].text, "rank 3: not connected in time");
    assert_int_equal(rc[3], -1);
    assert_string_equal(why[3].text, "rank 0: not connected in time");
    assert_int_equal(fd[0][1], -1);
}

/* ---- ranks, as seen on the wire ---- */

/* Greets rank 1 as another rank, byte by byte if is_slow. */
static int greet(int from, bool is_slow)
{
    struct greeting_first  first;
    struct greeting_answer answer;
    unsigned char          proof[GREETING_PROOF];
    const int              caller = connect_to(1), one = 1;
    size_t                 i;

    setsockopt(caller, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    assert_int_equal(greeting_begin(&first, GREETING_JOIN, from, 1), 0);
    for (i = 0; i < sizeof first; i += is_slow ? 1 : sizeof first)
        assert_true(send(caller, (char *)&first + i, is_slow ? 1 : sizeof first, 0) > 0);
    assert_int_equal(recv(caller, &answer, sizeof answer, MSG_WAITALL), sizeof answer);
    assert_true(greeting_is_answer(&peers[1]->secret, &first, &answer));
    greeting_prove(&peers[1]->secret, &first, &answer, NULL, 0, proof);
    for (i = 0; i < sizeof proof; i += is_slow ? 1 : sizeof proof)
        assert_true(send(caller, proof + i, is_slow ? 1 : sizeof proof, 0) > 0);
    return caller;
}

/* A rank joins twice, because it has not heard that it was let in. The later connection is the one;
 * and when rank 1 has all connections, it lets nobody in. */
static void test_again(void **state)
{
    int  first, second, other, late;
    char byte;

    (void)state;
    begin_all();
    other = greet(2, false);
    first = greet(3, true);
    assert_int_equal(read(first, &byte, 1), 1);
    second = greet(3, false);
    assert_int_equal(read(second, &byte, 1), 1);
    assert_int_equal(read_to_end(first), 0);
    join((void *)(intptr_t)1);
    assert_int_equal(rc[1], 0);
    assert_int_equal(write(fd[1][3], "x", 1), 1);
    assert_int_equal(read(second, &byte, 1), 1);
    assert_int_equal(byte, 'x');
    late = greet(3, false);
    assert_int_equal(read_to_end(late), 0);
    close(second);
    close(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_join, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_early, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_few_descriptors, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_strangers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_many, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_taken_port, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_other_run, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_again, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

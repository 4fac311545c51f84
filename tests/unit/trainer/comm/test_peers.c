/* test_peers.c - whoever is gone is named, and nobody who has only ended because of it
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "comm/peers.h"
#include "comm/pmi_client.h"
#include "loopback.h"

#define RANKS  4
#define MISSED "other ranks have lost this one"

static struct peers *peers[RANKS]; /* as if each were in a process of its own */
static const char *const label[RANKS] = { "rank 0", "rank 1", "rank 2", "rank 3" };

static int set_up(void **state)
{
    const struct sockaddr_storage address = loopback();
    struct error                  err;
    char                          text[300];
    int                           i, rank;

    (void)state;
    for (i = 0; i < RANKS; i++) {
        peers[i] = peers_listen(&address, i, RANKS, label, &err);
        assert_non_null(peers[i]);
    }
    for (i = 0; i < RANKS; i++) {
        peers_address(peers[i], text, sizeof text);
        for (rank = 0; rank < RANKS; rank++)
            if (rank != i)
                assert_int_equal(peers_know(peers[rank], i, text, &err), 0);
    }
    for (i = 0; i < RANKS; i++)
        assert_int_equal(peers_begin(peers[i], peers[0], &err), 0);
    return 0;
}

static void end(int rank)
{
    peers_close(peers[rank]);
    peers[rank] = NULL;
}

static int tear_down(void **state)
{
    int i;

    (void)state;
    for (i = 0; i < RANKS; i++)
        end(i);
    return 0;
}

/* What this rank says of an operation that failed: whom it has lost, or nobody (""), or MISSED. */
static void assert_finds(int rank, bool is_late, const char *want)
{
    const char  *begin = strcmp(want, MISSED) == 0 ? ""
                         : is_late                 ? "not finished within 9 s: "
                         : want[0] != '\0'         ? "lost "
                                                   : "";
    struct error err;
    char         text[400];

    snprintf(text, sizeof text, "barrier: %s%s", begin, want[0] != '\0' ? want : "it broke");
    assert_int_equal(peers_blame(peers[rank], "barrier", "it broke", is_late ? 9 : 0, &err), -1);
    assert_string_equal(err.text, text);
}

static void test_all_there(void **state)
{
    (void)state;
    assert_finds(0, true, "");
    peers_count(peers[0]);
    peers_count(peers[0]);
    peers_count(peers[2]);
    assert_finds(0, false, "");
    assert_finds(0, true,
                 "rank 1 (has not reached this operation), rank 3 (has not reached this "
                 "operation)");
    assert_finds(2, false,
                 "rank 1 (another rank has lost it), rank 3 (another rank has lost it)");
    assert_finds(1, true, MISSED);
}

/* One after the other ends because of rank 2; what the last one knows is the truth. */
static void test_one_after_the_other(void **state)
{
    (void)state;
    end(2);
    peers_count(peers[3]);
    assert_finds(3, true, "rank 2 (its process has exited)");
    end(3);
    assert_finds(1, false, "rank 2 (its process has exited)");
    end(1);
    assert_finds(0, false, "rank 2 (its process has exited)");
}

/* They can be named only by whom they were told of. */
static void test_told(void **state)
{
    struct error err;
    char         text[300];

    (void)state;
    peers_address(peers[3], text, sizeof text);
    end(2);
    assert_finds(1, false, "rank 2 (its process has exited)");
    assert_int_equal(peers_know(peers[0], 2, text, &err), 0); /* another process has its port */
    assert_finds(0, false, "rank 2 (its process has exited)");
    tear_down(NULL);
    set_up(NULL);
    peers_address(peers[3], text, sizeof text);
    assert_int_equal(peers_know(peers[0], 2, text, &err), 0);
    assert_finds(0, false, "rank 2 (its process has exited)");
    end(0);
    assert_finds(1, false, "rank 2 (another rank has lost it)");
    assert_finds(2, false, MISSED);
}

/* A port that takes connections, and says nothing, as that of a stopped process. */
static void test_silent(void **state)
{
    struct sockaddr_storage address = loopback();
    socklen_t               size = sizeof(struct sockaddr_in);
    const int               fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct error            err;
    char                    text[300];

    (void)state;
    assert_int_equal(bind(fd, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(fd, 5), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    hex_encode(&address, size, text);
    assert_int_equal(peers_know(peers[0], 2, text, &err), 0);
    assert_finds(0, false, "rank 2 (does not answer)");
    close(fd);
    end(0);
    assert_finds(3, false, "rank 2 (another rank has lost it)");
}

/* Strangers that call, whatever they say, and do not leave. */
static void test_strangers(void **state)
{
    static const char       rubbish[4096] = "GET / HTTP/1.0\r\n\r\n";
    struct sockaddr_storage address;
    struct error            err;
    char                    text[300];
    int                     fd[3 * RANKS], i;

    (void)state;
    peers_address(peers[1], text, sizeof text);
    assert_true(hex_decode(text, &address, sizeof address) > 0);
    for (i = 0; i < 3 * RANKS; i++) {
        fd[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_int_equal(connect(fd[i], (struct sockaddr *)&address, sizeof(struct sockaddr_in)),
                         0);
        if (i % 2 == 0)
            (void)send(fd[i], rubbish, i % 4 == 0 ? sizeof rubbish : 3, MSG_NOSIGNAL);
    }
    assert_finds(0, false, "");
    assert_finds(1, false, "");
    for (i = 0; i < 3 * RANKS; i++)
        close(fd[i]);
    assert_int_equal(peers_know(peers[0], 1, "0200", &err), -1);
    assert_int_equal(peers_know(peers[0], 1, "rubbish", &err), -1);
}

/* A rank that is alone has nobody to blame. */
static void test_alone(void **state)
{
    struct error err;

    (void)state;
    assert_int_equal(peers_blame(NULL, "barrier", "it broke", 0, &err), -1);
    assert_string_equal(err.text, "barrier: it broke");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_all_there, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_one_after_the_other, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_silent, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_strangers, set_up, tear_down),
        cmocka_unit_test(test_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

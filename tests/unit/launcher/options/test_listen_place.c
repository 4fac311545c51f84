/* test_listen_place.c - where --metrics-listen may listen, and what to write instead of the rest
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "options/listen_place.h"

#define FIFTY "01234567890123456789012345678901234567890123456789"
#define LONG  "/" FIFTY FIFTY "0123456"

static void reads_ports_and_paths(void **state)
{
    static const struct {
        const char *text, *path, *host;
        int         port;
    } cases[] = {
        { "0", NULL, "127.0.0.1", 0 },
        { "9464", NULL, "127.0.0.1", 9464 },
        { "65535", NULL, "127.0.0.1", 65535 },
        { "0.0.0.0:9464", NULL, "0.0.0.0", 9464 },
        { "10.0.0.5:0", NULL, "10.0.0.5", 0 },
        { "localhost:9464", NULL, "127.0.0.1", 9464 },
        { "[::1]:9464", NULL, "::1", 9464 },
        { "[::]:9464", NULL, "::", 9464 },
        { "[fe80::1%eth0]:9464", NULL, "fe80::1%eth0", 9464 },
        { "/run/user/7/muster.sock", "/run/user/7/muster.sock", "127.0.0.1", 0 },
        { "./m", "./m", "127.0.0.1", 0 },
        { "sub/m:1", "sub/m:1", "127.0.0.1", 0 },
        { "unix:m", "m", "127.0.0.1", 0 },
        { "unix:/m", "/m", "127.0.0.1", 0 },
    };
    struct listen_place place;
    struct error        err;
    size_t              i;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (listen_place_read(&place, cases[i].text, &err) < 0)
            fail_msg("%s: %s", cases[i].text, err.text);
        if (cases[i].path != NULL)
            assert_string_equal(place.path, cases[i].path);
        else
            assert_null(place.path);
        assert_string_equal(place.host, cases[i].host);
        assert_int_equal(place.port, cases[i].port);
        listen_place_clear(&place);
    }
}

static void says_what_is_wrong(void **state)
{
    static const char *const cases[][2] = {
        { "", "the port: '' is not a number" },
        { ":", "is no address in numbers" },
        { ":9464", "is no address in numbers" },
        { "65536", "the port: '65536' is not a number from 0 to 65535; write [ADDRESS:]PORT" },
        { "-1", "the port: '-1'" },
        { "0x1f90", "the port: '0x1f90'" },
        { " 9464", "the port: ' 9464'" },
        { "9464 ", "the port: '9464 '" },
        { "metrics", "the port: 'metrics'" },
        { "10.0.0.5", "the port: '10.0.0.5'" },
        { "10.0.0.5:", "the port: ''" },
        { "10.0.0:9464", "'10.0.0' is no address in numbers" },
        { "10.0.0.256:9464", "'10.0.0.256' is no address in numbers" },
        { "te1:9464", "'te1' is no address in numbers, such as 10.0.0.5" },
        { "*:9464", "0.0.0.0 is all that this machine has" },
        { "::1:9464", "an IPv6 address needs brackets: [::1]:PORT" },
        { "::1", "is no address in numbers" },
        { "fd00::5:9464", "an IPv6 address needs brackets" },
        { "[::1]", "'[::1]' has no port: write [::1]:PORT" },
        { "[::1", "is no address in numbers" },
        { "[]:1", "is no address in numbers" },
        { "[te1]:9464", "'te1' is no address in numbers" },
        { "[127.0.0.1]:9464", "'127.0.0.1' is no address in numbers" },
        { "[localhost]:9464", "'localhost' is no address in numbers" },
        { "http://127.0.0.1:9464", "is a URL; write [ADDRESS:]PORT" },
        { "unix:", "names no socket; write unix:PATH" },
        { "/run/", "is a directory" },
        { LONG, "may have at most 107 bytes, and this one has 108" },
        { FIFTY FIFTY ":1", "its address is longer than any" },
        { "a\nb:1", "'a?b' is no address" },
    };
    struct listen_place place;
    struct error        err;
    size_t              i;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (listen_place_read(&place, cases[i][0], &err) == 0)
            fail_msg("%s was taken", cases[i][0]);
        if (strstr(err.text, cases[i][1]) == NULL)
            fail_msg("%s: %s", cases[i][0], err.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_ports_and_paths),
        cmocka_unit_test(says_what_is_wrong),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_page_way.c - where the page of a run is, and how to get there from another machine
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "page/page_way.h"

static void ways(void **state)
{
    static const struct {
        const char *served, *url, *ssh;
    } rows[] = {
        { "http://127.0.0.1:9464/metrics", "http://127.0.0.1:9464/",
          "ssh -N -L 9464:127.0.0.1:9464 ann@te0" },
        { "http://127.0.0.2:80/metrics", "http://127.0.0.2:80/",
          "ssh -N -L 80:127.0.0.2:80 ann@te0" },
        { "http://[::1]:9464/metrics", "http://[::1]:9464/",
          "ssh -N -L '9464:[::1]:9464' ann@te0" },
        { "http://10.0.0.5:9464/metrics", "http://10.0.0.5:9464/", NULL },
        { "http://[fd00::5]:9464/metrics", "http://[fd00::5]:9464/", NULL },
        { "http://0.0.0.0:9464/metrics", "http://te0:9464/", NULL },
        { "http://[::]:9464/metrics", "http://te0:9464/", NULL },
        { "unix:/run/user/7/a.sock", "http://127.0.0.1:9464/",
          "ssh -N -L 9464:/run/user/7/a.sock ann@te0" },
        { "unix:/run/a b.sock", "http://127.0.0.1:9464/",
          "ssh -N -L '9464:/run/a b.sock' ann@te0" },
    };
    struct page_way way;
    struct error    err;
    size_t          i;

    (void)state;
    for (i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(page_way_find(&way, rows[i].served, "ann", "te0", &err), 0);
        assert_string_equal(way.url, rows[i].url);
        if (rows[i].ssh == NULL)
            assert_null(way.ssh);
        else
            assert_string_equal(way.ssh, rows[i].ssh);
        assert_int_equal(way.is_file, strncmp(rows[i].served, "unix:", 5) == 0);
        page_way_clear(&way);
    }
}

static void no_ways(void **state)
{
    static const char *const rows[] = { "", "http://", "http:///metrics", "http://127.0.0.1:9464/",
                                        "https://127.0.0.1:9464/metrics", "/metrics",
                                        "http://x y:9464/metrics", "http://te0:9464/metrics",
                                        "http://127.0.0.1:65536/metrics", "unix:" };
    struct page_way way;
    struct error    err;
    size_t          i;

    (void)state;
    for (i = 0; i < sizeof rows / sizeof *rows; i++) {
        err.text[0] = '\0';
        assert_int_equal(page_way_find(&way, rows[i], "ann", "te0", &err), -1);
        assert_true(err.text[0] != '\0');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ways),
        cmocka_unit_test(no_ways),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

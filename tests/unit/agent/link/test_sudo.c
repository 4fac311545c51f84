/* test_sudo.c - what a launcher may ask for in SUDO
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "link/sudo.h"

#define NONCE "0123456789abcdef0123456789abcdef"

static void test_request(void **state)
{
    struct sudo_request request;
    struct error        err;
    json_t             *body = json_pack("{s:s, s:s}", "nonce", NONCE, "for", "exec id -u");

    (void)state;
    assert_int_equal(sudo_request_read(&request, body, &err), 0);
    assert_string_equal(request.nonce, NONCE);
    assert_string_equal(request.purpose, "exec id -u");
    json_decref(body);
}

static void test_bad_requests(void **state)
{
    static const struct {
        const char *body, *why;
    } bad[] = {
        { "{}", "\"nonce\"" },
        { "{\"nonce\":7,\"for\":\"x\"}", "\"nonce\"" },
        { "{\"nonce\":\"\",\"for\":\"x\"}", "\"nonce\"" },
        { "{\"nonce\":\"0123456789abcdef0123456789abcdeF\",\"for\":\"x\"}", "\"nonce\"" },
        { "{\"nonce\":\"0123456789abcdef0123456789abcde\",\"for\":\"x\"}", "\"nonce\"" },
        { "{\"nonce\":\"" NONCE "0\",\"for\":\"x\"}", "\"nonce\"" },
        { "{\"nonce\":\"--prompt=89abcdef0123456789abcdef\",\"for\":\"x\"}", "\"nonce\"" },
        { "{\"nonce\":\"" NONCE "\"}", "\"for\"" },
        { "{\"nonce\":\"" NONCE "\",\"for\":[]}", "\"for\"" },
    };
    struct sudo_request request;
    struct error        err;
    json_t             *body;
    char                text[FRAME_PURPOSE_MAX + 2];
    size_t              i;

    (void)state;
    for (i = 0; i < sizeof bad / sizeof *bad; i++) {
        body = json_loads(bad[i].body, 0, NULL);
        assert_non_null(body);
        assert_int_equal(sudo_request_read(&request, body, &err), -1);
        if (strstr(err.text, bad[i].why) == NULL)
            fail_msg("%s: %s", bad[i].body, err.text);
        json_decref(body);
    }
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    body = json_pack("{s:s, s:s}", "nonce", NONCE, "for", text);
    assert_int_equal(sudo_request_read(&request, body, &err), -1);
    json_object_set_new(body, "for", json_string(text + 1));
    assert_int_equal(sudo_request_read(&request, body, &err), 0);
    json_decref(body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_request),
        cmocka_unit_test(test_bad_requests),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

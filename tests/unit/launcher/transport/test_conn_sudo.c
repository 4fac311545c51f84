/* test_conn_sudo.c - from an agent to one that is root; what an agent may not say on the way
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "buffer.h"
#include "exit_code.h"
#include "frame.h"
#include "transport/conn_sudo.h"
#include "transport/login.h"
#include "unit/launcher/node/fake_conn.h"
#include "xalloc.h"

#define HELLO_OF_USER "{\"protocol\":2,\"uid\":1000,\"user\":\"ann\"}"
#define HELLO_OF_ROOT "{\"protocol\":2,\"uid\":0}"

/* What the caller of conn_sudo was told. */
static struct told {
    int                 opened, closed;
    struct evbuffer    *in;
    struct conn_failure why;
    struct buffer       stages; /* a blank behind each */
} told;

static struct event_base *base;
static struct conn       *conn;
static struct fake_conn  *inner; /* below it */

static struct conn *inner_new(struct event_base *loop, const struct conn_target *target,
                              const struct agent_file *agent, const struct conn_ops *ops,
                              void *arg)
{
    (void)agent;
    assert_ptr_equal(loop, base);
    assert_string_equal(target->host, "te1");
    inner = fake_make(ops, arg);
    inner->conn.noise = 5;
    inner->can_drain = true;
    return &inner->conn;
}

static void stage_cb(const char *stage, void *arg)
{
    (void)arg;
    buffer_add_text(&told.stages, stage);
    buffer_add_text(&told.stages, " ");
}

static void open_cb(void *arg)
{
    (void)arg;
    told.opened++;
}

static void input_cb(struct evbuffer *in, void *arg)
{
    (void)arg;
    assert_int_equal(told.opened, 1);
    evbuffer_add_buffer(told.in, in);
}

static void closed_cb(const struct conn_failure *why, void *arg)
{
    (void)arg;
    told.closed++;
    told.why = why != NULL ? *why : (struct conn_failure){ .text = "in order" };
}

/* A connection that is open, to an agent that has said nothing yet. password: NULL: none may be
 * sent. */
static void begin(const char *password)
{
    static const struct conn_ops   ops = { stage_cb, open_cb, input_cb, closed_cb };
    static const struct conn_target target = { .host = "te1" };
    struct error                   err;
    int                            ends[2];

    base = event_base_new();
    fakes_made = 0;
    told = (struct told){ .in = evbuffer_new() };
    if (password != NULL) {
        assert_int_equal(pipe(ends), 0);
        assert_int_equal(write(ends[1], password, strlen(password)), strlen(password));
        close(ends[1]);
        assert_int_equal(login_read_password(LOGIN_BY_SUDO, ends[0], &err), 0);
    }
    conn = conn_sudo_new(inner_new, "exec id", base, &target, NULL, &ops, NULL);
    conn_start(conn);
    inner->conn.ops->stage("authenticate", inner->conn.arg);
    inner->conn.ops->stage("open", inner->conn.arg);
    inner->conn.ops->open(inner->conn.arg);
    assert_int_equal(conn->noise, 5);
}

static void end(void)
{
    conn_free(conn);
    assert_true(inner->is_freed);
    login_clear();
    evbuffer_free(inner->to_agent);
    evbuffer_free(inner->to_launcher);
    buffer_clear(&told.stages);
    evbuffer_free(told.in);
    event_base_free(base);
}

static void put(enum frame_type type, const char *body)
{
    struct frame frame = { .type = type, .body = (const unsigned char *)body,
                           .size = strlen(body) };

    frame_put(inner->to_launcher, &frame);
}

static void deliver(void)
{
    inner->conn.ops->input(inner->to_launcher, inner->conn.arg);
}

/* The agent says this, alone. */
static void say(enum frame_type type, const char *body)
{
    put(type, body);
    deliver();
}

/* The launcher has sent one frame of this type; removes it. Returns its body; the caller frees
 * it. */
static char *sent(enum frame_type type)
{
    struct frame frame;
    struct error err;
    char        *body;

    assert_int_equal(frame_peek(inner->to_agent, &frame, &err), 1);
    assert_int_equal(frame.type, type);
    body = xcalloc(1, frame.size + 1);
    memcpy(body, frame.body, frame.size);
    frame_drop(inner->to_agent, &frame);
    assert_int_equal(evbuffer_get_length(inner->to_agent), 0);
    return body;
}

static void test_root_already(void **state)
{
    (void)state;
    begin(NULL);
    put(FRAME_HELLO, HELLO_OF_ROOT);
    put(FRAME_DONE, "{}");
    deliver();
    assert_int_equal(told.opened, 1);
    assert_memory_equal(told.stages.bytes, "authenticate sudo open ", told.stages.size);
    assert_null(conn->login);
    /* The caller gets both, HELLO first. */
    assert_int_equal(evbuffer_get_length(told.in), 32 + strlen(HELLO_OF_ROOT) + strlen("{}"));
    assert_int_equal(evbuffer_get_length(inner->to_agent), 0);
    end();
}

static void test_with_password(void **state)
{
    char *body;

    (void)state;
    begin("right \"one\"\nmore");
    put(FRAME_PING, "12345678");
    put(FRAME_HELLO, HELLO_OF_USER);
    deliver();
    assert_int_equal(told.opened, 0);
    body = sent(FRAME_SUDO);
    assert_non_null(strstr(body, "\"for\":\"exec id\""));
    free(body);
    say(FRAME_SUDO, "{\"asks\":true}");
    body = sent(FRAME_PASSWORD);
    assert_string_equal(body, "right \"one\"");
    free(body);
    put(FRAME_SUDO, "{\"is_root\":true}");
    put(FRAME_HELLO, HELLO_OF_ROOT);
    deliver();
    assert_int_equal(told.opened, 1);
    assert_int_equal(evbuffer_get_length(told.in), 16 + strlen(HELLO_OF_ROOT));
    assert_string_equal(json_string_value(json_object_get(conn->login, "user")), "ann");
    /* From here on nothing is looked at. */
    say(FRAME_SUDO, "{\"asks\":true}");
    assert_int_equal(evbuffer_get_length(inner->to_agent), 0);
    inner->conn.ops->closed(NULL, inner->conn.arg);
    assert_string_equal(told.why.text, "in order");
    end();
}

static void test_without_password(void **state)
{
    (void)state;
    begin(NULL);
    say(FRAME_HELLO, HELLO_OF_USER);
    say(FRAME_SUDO, "{\"asks\":true}");
    assert_int_equal(told.closed, 1);
    assert_int_equal(told.why.exit_code, EXIT_REFUSED);
    assert_string_equal(told.why.stage, "sudo");
    assert_string_equal(told.why.text, "this user is not root, and sudo wants a password");
    end();
}

/* All who wait are told when somebody types it, or that nobody can: here there is no terminal. */
static void test_nobody_to_ask(void **state)
{
    (void)state;
    login_allow_asking(LOGIN_BY_SUDO);
    setsid();
    begin(NULL);
    say(FRAME_HELLO, HELLO_OF_USER);
    say(FRAME_SUDO, "{\"asks\":true}");
    assert_int_equal(told.closed, 1);
    assert_non_null(strstr(told.why.text, "--sudo-password-fd"));
    end();
}

static void test_refused(void **state)
{
    struct error err;

    (void)state;
    begin("wrong\n");
    say(FRAME_HELLO, HELLO_OF_USER);
    say(FRAME_SUDO, "{\"asks\":true}");
    say(FRAME_ERROR, "{\"text\":\"sudo refused the password\",\"hint\":\"another\"}");
    assert_int_equal(told.closed, 1);
    assert_int_equal(told.why.exit_code, EXIT_REFUSED);
    assert_string_equal(told.why.text, "sudo refused the password");
    assert_string_equal(told.why.hint, "another");
    /* The other nodes of this run keep it; a later run asks again. */
    assert_int_equal(login_await(LOGIN_BY_SUDO, NULL, base, NULL, NULL, &err), LOGIN_HAVE);
    login_drop_refused();
    assert_int_equal(login_await(LOGIN_BY_SUDO, NULL, base, NULL, NULL, &err), LOGIN_NONE);
    end();
}

/* Each is a connection of its own, on which the agent says these frames. */
static void test_what_an_agent_may_not_say(void **state)
{
    static const struct {
        struct {
            enum frame_type type;
            const char     *body;
        } frame[4];
        const char *why;
    } cases[] = {
        { { { FRAME_HELLO, "{}" } }, "HELLO lacks \"uid\"" },
        { { { FRAME_HELLO, "{\"uid\":\"0\"}" } }, "HELLO lacks \"uid\"" },
        { { { FRAME_HELLO, "{\"uid\":0" } }, "HELLO frame: " },
        { { { FRAME_SUDO, "{\"is_root\":true}" } }, "SUDO frame before" },
        { { { FRAME_SUDO, "{\"asks\":true}" } }, "SUDO frame before" },
        { { { FRAME_HELLO, HELLO_OF_USER }, { FRAME_HELLO, HELLO_OF_ROOT } },
          "HELLO frame before" },
        { { { FRAME_HELLO, HELLO_OF_USER }, { FRAME_SUDO, "{}" } }, "SUDO frame before" },
        { { { FRAME_HELLO, HELLO_OF_USER },
            { FRAME_SUDO, "{\"asks\":true}" },
            { FRAME_SUDO, "{\"asks\":true}" } }, "SUDO frame before" },
        { { { FRAME_HELLO, HELLO_OF_USER }, { FRAME_OUTPUT, "text" } }, "OUTPUT frame: " },
        { { { FRAME_HELLO, HELLO_OF_USER }, { FRAME_DONE, "{}" } }, "DONE frame before" },
        { { { FRAME_ERROR, "{}" } }, "?" },
    };
    size_t i, k;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        begin("secret\n");
        for (k = 0; k < 4 && cases[i].frame[k].type != 0; k++) {
            assert_int_equal(told.closed, 0);
            say(cases[i].frame[k].type, cases[i].frame[k].body);
        }
        assert_int_equal(told.closed, 1);
        assert_int_equal(told.opened, 0);
        if (strstr(told.why.text, cases[i].why) == NULL)
            fail_msg("case %zu: %s", i, told.why.text);
        end();
    }
}

/* The connection ends, or muster ends it, on the way. */
static void test_ends(void **state)
{
    (void)state;
    begin("secret\n");
    say(FRAME_HELLO, HELLO_OF_USER);
    inner->conn.ops->closed(NULL, inner->conn.arg);
    assert_string_equal(told.why.text, "muster-agent exited before it was root");
    end();

    begin("secret\n");
    say(FRAME_HELLO, HELLO_OF_USER);
    free(sent(FRAME_SUDO));
    assert_true(conn_close_input(conn));
    say(FRAME_SUDO, "{\"asks\":true}"); /* too late: no password is sent */
    assert_int_equal(evbuffer_get_length(inner->to_agent), 0);
    inner->conn.ops->closed(NULL, inner->conn.arg);
    assert_int_equal(told.closed, 1);
    assert_string_equal(told.why.text, "in order");
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_root_already),
        cmocka_unit_test(test_with_password),
        cmocka_unit_test(test_without_password),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_what_an_agent_may_not_say),
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_nobody_to_ask),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

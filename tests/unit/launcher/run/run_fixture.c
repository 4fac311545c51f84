/* run_fixture.c - see run_fixture.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "run_fixture.h"

#include "clock.h"
#include "log.h"
#include "node/draining.h"

const char *const names[HOSTS] = { "te1", "te2", "te3" };

struct options    options;
struct plan       plan;
struct plan_node  plan_node[HOSTS];
struct node       node[HOSTS];
struct node      *nodes[NODES];
struct membership members;
struct run        run;

static char text_of_all[1000];
static char logged[4000];

static void keep_line(const char *line, size_t size, void *arg);

static void ignore(struct node *of, void *arg)
{
    (void)of, (void)arg;
}

static void ignore_frame(struct node *of, const struct frame *frame, const json_t *body,
                         void *arg)
{
    (void)of, (void)frame, (void)body, (void)arg;
}

void run_fixture_begin(void)
{
    static const struct node_ops     ops = { ignore, ignore, ignore_frame, ignore, NULL };
    static const struct member_rules rules = { .goes_on = true };
    static struct plan_rank          rank[HOSTS];
    const size_t                     world[NODES] = { 0, 1 };
    size_t                           i;

    fakes_made = 0;
    forget_told();
    options = (struct options){ .grace_s = 30 };
    plan = (struct plan){ .node = plan_node, .nodes = NODES, .world_size = NODES,
                            .options = &options };
    members = (struct membership){ 0 };
    run = (struct run){
        .options = &options, .plan = &plan, .base = event_base_new(), .node = nodes
    };
    run.phase.now = PHASE_RUNNING;
    for (i = 0; i < HOSTS; i++) {
        membership_add(&members, names[i], 1);
        rank[i].rank = (int)i;
        plan_node[i] =
            (struct plan_node){ .host = (char *)names[i], .rank = &rank[i], .ranks = 1 };
        node_init(&node[i], i, &plan_node[i], run.base, &ops, &run);
        node[i].conn = &fake_make(&node_conn_ops, &node[i])->conn;
        node[i].state = NODE_RUNNING;
    }
    nodes[0] = &node[0];
    nodes[1] = &node[1];
    membership_take(&members, &rules, world, NODES);
    membership_joined(&members, 2);
}

void run_fixture_end(void)
{
    size_t i;

    log_sink(NULL, NULL);
    for (i = 0; i < HOSTS; i++)
        node_clear(&node[i]);
    draining_await(run.base, 0);
    for (i = 0; i < fakes_made; i++) {
        evbuffer_free(fakes[i].to_launcher);
        evbuffer_free(fakes[i].to_agent);
    }
    event_base_free(run.base);
    membership_clear(&members);
}

void run_fixture_turn(double seconds)
{
    struct timeval limit = clock_interval(seconds);

    event_base_loopexit(run.base, &limit);
    event_base_dispatch(run.base);
}

void told(const char *format, ...)
{
    size_t  used = strlen(text_of_all);
    va_list args;

    va_start(args, format);
    vsnprintf(text_of_all + used, sizeof text_of_all - used, format, args);
    va_end(args);
}

void expect_told(const char *text)
{
    assert_string_equal(text_of_all, text);
    forget_told();
}

void forget_told(void)
{
    text_of_all[0] = '\0';
}

void run_fixture_log(void)
{
    forget_logged();
    log_init("test", LOG_WARN);
    log_sink(keep_line, NULL);
}

static void keep_line(const char *line, size_t size, void *arg)
{
    const size_t room = sizeof logged - strlen(logged) - 1;

    (void)arg;
    strncat(logged, line, size < room ? size : room);
}

void expect_logged(const char *text)
{
    const char *have = logged;

    for (; *text != '\0'; text++)
        if (*text == '*')
            have += strspn(have, "0123456789.");
        else if (*have++ != *text)
            fail_msg("logged: %s", logged);
    assert_string_equal(have, "");
    forget_logged();
}

void forget_logged(void)
{
    logged[0] = '\0';
}

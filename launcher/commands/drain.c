/* drain.c - muster drain, scale and kill: ask a running muster to remove nodes, to change their
 * number, or to send a signal
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "commands/commands.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "exit_code.h"
#include "hostrange.h"
#include "history/run_dir.h"
#include "log.h"

typedef int make_line(const struct options *options, struct buffer *line, struct error *err);

static make_line drain_line, scale_line, kill_line;
static int       ask(const struct options *options, make_line *make);

int command_drain(const struct options *options)
{
    return ask(options, drain_line);
}

int command_scale(const struct options *options)
{
    return ask(options, scale_line);
}

/* Without a signal, and with TERM, which ends a run, does what muster stop does. */
int command_kill(const struct options *options)
{
    if (options->kill_signal == 0 || options->kill_signal == SIGTERM)
        return command_stop(options);
    return ask(options, kill_line);
}

static int ask(const struct options *options, make_line *make)
{
    struct history         list;
    const struct past_run *run;
    struct buffer          line = { 0 };
    struct error           err;
    char                   answer[RUN_DIR_ANSWER_MAX];
    int                    status = EXIT_CREATE;

    if (history_read(&list, &err) == 0) {
        status = EXIT_USAGE;
        run = history_find(&list, options->run, &err);
        if (run != NULL && make(options, &line, &err) == 0 &&
            past_run_ask(run, line.bytes, PAST_RUN_ANSWER_S, answer, sizeof answer, &err) == 0)
            status = 0;
    }
    if (status == 0)
        printf("%s\n", answer);
    else
        log_error("%s", err.text);
    buffer_clear(&line);
    history_clear(&list);
    return status;
}

/* Makes "drain 300 te1 te2" from te[1-2]. */
static int drain_line(const struct options *options, struct buffer *line, struct error *err)
{
    struct strlist hosts = { 0 };
    char           seconds[40];
    size_t         i;
    int            rc = 0;

    snprintf(seconds, sizeof seconds, "drain %g", options->within_s);
    buffer_add_text(line, seconds);
    for (i = 0; i < options->args.count && rc == 0; i++)
        rc = hostrange_expand(options->args.item[i], &hosts, err);
    for (i = 0; i < hosts.count && rc == 0; i++) {
        buffer_add_text(line, " ");
        buffer_add_text(line, hosts.item[i]);
    }
    buffer_add(line, "", 1);
    strlist_clear(&hosts);
    return rc;
}

/* Makes "scale 3 300". */
static int scale_line(const struct options *options, struct buffer *line, struct error *err)
{
    char text[60];

    (void)err;
    snprintf(text, sizeof text, "scale %d %g", options->nodes, options->within_s);
    buffer_add(line, text, strlen(text) + 1);
    return 0;
}

/* Makes "signal 10". */
static int kill_line(const struct options *options, struct buffer *line, struct error *err)
{
    char text[40];

    (void)err;
    snprintf(text, sizeof text, "signal %d", options->kill_signal);
    buffer_add(line, text, strlen(text) + 1);
    return 0;
}

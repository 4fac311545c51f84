/* prompt.c - see prompt.h
 *
 * The hosts are those of the first reading for all lines, whatever becomes of the hostfile. Each
 * line connects again.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "commands/prompt.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands/prompt_input.h"
#include "commands/prompt_line.h"
#include "commands/prompt_process.h"
#include "exit_code.h"
#include "hostrange.h"
#include "log.h"
#include "strlist.h"
#include "transport/login.h"
#include "xalloc.h"

#define INCLUDE_TEXT "--include: " /* before an error of select_slots() */

static const char help[] =
    "COMMAND          sh runs it on each node; each line has a shell of its own\n"
    "@HOSTS COMMAND   on these nodes only: @te1,te2 or @te[1-2]; @ COMMAND: on all\n"
    "@HOSTS           the nodes of the lines that follow; @: all again\n"
    "!COMMAND         sh runs it on this machine\n"
    "hosts            print the nodes of the next line\n"
    "exit, quit       end, as Ctrl-D does; Ctrl-C ends a command\n";

struct prompt {
    const struct options *options;
    prompt_work          *run;
    struct first_hosts    first;  /* the hosts as they were found */
    struct hostlist       hosts;  /* those of them that are nodes: @HOSTS chooses from these */
    struct selection      chosen; /* the nodes of a line that names none */
    struct prompt_input   input;
    int                   status;
};

static void  begin(struct prompt *prompt, const struct options *options, prompt_work *run);
static void  end(struct prompt *prompt);
static int   push_first(struct prompt *prompt, prompt_work *push);
static int   read_lines(struct prompt *prompt);
static char *prompt_text(const struct prompt *prompt);
static int   obey(struct prompt *prompt, const struct prompt_line *line);
static int   choose(struct prompt *prompt, const char *filter, struct selection *chosen);
static int   work(const struct prompt *prompt, prompt_work *work, const struct selection *nodes,
                  const char *command);
static int   run_here(const struct prompt *prompt, const char *command);
static void  print_hosts(const struct prompt *prompt);
static int   refuse(const struct prompt *prompt, const char *text);

int prompt_run(const struct options *options, prompt_work *push, prompt_work *run)
{
    struct prompt prompt = { 0 };

    prompt.status = first_hosts_find(options, environ, &prompt.first);
    if (prompt.status == 0) {
        begin(&prompt, options, run);
        prompt.status = push_first(&prompt, push);
        if (prompt.status == 0)
            prompt.status = read_lines(&prompt);
    }
    end(&prompt);
    return prompt.status;
}

static void begin(struct prompt *prompt, const struct options *options, prompt_work *run)
{
    const struct selection *nodes = &prompt->first.selection;
    size_t                  i;

    prompt->options = options;
    prompt->run = run;
    prompt->hosts.host = xcalloc(nodes->count, sizeof *prompt->hosts.host);
    prompt->hosts.count = nodes->count;
    for (i = 0; i < nodes->count; i++)
        host_copy(&prompt->hosts.host[i], nodes->node[i].host);
    choose(prompt, "", &prompt->chosen);
    prompt_input_begin(&prompt->input);
    prompt_process_begin(prompt->input.is_terminal);
}

static void end(struct prompt *prompt)
{
    prompt_input_end(&prompt->input);
    selection_clear(&prompt->chosen);
    hostlist_clear(&prompt->hosts);
    first_hosts_clear(&prompt->first);
}

static int push_first(struct prompt *prompt, prompt_work *push)
{
    return prompt->options->push.count > 0 ? work(prompt, push, &prompt->chosen, NULL) : 0;
}

/* A line's status counts as sh's does. */
static int read_lines(struct prompt *prompt)
{
    enum prompt_read   read = PROMPT_READ;
    struct prompt_line line;
    struct error       err;
    const char        *typed;
    char              *text;
    int                status, last = 0;

    while ((read == PROMPT_READ || read == PROMPT_DROPPED) && prompt_process_ending() == 0) {
        text = prompt_text(prompt);
        read = prompt_input_next(&prompt->input, text, &typed, &err);
        free(text);
        if (read != PROMPT_READ)
            continue;
        prompt_line_read(typed, &line);
        status = obey(prompt, &line);
        if (line.kind == PROMPT_EXIT)
            read = PROMPT_END;
        if (status >= 0 && (!prompt->options->largest_status || status > last))
            last = status;
        prompt_line_clear(&line);
    }
    if (prompt_process_ending() != 0)
        return 128 + prompt_process_ending();
    if (read != PROMPT_WRONG)
        return last;
    log_error("%s", err.text);
    return EXIT_DATA;
}

static char *prompt_text(const struct prompt *prompt)
{
    size_t count = prompt->chosen.count, all = prompt->hosts.count;

    if (count == 1)
        return xasprintf("muster (%s)> ", prompt->chosen.node[0].host->name);
    if (count < all)
        return xasprintf("muster (%zu of %zu hosts)> ", count, all);
    return xasprintf("muster (%zu hosts)> ", count);
}

/* Returns the status of the line, or -1 if it has none. */
static int obey(struct prompt *prompt, const struct prompt_line *line)
{
    struct selection nodes = { 0 };
    int              status = 0;

    if (line->hosts != NULL && choose(prompt, line->hosts, &nodes) < 0)
        return EXIT_USAGE;
    switch (line->kind) {
    case PROMPT_NOTHING:
    case PROMPT_EXIT:
        status = -1;
        break;
    case PROMPT_COMMAND:
        status = work(prompt, prompt->run, line->hosts != NULL ? &nodes : &prompt->chosen,
                      line->command);
        break;
    case PROMPT_LOCAL:
        status = line->command[0] != '\0' ? run_here(prompt, line->command)
                                          : refuse(prompt, "which command? write !COMMAND");
        break;
    case PROMPT_CD:
        status = refuse(prompt, "cd: each line has a shell of its own; write cd DIR && ..., or "
                                "start muster exec with --cwd=DIR");
        break;
    case PROMPT_CHOOSE:
        selection_clear(&prompt->chosen);
        prompt->chosen = nodes;
        return 0;
    case PROMPT_HOSTS:
        print_hosts(prompt);
        break;
    case PROMPT_HELP:
        fputs(help, stdout);
        break;
    }
    selection_clear(&nodes);
    return status;
}

/* "": all nodes. */
static int choose(struct prompt *prompt, const char *filter, struct selection *chosen)
{
    const struct select_rules rules = { .include = filter, .num_nodes = -1, .num_gpus = -1 };
    struct error              err;
    const char               *why = err.text;

    if (select_slots(&prompt->hosts, &rules, chosen, &err) == 0)
        return 0;
    if (strncmp(why, INCLUDE_TEXT, strlen(INCLUDE_TEXT)) == 0)
        why += strlen(INCLUDE_TEXT);
    return refuse(prompt, why), -1;
}

/* Does it on these nodes, in a process of its own. command: NULL: none. */
static int work(const struct prompt *prompt, prompt_work *work_on, const struct selection *nodes,
                const char *command)
{
    struct options     options = *prompt->options; /* borrows the texts */
    struct first_hosts hosts = { .selection = *nodes, .count = nodes->count, .is_enough = true };
    struct error       err;
    int                status;

    login_drop_refused();
    status = prompt_process_fork(false, &err);
    if (status == -2)
        log_error("%s", err.text);
    if (status != -1)
        return status == -2 ? EXIT_INTERNAL : status;
    options.input_to = INPUT_TO_NONE;
    if (command != NULL) {
        options.push = options.args = (struct strlist){ 0 };
        options.script = xstrdup("sh");
        strlist_add(&options.args, "-c");
        strlist_add(&options.args, command);
    }
    status = work_on(&options, &hosts);
    if (fflush(stdout) != 0 && status == 0) {
        log_error("stdout: %s", strerror(errno));
        status = EXIT_OUTPUT;
    }
    _exit(status);
}

static int run_here(const struct prompt *prompt, const char *command)
{
    struct error err;
    int          status = prompt_process_fork(prompt->input.is_terminal, &err);

    if (status == -2)
        log_error("%s", err.text);
    if (status != -1)
        return status == -2 ? EXIT_INTERNAL : status;
    execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    log_error("/bin/sh: %s", strerror(errno));
    _exit(errno == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_EXECUTE);
}

static void print_hosts(const struct prompt *prompt)
{
    struct strlist names = { 0 };
    char          *folded;
    size_t         i;

    for (i = 0; i < prompt->chosen.count; i++)
        strlist_add(&names, prompt->chosen.node[i].host->name);
    folded = hostrange_fold(&names);
    puts(folded);
    free(folded);
    strlist_clear(&names);
}

static int refuse(const struct prompt *prompt, const char *text)
{
    if (prompt->input.is_terminal)
        log_error("%s", text);
    else
        log_error("line %zu: %s", prompt->input.number, text);
    return EXIT_USAGE;
}

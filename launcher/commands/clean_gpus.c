/* clean_gpus.c - see clean_gpus.h
 *
 *     te[1-2]: processes of me with a GPU open are not of a run of muster: left alone
 *       to end them: muster clean --kill-gpu mine --hostfile=hosts
 *     te1: run 20261120-103000-c3d4 is running and has a GPU open: left alone
 *       to stop it: muster stop 20261120-103000-c3d4
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "commands/clean_gpus.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "commands/table.h"
#include "exit_code.h"
#include "hostrange.h"
#include "log.h"
#include "options/kill_gpu.h"
#include "options/shell_word.h"
#include "runid.h"
#include "xalloc.h"

#define NOTES_MAX 64 /* different ones; a node may make up any number of users */

/* A line, or two, that applies to some hosts. */
struct note {
    char          *text, *command; /* command: "to end them: muster clean ..."; NULL: none */
    struct strlist hosts;
};

struct notes {
    struct note item[NOTES_MAX];
    size_t      count;
};

static void        note_node(struct notes *notes, const struct run *run, size_t node,
                             const json_t *found);
static void        note_none(struct notes *notes, const struct run *run, const char *host);
static void        note_problem(struct notes *notes, const struct run *run, size_t node,
                                const json_t *problem);
static void        note_asked(struct notes *notes, const struct run *run, size_t node,
                              const json_t *holder);
static char       *command_as_root(const struct run *run, size_t node, const json_t *denied);
static void        note_running(struct notes *notes, const char *host, const json_t *holder);
static void        note_alone(struct notes *notes, const struct run *run, size_t node,
                              const json_t *holder);
static char       *command_for(const struct run *run, const char *label, const char *whose,
                               bool as_root);
static void        add_note(struct notes *notes, const char *host, char *text, char *command);
static void        print_notes(const struct notes *notes, FILE *out);
static void        notes_clear(struct notes *notes);
static bool        is_root(const struct run *run, size_t node);
static bool        is_left(const struct run *run, const json_t *holder);
static bool        is_true(const json_t *object, const char *key);
static const char *word_of(const json_t *object, const char *key);

int clean_gpus_check(const struct run *run)
{
    const char *whose = run->options->kill_gpu;

    if (whose == NULL || kill_gpu_pid(whose) == 0 || run->plan->nodes == 1)
        return 0;
    log_error(
        "--kill-gpu %s: a PID is of one host, and these are %zu: choose it with --include",
        whose, run->plan->nodes);
    return EXIT_USAGE;
}

void clean_gpus_ask(const struct run *run, json_t *body)
{
    const char *whose = run->options->kill_gpu;
    int         pid = whose != NULL ? kill_gpu_pid(whose) : 0;

    if (whose != NULL)
        json_object_set_new(body, "kill_gpu", pid > 0 ? json_integer(pid) : json_string(whose));
}

const char *clean_gpus_state(const json_t *holder)
{
    return !is_true(holder, "asked") ? "in use"
           : is_true(holder, "gone") ? "ended"
           : is_true(holder, "free") ? "freed"
                                     : "left";
}

bool clean_gpus_are_left(const struct run *run, const json_t *found)
{
    const json_t *holder;
    size_t        i;

    if (json_object_get(found, "gpu_problem") != NULL)
        return true;
    json_array_foreach(json_object_get(found, "gpu_holders"), i, holder)
        if (is_left(run, holder))
            return true;
    return false;
}

/* What muster would not end is not left, unless the user means exactly that process. */
static bool is_left(const struct run *run, const json_t *holder)
{
    return strcmp(clean_gpus_state(holder), "left") == 0 &&
           (!is_true(holder, "spared") ||
            (run->options->kill_gpu != NULL && kill_gpu_pid(run->options->kill_gpu) > 0));
}

void clean_gpus_print(const struct run *run, const json_t *const *found, FILE *out)
{
    struct notes notes = { 0 };
    size_t       n;

    for (n = 0; n < run->plan->nodes; n++)
        if (found[n] != NULL)
            note_node(&notes, run, n, found[n]);
    print_notes(&notes, out);
    notes_clear(&notes);
}

static void note_node(struct notes *notes, const struct run *run, size_t node,
                      const json_t *found)
{
    const char   *host = plan_label(&run->plan->node[node]);
    const json_t *problem = json_object_get(found, "gpu_problem"), *holder;
    size_t        i, asked = 0;

    json_array_foreach(json_object_get(found, "gpu_holders"), i, holder) {
        asked += is_true(holder, "asked");
        if (is_true(holder, "asked"))
            note_asked(notes, run, node, holder);
        else if (run->options->kill && json_object_get(holder, "run") == NULL)
            note_alone(notes, run, node, holder);
    }
    if (problem != NULL)
        note_problem(notes, run, node, problem);
    else if (run->options->kill_gpu != NULL && asked == 0)
        note_none(notes, run, host);
}

static void note_none(struct notes *notes, const struct run *run, const char *host)
{
    const char *whose = run->options->kill_gpu;

    add_note(notes, host,
             xasprintf("no process of %s has a GPU open",
                       strcmp(whose, "mine") == 0 ? "yours" : whose),
             NULL);
}

static void note_problem(struct notes *notes, const struct run *run, size_t node,
                         const json_t *problem)
{
    add_note(notes, plan_label(&run->plan->node[node]), table_text(word_of(problem, "why")),
             command_as_root(run, node, problem));
}

static void note_asked(struct notes *notes, const struct run *run, size_t node,
                       const json_t *holder)
{
    const char *host = plan_label(&run->plan->node[node]);
    const char *state = clean_gpus_state(holder), *why = word_of(holder, "why");
    char       *user, *command, *reason;

    if (strcmp(state, "ended") == 0)
        return;
    if (strcmp(state, "left") == 0 && is_true(holder, "running")) {
        note_running(notes, host, holder);
        return;
    }
    user = table_text(word_of(holder, "user"));
    command = table_text(word_of(holder, "command"));
    reason = table_text(strcmp(state, "freed") == 0 ? "it has closed the GPU, and continues"
                        : why[0] != '\0'            ? why
                                         : "it has not ended, although KILL was sent");
    add_note(notes, host,
             xasprintf("pid %lld of %s (%s): %s",
                       (long long)json_integer_value(json_object_get(holder, "pid")), user,
                       command, reason),
             command_as_root(run, node, holder));
    free(user);
    free(command);
    free(reason);
}

/* NULL: root could not do more either. */
static char *command_as_root(const struct run *run, size_t node, const json_t *denied)
{
    return is_true(denied, "denied") && !is_root(run, node)
               ? command_for(run, "as root", run->options->kill_gpu, true)
               : NULL;
}

static void note_running(struct notes *notes, const char *host, const json_t *holder)
{
    const char *id = word_of(holder, "run");

    if (runid_is(id))
        add_note(notes, host, xasprintf("run %s is running and has a GPU open: left alone", id),
                 xasprintf("to stop it: muster stop %s", id));
    else
        add_note(notes, host, xstrdup("a run that is running has a GPU open: left alone"),
                 xstrdup("to find it: muster status"));
}

/* A name that no --kill-gpu accepts is none that muster suggests. */
static void note_alone(struct notes *notes, const struct run *run, size_t node,
                       const json_t *holder)
{
    bool        is_mine = is_true(holder, "mine");
    const char *whose = is_mine ? "mine" : word_of(holder, "user");
    char       *user = table_text(word_of(holder, "user"));

    add_note(notes, plan_label(&run->plan->node[node]),
             xasprintf("processes of %s with a GPU open are not of a run of muster: left alone",
                       user),
             kill_gpu_is(whose)
                 ? command_for(run, "to end them", whose, !is_mine && !is_root(run, node))
                 : NULL);
    free(user);
}

/* "LABEL: muster clean --kill-gpu WHOSE", with the user's own options for hosts. */
static char *command_for(const struct run *run, const char *label, const char *whose,
                         bool as_root)
{
    const struct options *options = run->options;
    struct buffer         text = { 0 };
    size_t                i;

    buffer_add_text(&text, label);
    buffer_add_text(&text, ": muster clean --kill-gpu");
    shell_word_add(&text, whose);
    if (as_root)
        buffer_add_text(&text, " --sudo");
    for (i = 0; i < options->host_words.count; i++)
        shell_word_add(&text, options->host_words.item[i]);
    buffer_add(&text, "", 1);
    return text.bytes;
}

/* Takes text and command. */
static void add_note(struct notes *notes, const char *host, char *text, char *command)
{
    struct note *note = notes->item, *end = notes->item + notes->count;

    while (note < end &&
           (strcmp(note->text, text) != 0 || strcmp(note->command != NULL ? note->command : "",
                                                    command != NULL ? command : "") != 0))
        note++;
    if (note == end && notes->count < NOTES_MAX) {
        *note = (struct note){ .text = text, .command = command };
        notes->count++;
        text = command = NULL;
    }
    if (note < notes->item + NOTES_MAX && !strlist_has(&note->hosts, host))
        strlist_add(&note->hosts, host);
    free(text);
    free(command);
}

static void print_notes(const struct notes *notes, FILE *out)
{
    char  *hosts;
    size_t i;

    for (i = 0; i < notes->count; i++) {
        hosts = hostrange_fold(&notes->item[i].hosts);
        fprintf(out, "%s: %s\n", hosts, notes->item[i].text);
        if (notes->item[i].command != NULL)
            fprintf(out, "  %s\n", notes->item[i].command);
        free(hosts);
    }
}

static void notes_clear(struct notes *notes)
{
    size_t i;

    for (i = 0; i < notes->count; i++) {
        free(notes->item[i].text);
        free(notes->item[i].command);
        strlist_clear(&notes->item[i].hosts);
    }
}

static bool is_root(const struct run *run, size_t node)
{
    const json_t *uid = json_object_get(run->node[node]->hello, "uid");

    return json_is_integer(uid) && json_integer_value(uid) == 0;
}

static bool is_true(const json_t *object, const char *key)
{
    return json_is_true(json_object_get(object, key));
}

/* "": there is none. */
static const char *word_of(const json_t *object, const char *key)
{
    const char *word = json_string_value(json_object_get(object, key));

    return word != NULL ? word : "";
}

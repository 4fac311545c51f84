/* run_mode.c - see run_mode.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "job/run_mode.h"

#include <stdio.h>
#include <string.h>

#define NO_LOCAL_RANK "--no_local_rank"

static void    read_pods(struct run_pods *pods, struct fields *outer, const char *list,
                         bool has_args);
static json_t *pods_document(const struct run_pods *pods);
static void    add_list(struct strlist *to, const json_t *words);
static json_t *list_of(const struct strlist *words);
static bool    is_program(const char *word, const char *name);

void run_mode_read(struct job *job, struct fields *spec)
{
    struct fields mode, inner;

    fields_object(spec, "runMode", &mode);
    fields_object(&mode, "debug", &inner);
    job->is_debug = fields_bool(&inner, "enabled", false);
    read_pods(&job->debug, &inner, "replicaSpecs", false);
    fields_end(&inner);
    fields_object(&mode, "pause", &inner);
    job->is_paused = fields_bool(&inner, "enabled", false);
    read_pods(&job->resumed, &inner, "resumeSpecs", true);
    fields_end(&inner);
    fields_end(&mode);
    /* muster-init always starts sshd. */
    if (job->debug.command.count > 0 && is_program(job->debug.command.item[0], "sshd"))
        strlist_clear(&job->debug.command);
}

json_t *run_mode_document(const struct job *job)
{
    json_t *mode = json_object(), *debug = pods_document(&job->debug);
    json_t *resumed = pods_document(&job->resumed);

    if (job->is_debug || debug != NULL)
        json_object_set_new(mode, "debug",
                            json_pack("{sbso*}", "enabled", job->is_debug, "replicaSpecs", debug));
    if (job->is_paused || resumed != NULL)
        json_object_set_new(
            mode, "pause",
            json_pack("{sbso*}", "enabled", job->is_paused, "resumeSpecs", resumed));
    if (json_object_size(mode) > 0)
        return mode;
    json_decref(mode);
    return NULL;
}

void run_mode_clear(struct job *job)
{
    strlist_clear(&job->debug.command);
    strlist_clear(&job->debug.args);
    strlist_clear(&job->resumed.command);
    strlist_clear(&job->resumed.args);
}

bool run_mode_command(const struct job *job, bool is_resumed, struct strlist *words)
{
    const struct strlist *command = &job->resumed.command;
    bool                  is_other = is_resumed && command->count > 0;
    size_t                i;

    if (!is_other)
        strlist_append(words, &job->command);
    else if (job->is_custom)
        strlist_append(words, command);
    else if (is_program(command->item[0], "muster") || is_program(command->item[0], "deepspeed")) {
        for (i = 1; i < command->count; i++)
            strlist_add(words, command->item[i]);
    } else { /* a command for each rank, like config.run.exec */
        if (job->command.count > 0 && strcmp(job->command.item[0], NO_LOCAL_RANK) == 0)
            strlist_add(words, NO_LOCAL_RANK);
        strlist_add(words, "--no_python");
        strlist_append(words, command);
    }
    if (is_resumed)
        strlist_append(words, &job->resumed.args);
    return !job->is_custom;
}

bool run_mode_skips_init(const struct job *job, bool is_resumed)
{
    return (job->is_debug && job->debug.skips_init) || (is_resumed && job->resumed.skips_init);
}

/* T9k's documents have a list with one object per type of Pod; the only type is worker. */
static void read_pods(struct run_pods *pods, struct fields *outer, const char *list, bool has_args)
{
    static const char *const types[] = { "worker", NULL };
    const json_t            *all = fields_any(outer, list);
    struct fields            one = { .err = outer->err };

    if (all == NULL || json_is_null(all) || (json_is_array(all) && json_array_size(all) == 0))
        return;
    if (json_array_size(all) != 1 || !json_is_object(json_array_get(all, 0))) {
        fields_wrong(outer, list, "must be a list with one object, of type worker");
        return;
    }
    one.object = json_array_get(all, 0);
    snprintf(one.path, sizeof one.path, "%.80s.%.60s[0]", outer->path, list);
    fields_choice(&one, "type", types);
    pods->skips_init = fields_bool(&one, "skipInitContainer", false);
    add_list(&pods->command, fields_list(&one, "command"));
    if (has_args)
        add_list(&pods->args, fields_list(&one, "args"));
    fields_end(&one);
}

/* NULL: all fields have their defaults. */
static json_t *pods_document(const struct run_pods *pods)
{
    if (!pods->skips_init && pods->command.count == 0 && pods->args.count == 0)
        return NULL;
    return json_pack("[{sssbso*so*}]", "type", "worker", "skipInitContainer", pods->skips_init,
                     "command", list_of(&pods->command), "args", list_of(&pods->args));
}

static void add_list(struct strlist *to, const json_t *words)
{
    size_t i;

    for (i = 0; i < json_array_size(words); i++)
        strlist_add(to, json_string_value(json_array_get(words, i)));
}

static json_t *list_of(const struct strlist *words)
{
    json_t *list = words->count > 0 ? json_array() : NULL;
    size_t  i;

    for (i = 0; i < words->count; i++)
        json_array_append_new(list, json_string(words->item[i]));
    return list;
}

/* Is word the program's name, or a path that ends with it? */
static bool is_program(const char *word, const char *name)
{
    const char *slash = strrchr(word, '/');

    return strcmp(slash != NULL ? slash + 1 : word, name) == 0;
}

/* wrapper.c - see wrapper.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "plan/wrapper.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "plan/script_text.h"
#include "xalloc.h"

#define WORDS_MAX 8 /* of a command in a script */
#define BETWEEN   " \t\"'`(){}"
#define ENDS      ";|&" /* after these comes another command */

static const struct launcher {
    const char *name;
    const char *argument; /* its first argument then; NULL: any */
    bool        is_module; /* Python starts it: -m NAME */
    bool        is_of_node;
    bool        is_server; /* it starts no ranks, but takes all GPUs */
} launchers[] = {
    { "torchrun", NULL, false, true, false },
    { "torch.distributed.run", NULL, true, true, false },
    { "torch.distributed.launch", NULL, true, true, false },
    { "accelerate", "launch", false, true, false },
    { "accelerate.commands.launch", NULL, true, true, false },
    { "llamafactory-cli", "train", false, true, false },
    { "swift", "sft", false, true, false },
    { "swift", "pt", false, true, false },
    { "swift", "rlhf", false, true, false },
    { "ray", "start", false, true, true },
    { "vllm", "serve", false, true, true },
    { "vllm.entrypoints.openai.api_server", NULL, true, true, true },
    { "sglang.launch_server", NULL, true, true, true },
    { "deepspeed", NULL, false, false, false },
    { "mpirun", NULL, false, false, false },
    { "mpiexec", NULL, false, false, false },
    { "orterun", NULL, false, false, false },
    { "horovodrun", NULL, false, false, false },
    { "srun", NULL, false, false, false },
    { "pdsh", NULL, false, false, false },
};

static const struct launcher *find_in_command(const char *script, const struct strlist *args);
static const char *const *behind_prefixes(const char *const *words);
static const struct launcher *find_in_words(const char *const *words);
static const struct launcher *find_launcher(const char *name, const char *argument,
                                            bool is_module);
static bool        is_shell(const char *name);
static char       *read_script(const char *path, const char *cwd, bool for_shell);
static bool        names_a_shell(const char *text);
static const struct launcher *find_in_script(const char *text);
static const struct launcher *find_in_line(char *line, bool *goes_on);
static bool        is_prefix(const char *word);

struct wrapper wrapper_find(const struct options *options, const char *cwd)
{
    const struct strlist  *args = &options->args;
    const char            *script = options->script, *file = script;
    const struct launcher *found;
    char                  *text = NULL, *words;

    found = options->module ? find_launcher(script, NULL, true) : find_in_command(script, args);
    if (found != NULL || options->module)
        return (struct wrapper){ found != NULL ? xstrdup(found->name) : NULL,
                                 found != NULL && found->is_of_node,
                                 found != NULL && found->is_server };
    if (is_shell(script) && args->count > 1 && strcmp(args->item[0], "-c") == 0) {
        text = xstrdup(args->item[1]);
        file = NULL;
    } else if (is_shell(script) && args->count > 0) {
        file = args->item[0];
    }
    if (file != NULL)
        text = read_script(file, cwd, is_shell(script));
    found = text != NULL ? find_in_script(text) : NULL;
    free(text);
    if (found == NULL)
        return (struct wrapper){ 0 };
    words = file != NULL ? xasprintf("%s (%s)", script_base(file), found->name)
                         : xstrdup(found->name);
    return (struct wrapper){ words, found->is_of_node, found->is_server };
}

void wrapper_clear(struct wrapper *wrapper)
{
    free(wrapper->words);
    *wrapper = (struct wrapper){ 0 };
}

static const struct launcher *find_in_command(const char *script, const struct strlist *args)
{
    const struct launcher *found;
    struct strlist         all = { 0 };

    strlist_add(&all, script);
    strlist_append(&all, args);
    found = find_in_words(behind_prefixes((const char *const *)all.item));
    strlist_clear(&all);
    return found;
}

/* The command that env A=1, nohup, numactl --membind=0, nice -n 5, uv run ... execute in the end */
static const char *const *behind_prefixes(const char *const *words)
{
    const char *const *first = words;

    while (words[1] != NULL &&
           (is_prefix(script_base(words[0])) ||
            (words > first && (words[0][0] == '-' || isdigit((unsigned char)words[0][0]) ||
                               strcmp(words[0], "run") == 0))))
        words++;
    return words;
}

/* words: a command, ended by NULL. */
static const struct launcher *find_in_words(const char *const *words)
{
    size_t i;

    if (!script_is_python(words[0]))
        return find_launcher(script_base(words[0]), words[1], false);
    for (i = 1; words[i] != NULL && words[i][0] == '-'; i++)
        if (strcmp(words[i], "-m") == 0)
            return words[i + 1] != NULL ? find_launcher(words[i + 1], NULL, true) : NULL;
    return words[i] != NULL ? find_launcher(script_base(words[i]), words[i + 1], false) : NULL;
}

static const struct launcher *find_launcher(const char *name, const char *argument,
                                            bool is_module)
{
    size_t i;

    for (i = 0; i < sizeof launchers / sizeof *launchers; i++)
        if (strcmp(launchers[i].name, name) == 0 && launchers[i].is_module == is_module &&
            (launchers[i].argument == NULL ||
             (argument != NULL && strcmp(launchers[i].argument, argument) == 0)))
            return &launchers[i];
    return NULL;
}

static bool is_shell(const char *name)
{
    static const char *const shells[] = { "sh", "bash", "dash", "zsh", "ksh" };
    size_t                   i;

    for (i = 0; i < sizeof shells / sizeof *shells; i++)
        if (strcmp(script_base(name), shells[i]) == 0)
            return true;
    return false;
}

/* Returns the beginning of a shell script, or NULL if the file is something else. for_shell: a
 * shell will read it, whatever its first line says. */
static char *read_script(const char *path, const char *cwd, bool for_shell)
{
    char *text = script_text(path, cwd);

    if (text != NULL && (for_shell || names_a_shell(text)))
        return text;
    free(text);
    return NULL;
}

/* "#!/bin/sh", "#!/usr/bin/env bash" */
static bool names_a_shell(const char *text)
{
    char *line = strncmp(text, "#!", 2) == 0 ? xstrndup(text + 2, strcspn(text + 2, "\n")) : NULL;
    char *rest = line, *word;
    bool  is_one = false;

    while (!is_one && (word = strsep(&rest, " \t\r")) != NULL)
        is_one = is_shell(word);
    free(line);
    return is_one;
}

/* --- a shell script ---------------------------------------------------------- */

static const struct launcher *find_in_script(const char *text)
{
    char                  *copy = xstrdup(text), *rest = copy, *line;
    const struct launcher *found = NULL;
    bool                   goes_on = false; /* the line before ended with a backslash */

    while (found == NULL && (line = strsep(&rest, "\n")) != NULL)
        found = find_in_line(line, &goes_on);
    free(copy);
    return found;
}

/* Splits a line as a shell roughly does: it is enough to find a launcher where a command
 * begins. */
static const struct launcher *find_in_line(char *line, bool *goes_on)
{
    const struct launcher *found = NULL;
    const char            *word[WORDS_MAX + 1] = { NULL };
    char                  *rest = line, *command, *part;
    size_t                 length = strlen(line), count;
    bool                   is_rest = *goes_on;

    *goes_on = length > 0 && line[length - 1] == '\\';
    if (line[strspn(line, " \t")] == '#')
        return NULL;
    while (found == NULL && (command = strsep(&rest, ENDS)) != NULL) {
        memset(word, 0, sizeof word);
        count = 0;
        while (count < WORDS_MAX && (part = strsep(&command, BETWEEN)) != NULL)
            if (*part != '\0' && strcmp(part, "\\") != 0 && (count > 0 || !is_prefix(part)))
                word[count++] = part;
        if (count > 0 && !is_rest)
            found = find_in_words(word);
        is_rest = false;
    }
    return found;
}

/* Does the command come after this word? */
static bool is_prefix(const char *word)
{
    static const char *const prefixes[] = { "exec", "time", "nohup", "env", "then", "do", "else",
                                            "if",   "eval", "sudo", "numactl", "nice", "stdbuf",
                                            "uv",   "conda" };
    size_t                   i;

    for (i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (strcmp(word, prefixes[i]) == 0)
            return true;
    return strchr(word, '=') != NULL;
}

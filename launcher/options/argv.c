/* argv.c - see argv.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "options/argv.h"

#include <ctype.h>
#include <string.h>

#include "options/other_launchers.h"
#include "xalloc.h"

static int          read_letters(struct settings *settings, char ***words,
                                 struct error *err);
static int          read_long(struct settings *settings, char ***words, size_t skip,
                              struct error *err);
static int          unknown_letter(const char *word, const char *at, struct error *err);
static const char  *next_value(const struct option_row *row, const char *typed,
                               char ***words, struct error *err);
static bool         is_negative_number(const char *word);
static void         settings_add(struct settings *settings, const struct option_row *row,
                                 const char *value, bool by_letter);
static int          words_take(struct options *options, char **words, bool was_eaten,
                               struct error *err);
static int          read_topic(struct options *options, char **words, struct error *err);
static bool         is_command(const char *word, enum command *command);

int argv_read(int argc, char **argv, struct options *options, struct settings *settings,
              struct error *err)
{
    char **words = argv + (argc > 0);
    bool   was_eaten = false;
    int    rc;

    options->command = COMMAND_RUN;
    options->topic = COMMAND_HELP;
    if (is_command(*words, &options->command)) {
        options->topic = options->command;
        words++;
    }

    for (; *words != NULL && !was_eaten; words++) {
        if ((*words)[0] != '-' || (*words)[1] == '\0') {
            if (options->command != COMMAND_BCAST)
                break;
            strlist_add(&options->args, *words); /* options may follow paths, as with cp */
            continue;
        }
        was_eaten = strcmp(*words, "--") == 0;
        if (was_eaten)
            continue;
        rc = (*words)[1] == '-' ? read_long(settings, &words, 2, err)
                                : read_letters(settings, &words, err);
        if (rc < 0 && options->command == COMMAND_CHECK)
            return err_set(err, "%s; put options of muster-train check after '--'", err->text);
        if (rc < 0)
            return -1;
    }
    return words_take(options, words, was_eaten, err);
}

/* "-x", "-xy" of flags, "-xvalue", "-x=value", "-x value". */
static int read_letters(struct settings *settings, char ***words, struct error *err)
{
    const char              *word = **words, *at, *value;
    size_t                   length = strcspn(word + 1, "=");
    const struct option_row *row = option_by_name(word + 1, length);
    char                     typed[3] = "-";

    if (row != NULL && strcmp(row->name, "np") == 0)
        return read_long(settings, words, 1, err);
    if (row != NULL && length > 1)
        return err_set(err, "unknown option %s (did you mean -%s?)", word, word);
    if (length > 1 && other_launchers_hint(word + 1, length) != NULL) /* -map-by */
        return err_set(err, "unknown option %s: it is %s", word,
                       other_launchers_hint(word + 1, length));
    for (at = word + 1; *at != '\0'; at++) {
        row = option_by_letter(*at);
        if (row == NULL)
            return unknown_letter(word, at, err);
        if (row->arg != NULL)
            break;
        settings_add(settings, row, NULL, true);
    }
    if (*at == '\0')
        return 0;
    typed[1] = *at;
    value = at[1] == '=' ? at + 2 : at + 1;
    if (at[1] == '\0' && (value = next_value(row, typed, words, err)) == NULL)
        return -1;
    settings_add(settings, row, value, true);
    return 0;
}

/* "--name", "--name=value", "--name value"; also -np, as other launchers call it. skip: the
 * number of dashes. */
static int read_long(struct settings *settings, char ***words, size_t skip, struct error *err)
{
    const char              *name = **words + skip;
    size_t                   length = strcspn(name, "=");
    const struct option_row *row = option_find(name, length, err);
    const char              *value = name[length] == '=' ? name + length + 1 : NULL;
    char                     typed[64];

    if (row == NULL)
        return -1;
    snprintf(typed, sizeof typed, "--%s", row->name);
    if (value == NULL && row->arg != NULL && (value = next_value(row, typed, words, err)) == NULL)
        return -1;
    settings_add(settings, row, value, false);
    return 0;
}

static int unknown_letter(const char *word, const char *at, struct error *err)
{
    const char *instead = other_launchers_hint(at, 1);

    if (instead != NULL)
        return err_set(err, "unknown option -%c: it is %s", *at, instead);
    return err_set(err, "unknown option -%c%s%s%s", *at, at > word + 1 ? " in '" : "",
                   at > word + 1 ? word : "", at > word + 1 ? "'" : "");
}

/* The next word, as the value of an option that has none attached. It must not look like an
 * option, or a forgotten value would swallow one. */
static const char *next_value(const struct option_row *row, const char *typed, char ***words,
                              struct error *err)
{
    const char *next = (*words)[1];

    if (next == NULL) {
        err_set(err, "%s needs a value: %s", typed, row->arg);
        return NULL;
    }
    if (next[0] == '-' && next[1] != '\0' &&
        !((row->flags & OPTION_NUMBER) && is_negative_number(next))) {
        err_set(err, "%s needs a value, but '%.100s' looks like an option; "
                "if it is the value, write %s=%.100s", typed, next, typed, next);
        return NULL;
    }
    ++*words;
    return next;
}

static bool is_negative_number(const char *word)
{
    return word[0] == '-' && isdigit((unsigned char)word[1]);
}

static void settings_add(struct settings *settings, const struct option_row *row,
                         const char *value, bool by_letter)
{
    settings->item = xreallocarray(settings->item, settings->count + 1, sizeof *settings->item);
    settings->item[settings->count++] =
        (struct setting){ .row = row, .value = value, .by_letter = by_letter };
}

/* The words after the options. One "--" is dropped: the one before the script, else the one
 * directly after it, as by DeepSpeed's argparse. A command of exec keeps its own. */
static int words_take(struct options *options, char **words, bool was_eaten, struct error *err)
{
    bool         has_script = options->command == COMMAND_RUN || options->command == COMMAND_EXEC;
    enum command other;

    if (options->command == COMMAND_HELP)
        return read_topic(options, words, err);
    if (has_script && *words != NULL) {
        if (options->command == COMMAND_RUN && !was_eaten && is_command(*words, &other) &&
            other != COMMAND_RUN)
            return err_set(err, "'%s' comes before the options: muster %s [OPTIONS] ... "
                           "(a script of that name is ./%s)", *words, *words, *words);
        options->script = xstrdup(*words++);
        if (options->command == COMMAND_RUN && !was_eaten && *words != NULL &&
            strcmp(*words, "--") == 0)
            words++;
    }
    if (command_takes_run(options->command) && *words != NULL)
        options->run = xstrdup(*words++);
    for (; *words != NULL; words++)
        strlist_add(&options->args, *words);
    return 0;
}

/* muster help [SUBCOMMAND] */
static int read_topic(struct options *options, char **words, struct error *err)
{
    if (*words == NULL)
        return 0;
    if (!is_command(*words, &options->topic))
        return err_set(err, "there is no subcommand '%.100s'; muster --help lists them", *words);
    if (words[1] != NULL)
        return err_set(err, "muster help takes one subcommand, not also '%.100s'", words[1]);
    return 0;
}

static bool is_command(const char *word, enum command *command)
{
    int i;

    for (i = 0; i < COMMANDS; i++) {
        if (word != NULL && strcmp(word, command_names[i]) == 0) {
            *command = (enum command)i;
            return true;
        }
    }
    return false;
}

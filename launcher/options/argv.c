/* argv.c - see argv.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "options/argv.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "options/option_value.h"
#include "options/other_launchers.h"
#include "options/path_search.h"
#include "xalloc.h"

/* The meaning of a word on the command line: one of our options, perhaps under the name that
 * another launcher gives it. */
struct meaning {
    const struct option_row *row;
    option_setter           *set;
    const char              *value; /* not NULL: what another launcher's flag implies */
};

struct reader {
    char           **words; /* the current word and all after it */
    char           **own;   /* words from here on are those of one role; NULL: none are */
    enum command     command;
    struct settings *settings;
    bool             is_lost; /* cannot tell whether the next word is a value or the script */
};

static void  read_version(struct settings *settings);
static bool  begins_role(const struct reader *reader);
static bool  read_signal(struct reader *reader);
static void  read_letters(struct reader *reader);
static void  read_long(struct reader *reader, size_t skip);
static bool  mean_letter(const struct reader *reader, const char *at, struct meaning *meaning);
static bool  mean_name(const struct reader *reader, const char *name, size_t length,
                       struct meaning *meaning, struct error *err);
static bool  mean_other(const struct other_option *other, struct meaning *meaning);
static const struct other_option *other_of(const struct reader *reader, const char *name,
                                           size_t length);
static void  unknown_letter(struct reader *reader, const char *word, const char *at);
static void  unknown(struct reader *reader, const struct other_option *other, bool has_value,
                     const char *text);
static bool  is_program(const char *word);
static void  add_setting(struct reader *reader, const struct meaning *meaning, const char *typed,
                         const char *value);
static bool  is_taken(const struct reader *reader, const struct option_row *row);
static bool  is_of_command(struct reader *reader, const struct option_row *row,
                           const char *typed);
static void  list_commands(unsigned commands, char *text, size_t size);
static const char *next_value(struct reader *reader, const struct option_row *row,
                              const char *typed);
static bool  is_value(const char *word);
static void  complain(struct reader *reader, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static int   words_take(struct options *options, char **words, bool was_eaten,
                        struct error *err);
static int   read_topic(struct options *options, char **words, struct error *err);
static int   check_colon(char **words, struct error *err);
static void  word_take(struct options *options, const char *word);

void argv_read(int argc, char **argv, char **own, struct options *options,
               struct settings *settings)
{
    struct reader reader = { .words = argv + (argc > 0), .own = own, .settings = settings };
    struct error  why;
    bool          was_eaten = false;

    options->command = COMMAND_RUN;
    options->topic = COMMAND_HELP;
    if (*reader.words != NULL && strcmp(*reader.words, "version") == 0 &&
        reader.words[1] == NULL) {
        read_version(settings);
        return;
    }
    if (command_find(*reader.words, &options->command)) {
        options->topic = options->command;
        reader.words++;
    }
    reader.command = options->command;

    for (; *reader.words != NULL && !was_eaten; reader.words++) {
        const char *word = *reader.words;

        if (reader.words == own)
            settings->own = settings->count;
        if (own == NULL && begins_role(&reader)) {
            options->has_roles = true;
            break;
        }
        if (word[0] != '-' || word[1] == '\0') {
            if (!command_table[options->command].is_mixed)
                break;
            word_take(options, word);
            continue;
        }
        was_eaten = strcmp(word, "--") == 0;
        if (was_eaten)
            continue;
        if (word[1] == '-')
            read_long(&reader, 2);
        else if (!read_signal(&reader))
            read_letters(&reader);
        if (reader.is_lost)
            return;
    }
    if (settings->wrong.count == 0 && words_take(options, reader.words, was_eaten, &why) < 0)
        strlist_add(&settings->wrong, why.text);
}

/* muster version, as docker and kubectl have it */
static void read_version(struct settings *settings)
{
    const struct option_row *row = option_by_name("version", strlen("version"));

    settings->item = xcalloc(1, sizeof *settings->item);
    settings->item[settings->count++] = (struct setting){ .row = row, .set = row->set };
}

static bool begins_role(const struct reader *reader)
{
    static const char role[] = "--role";
    const char       *word = *reader->words;

    return reader->command == COMMAND_RUN && strncmp(word, role, sizeof role - 1) == 0 &&
           (word[sizeof role - 1] == '\0' || word[sizeof role - 1] == '=');
}

void settings_clear(struct settings *settings)
{
    free(settings->item);
    strlist_clear(&settings->wrong);
    *settings = (struct settings){ 0 };
}

/* Reads "-USR1", "-SIGUSR1" and "-10" of muster kill, as kill has them. No letter is a signal. */
static bool read_signal(struct reader *reader)
{
    const char    *name = *reader->words + 1;
    struct meaning meaning = { .row = option_by_name("signal", strlen("signal")) };

    if (reader->command != COMMAND_KILL || signal_number(name) < 0)
        return false;
    meaning.set = meaning.row->set;
    add_setting(reader, &meaning, "--signal", name);
    return true;
}

/* Reads "-x", "-xy" (flags), "-xvalue", "-x=value", "-x value", and "-np", "-hostfile" as
 * mpirun has them. */
static void read_letters(struct reader *reader)
{
    const char              *word = *reader->words, *at, *value;
    size_t                   length = strcspn(word + 1, "=");
    const struct option_row *row = option_by_name(word + 1, length);
    struct meaning           meaning;
    char                     typed[3] = "-";
    const struct other_option *other = other_of(reader, word + 1, length);

    if ((row != NULL && strcmp(row->name, "np") == 0) ||
        (other != NULL && (row == NULL || other->same != NULL))) {
        read_long(reader, 1);
        return;
    }
    if (row != NULL && length > 1) {
        if (other != NULL)
            complain(reader, "unknown option %s: it is %s", word, other->instead);
        else
            complain(reader, "unknown option %s (did you mean -%s?)", word, word);
        reader->is_lost = row->arg != NULL && word[1 + length] != '=';
        return;
    }
    for (at = word + 1; *at != '\0'; at++) {
        typed[1] = *at;
        if (!mean_letter(reader, at, &meaning)) {
            unknown_letter(reader, word, at);
            return;
        }
        if (meaning.row->arg != NULL && meaning.value == NULL)
            break;
        add_setting(reader, &meaning, typed, meaning.value);
    }
    if (*at == '\0')
        return;
    value = at[1] == '=' ? at + 2 : at + 1;
    if (at[1] == '\0' && (value = next_value(reader, meaning.row, typed)) == NULL)
        return;
    add_setting(reader, &meaning, typed, value);
}

/* Reads "--name", "--name=value", "--name value". skip is the number of dashes, 1 or 2. */
static void read_long(struct reader *reader, size_t skip)
{
    const char    *name = *reader->words + skip;
    size_t         length = strcspn(name, "=");
    const char    *value = name[length] == '=' ? name + length + 1 : NULL;
    char           typed[sizeof ((struct setting *)NULL)->typed];
    struct meaning meaning;
    struct error   why;

    if (!mean_name(reader, name, length, &meaning, &why)) {
        if (other_of(reader, name, length) != NULL)
            err_set(&why, "unknown option %.*s: it is %s", (int)(skip + length), *reader->words,
                    other_of(reader, name, length)->instead);
        unknown(reader, other_of(reader, name, length), value != NULL, why.text);
        return;
    }
    if (other_of(reader, name, length) != NULL)
        snprintf(typed, sizeof typed, "%.*s", (int)(skip + length), *reader->words);
    else
        snprintf(typed, sizeof typed, "--%s", meaning.row->name);
    if (value == NULL && meaning.value != NULL)
        value = meaning.value;
    if (value == NULL && meaning.row->arg != NULL &&
        (value = next_value(reader, meaning.row, typed)) == NULL)
        return;
    add_setting(reader, &meaning, typed, value);
}

static bool mean_letter(const struct reader *reader, const char *at, struct meaning *meaning)
{
    const struct option_row   *row = option_by_letter(*at);
    const struct other_option *other = other_launchers_find(at, 1, reader->command);

    if (other != NULL && (row == NULL || !is_taken(reader, row)))
        return mean_other(other, meaning);
    if (row == NULL)
        return false;
    *meaning = (struct meaning){ .row = row,
                                 .set = row->letter_set != NULL ? row->letter_set : row->set };
    return true;
}

/* Full names take precedence over prefixes, and our names over those of other launchers, unless
 * the subcommand does not take ours. */
static bool mean_name(const struct reader *reader, const char *name, size_t length,
                      struct meaning *meaning, struct error *err)
{
    const struct option_row   *row = option_by_name(name, length);
    const struct other_option *other = other_of(reader, name, length);

    if (other != NULL && (row == NULL || !is_taken(reader, row)))
        return mean_other(other, meaning);
    if (row == NULL && (row = option_find(name, length, err)) == NULL)
        return false;
    *meaning = (struct meaning){ .row = row, .set = row->set };
    return true;
}

static bool mean_other(const struct other_option *other, struct meaning *meaning)
{
    const struct option_row *row;

    if (other == NULL || other->same == NULL)
        return false;
    row = option_by_name(other->same, strlen(other->same));
    *meaning = (struct meaning){ .row = row, .value = other->value,
                                 .set = other->set != NULL ? other->set : row->set };
    return true;
}

/* A single letter after two dashes is a prefix, not an option of another launcher, but for mpirun's
 * --n. */
static const struct other_option *other_of(const struct reader *reader, const char *name,
                                           size_t length)
{
    return length > 1 || *name == 'n' ? other_launchers_find(name, length, reader->command) : NULL;
}

static void unknown_letter(struct reader *reader, const char *word, const char *at)
{
    const struct other_option *other = other_launchers_find(at, 1, reader->command);
    struct error               why;

    if (other != NULL)
        err_set(&why, "unknown option -%c: it is %s", *at, other->instead);
    else if (at > word + 1)
        err_set(&why, "unknown option -%c in '%s'", *at, word);
    else
        err_set(&why, "unknown option -%c", *at);
    unknown(reader, other, at[1] != '\0', why.text);
}

/* Reports an unknown option, and skips the next word if that is the option's value: certainly, or
 * because it is neither a script nor a program, for which the user must have meant another word. */
static void unknown(struct reader *reader, const struct other_option *other, bool has_value,
                    const char *text)
{
    const char *next = reader->words[1];

    complain(reader, "%s", text);
    if (has_value || next == NULL || (next[0] == '-' && !is_value(next)))
        return;
    if (other != NULL ? other->has_arg : !is_program(next))
        reader->words++;
    else if (other == NULL)
        reader->is_lost = true;
}

/* Is word a file, a script's name, or a program on PATH? */
static bool is_program(const char *word)
{
    size_t size = strlen(word);
    char  *found = strchr(word, '/') == NULL ? path_search(word, getenv("PATH")) : NULL;
    bool   is_found = found != NULL;

    free(found);
    return is_found || access(word, F_OK) == 0 ||
           (size > 3 && strcmp(word + size - 3, ".py") == 0);
}

static void add_setting(struct reader *reader, const struct meaning *meaning, const char *typed,
                        const char *value)
{
    struct settings *settings = reader->settings;
    struct setting   setting = { .row = meaning->row, .set = meaning->set, .value = value };

    if (!is_of_command(reader, meaning->row, typed))
        return;
    snprintf(setting.typed, sizeof setting.typed, "%s", typed);
    settings->item = xreallocarray(settings->item, settings->count + 1, sizeof *settings->item);
    settings->item[settings->count++] = setting;
}

/* Does muster accept the option, and does the subcommand take it? */
static bool is_of_command(struct reader *reader, const struct option_row *row, const char *typed)
{
    char others[128];

    if (row->flags & OPTION_REFUSED) {
        complain(reader, "%s: is refused: %s", typed, row->help);
        return false;
    }
    if (reader->own != NULL && reader->words >= reader->own && !(row->commands & FOR_ROLE)) {
        complain(reader, strcmp(row->name, "np") == 0
                             ? "%s: write the number of ranks behind the role: --role NAME:N"
                             : "%s belongs before the first --role: it is for the whole run",
                 typed);
        return false;
    }
    if (is_taken(reader, row))
        return true;
    list_commands(row->commands, others, sizeof others);
    complain(reader, "%s: not an option of muster %s; it belongs to %s", typed,
             command_name(reader->command), others);
    return false;
}

static bool is_taken(const struct reader *reader, const struct option_row *row)
{
    return row->commands & 1u << reader->command || row->set == set_nothing;
}

/* Writes "run, exec" into text. */
static void list_commands(unsigned commands, char *text, size_t size)
{
    size_t used = 0;
    int    command;

    for (command = 0; command < COMMANDS && used < size; command++)
        if (commands & 1u << command)
            used += (size_t)snprintf(text + used, size - used, "%s%s", used > 0 ? ", " : "",
                                     command_name((enum command)command));
}

/* Returns the next word as the value of an option without "=value". The word must not look like
 * an option: if the user forgot the value, we would take the next option for it. */
static const char *next_value(struct reader *reader, const struct option_row *row,
                              const char *typed)
{
    const char *next = reader->words[1];

    if (next == NULL) {
        complain(reader, "%s needs a value: %s", typed, row->arg);
        return NULL;
    }
    if (next[0] == '-' && next[1] != '\0' && !is_value(next)) {
        complain(reader, "%s needs a value, but '%.100s' looks like an option; if it is the value, "
                 "write %s=%.100s", typed, next, typed, next);
        reader->is_lost = true;
        return NULL;
    }
    reader->words++;
    return next;
}

/* Is word, which begins with '-', a value? As in argparse, negative numbers and words with a
 * blank are values. */
static bool is_value(const char *word)
{
    size_t whole = strspn(word + 1, "0123456789");
    size_t part = word[1 + whole] == '.' ? strspn(word + 2 + whole, "0123456789") : 0;

    if (strchr(word, ' ') != NULL)
        return true;
    return part > 0 ? word[2 + whole + part] == '\0' : whole > 0 && word[1 + whole] == '\0';
}

static void complain(struct reader *reader, const char *format, ...)
{
    struct error text;
    va_list      ap;

    va_start(ap, format);
    vsnprintf(text.text, sizeof text.text, format, ap);
    va_end(ap);
    strlist_addf(&reader->settings->wrong, "%s%s", text.text,
                 reader->command == COMMAND_CHECK
                     ? "; put options of muster-train check after '--'" : "");
}

/* Takes the words after the options. Drops one "--", as DeepSpeed's argparse does: the one
 * before the script, or else the one directly after it. The command of exec keeps its own. */
static int words_take(struct options *options, char **words, bool was_eaten, struct error *err)
{
    enum command other;

    if (options->command == COMMAND_HELP)
        return read_topic(options, words, err);
    if (command_table[options->command].first == FIRST_SCRIPT && *words != NULL &&
        !options->has_roles) {
        if (options->command == COMMAND_RUN && !was_eaten && command_find(*words, &other) &&
            other != COMMAND_RUN)
            return err_set(err, "'%s' comes before the options: muster %s [OPTIONS] ... "
                           "(a script of that name is ./%s)", *words, *words, *words);
        options->script = xstrdup(*words++);
        if (options->command == COMMAND_RUN && !was_eaten && *words != NULL &&
            strcmp(*words, "--") == 0)
            words++;
        if (options->command == COMMAND_RUN && !was_eaten && check_colon(words, err) < 0)
            return -1;
    }
    for (; *words != NULL; words++)
        word_take(options, *words);
    return 0;
}

/* mpirun a : b starts two programs. To a script a ':' may mean anything, so only one that is
 * followed by what mpirun's users write after it is refused. */
static int check_colon(char **words, struct error *err)
{
    static const char *const after[] = { "-n", "-np", "--np", "-c", "--role" };
    size_t                   i;

    for (; *words != NULL; words++) {
        if (strcmp(*words, ":") != 0 || words[1] == NULL)
            continue;
        for (i = 0; i < sizeof after / sizeof *after; i++)
            if (strcmp(words[1], after[i]) == 0)
                break;
        if (i < sizeof after / sizeof *after || (words[1][0] != '-' && is_program(words[1])))
            return err_set(err, "':' before '%.60s': for several scripts write --role NAME:N "
                           "before each (muster-roles(7)); to pass ':' on, write -- before SCRIPT",
                           words[1]);
    }
    return 0;
}

static void word_take(struct options *options, const char *word)
{
    if (command_table[options->command].first == FIRST_RUN && options->run == NULL)
        options->run = xstrdup(word);
    else
        strlist_add(&options->args, word);
}

/* muster help [SUBCOMMAND] */
static int read_topic(struct options *options, char **words, struct error *err)
{
    if (*words == NULL)
        return 0;
    if (!command_find(*words, &options->topic))
        return err_set(err, "unknown subcommand '%.100s'; muster --help lists them", *words);
    if (words[1] != NULL)
        return err_set(err, "muster help takes one subcommand, not also '%.100s'", words[1]);
    return 0;
}

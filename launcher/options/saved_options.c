/* saved_options.c - see saved_options.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "options/saved_options.h"

#include <string.h>

static void add_setting(struct strlist *words, const struct setting *setting);
static void add_word(struct strlist *words, const char *name, bool is_env, const char *value);
static bool reaches_hosts(const struct option_row *row);
static bool names_hosts(const struct option_row *row);

void saved_options_add(struct strlist *words, const struct settings *settings)
{
    size_t i;

    /* The roles are kept as arguments. */
    for (i = settings->own; i < settings->count; i++)
        if (strcmp(settings->item[i].row->name, "roles") != 0)
            add_setting(words, &settings->item[i]);
}

static void add_setting(struct strlist *words, const struct setting *setting)
{
    bool is_ours = setting->set == setting->row->set;
    char name[sizeof setting->typed + 2];

    if (is_ours)
        snprintf(name, sizeof name, "--%s", setting->row->name);
    else
        snprintf(name, sizeof name, "%s", setting->typed); /* -H may be a file or a list */
    add_word(words, name, strcmp(setting->row->name, "env") == 0, setting->value);
}

void saved_options_add_hosts(struct strlist *words, const struct settings *settings,
                             enum command command)
{
    size_t i;

    for (i = 0; i < settings->count; i++) {
        const struct setting *setting = &settings->item[i];

        if (command != COMMAND_CLEAN && strcmp(setting->row->name, "exclude") == 0 &&
            setting->set == setting->row->set)
            strlist_addf(words, "--exclude-host=%s", setting->value);
        else if (reaches_hosts(setting->row))
            add_setting(words, setting);
    }
}

/* The groups of the option table before the one that is about output. */
static bool reaches_hosts(const struct option_row *row)
{
    static const char *const groups[] = { "Hosts and slots", "Connections", "General" };
    const char              *group = NULL;
    const struct option_row *other;
    size_t                   i;

    for (other = option_table; other <= row; other++)
        if (other->group != NULL)
            group = other->group;
    for (i = 0; i < sizeof groups / sizeof *groups && group != NULL; i++)
        if (strcmp(group, groups[i]) == 0)
            return (row->commands & FOR(BCAST)) != 0 || strcmp(row->name, "exclude") == 0;
    return false;
}

void saved_options_add_env(struct strlist *words, const struct settings *settings,
                           const struct option_row *row, const char *value)
{
    char   name[64];
    size_t i;

    for (i = 0; i < settings->count; i++)
        if (settings->item[i].row == row ||
            (names_hosts(row) && names_hosts(settings->item[i].row)))
            return;
    snprintf(name, sizeof name, "--%s", row->name);
    add_word(words, name, strcmp(row->name, "env") == 0, value);
}

static void add_word(struct strlist *words, const char *name, bool is_env, const char *value)
{
    if (value == NULL)
        strlist_add(words, name);
    else if (is_env)
        strlist_addf(words, "%s=%.*s", name, (int)strcspn(value, "="), value);
    else
        strlist_addf(words, "%s=%s", name, value);
}

static bool names_hosts(const struct option_row *row)
{
    return strcmp(row->name, "hosts") == 0 || strcmp(row->name, "hostfile") == 0 ||
           strcmp(row->name, "host-discovery-script") == 0;
}

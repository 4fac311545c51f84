/* options.c - see options.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "options/options.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "exit_code.h"
#include "options/accelerate.h"
#include "options/argv.h"
#include "options/conf.h"
#include "options/options_check.h"
#include "options/roles.h"
#include "options/saved_options.h"
#include "options/option_table.h"
#include "options/option_value.h"
#include "xalloc.h"

#define ENV_PREFIX     "MUSTER_"
#define ENV_NAME_BYTES 64 /* enough for every name in the table */

#define MAX_WAIT_S 1800.0 /* --max-wait=auto */

static int  line_parse(struct options *options, int argc, char **argv, char **own, int *exit_code,
                       struct error *err);
static int  roles_parse(struct options *options, int argc, char **argv, int *exit_code,
                        struct error *err);
static int  role_add(struct options *options, int count, char **common,
                     const struct strlist *line, int *exit_code, struct error *err);
static int  options_asked(enum command command, const struct settings *settings);
static int  settings_apply(struct options *options, const struct settings *settings,
                           struct error *err);
static void note_given(struct options *options, const struct settings *settings);
static int  report_wrong(const struct strlist *wrong, struct error *err);
static void defaults_set(struct options *options);
static int  conf_files_read(struct options *options, const struct settings *settings,
                            struct error *err);
static int  accelerate_config_read(struct options *options, const struct settings *settings,
                                   struct error *err);
static int  environment_read(struct options *options, struct strlist *notes,
                             struct error *err);
static int  pdsh_read(struct options *options, struct strlist *notes, struct error *err);
static bool is_env_name(const char *entry);
static void env_name_of(const struct option_row *row, char name[ENV_NAME_BYTES]);

int options_parse(struct options *options, int argc, char **argv, int *exit_code,
                  struct error *err)
{
    int rc = line_parse(options, argc, argv, NULL, exit_code, err);

    if (rc == OPTIONS_RUN && options->has_roles &&
        roles_parse(options, argc, argv, exit_code, err) < 0)
        return -1;
    return rc;
}

/* own: see argv_read() */
static int line_parse(struct options *options, int argc, char **argv, char **own, int *exit_code,
                      struct error *err)
{
    struct settings settings = { 0 };
    struct strlist  notes = { 0 };
    size_t          i;
    int             rc = -1;

    *options = (struct options){ 0 };
    *exit_code = EXIT_USAGE;
    argv_read(argc, argv, own, options, &settings);
    rc = options_asked(options->command, &settings);
    if (rc != OPTIONS_RUN && (rc != OPTIONS_MANUAL || settings.wrong.count == 0))
        goto out;
    rc = -1;
    if (settings.wrong.count > 0) {
        report_wrong(&settings.wrong, err);
        goto out;
    }
    defaults_set(options);
    if (conf_files_read(options, &settings, err) < 0) {
        *exit_code = EXIT_DATA;
        goto out;
    }
    if (environment_read(options, &notes, err) < 0)
        goto out;
    if (accelerate_config_read(options, &settings, err) < 0) {
        *exit_code = EXIT_DATA;
        goto out;
    }
    if (settings_apply(options, &settings, err) < 0)
        goto out;
    if (option_find_programs(options, err) < 0) {
        *exit_code = EXIT_DATA;
        goto out;
    }
    options->has_roles = own == NULL && (options->has_roles || options->roles_file != NULL);
    if (options_check(options, err) < 0)
        goto out;
    if (own == NULL)
        note_given(options, &settings);
    else
        saved_options_add(&options->given, &settings);
    saved_options_add_hosts(&options->host_words, &settings, options->command);
    /* Only now is -q known. */
    for (i = 0; i < notes.count && options->log_level >= LOG_WARN && own == NULL; i++)
        log_warn("%s", notes.item[i]);
    rc = OPTIONS_RUN;
out:
    strlist_clear(&notes);
    settings_clear(&settings);
    return rc;
}

/* Reads each role from the words of the run, which are those before the first role, and its
 * own. */
static int roles_parse(struct options *options, int argc, char **argv, int *exit_code,
                       struct error *err)
{
    struct role_lines lines = { 0 };
    int               common = argc - (int)options->args.count, rc;
    size_t            i;

    *exit_code = options->roles_file != NULL ? EXIT_DATA : EXIT_USAGE;
    rc = options->roles_file != NULL ? role_lines_read(&lines, options->roles_file, err)
                                     : role_lines_cut(&lines, &options->args, err);
    if (rc < 0)
        goto out;
    *exit_code = EXIT_USAGE;
    strlist_clear(&options->args);
    options->role = xcalloc(lines.count, sizeof *options->role);
    for (i = 0; i < lines.count && rc == 0; i++)
        rc = role_add(options, common, argv, &lines.line[i], exit_code, err);
    if (rc == 0)
        rc = roles_check(options, err);
    if (rc == 0)
        roles_add_words(options, &options->args); /* muster resume needs them */
out:
    role_lines_clear(&lines);
    return rc;
}

static int role_add(struct options *options, int count, char **common,
                    const struct strlist *line, int *exit_code, struct error *err)
{
    struct strlist words = { 0 };
    int            i, rc;

    for (i = 0; i < count; i++)
        strlist_add(&words, common[i]);
    strlist_append(&words, line);
    rc = line_parse(&options->role[options->roles++], (int)words.count, words.item,
                    words.item + count, exit_code, err);
    strlist_clear(&words);
    return rc == OPTIONS_RUN ? 0 : -1; /* --help and the like are no options of a role */
}

void options_clear(struct options *options)
{
    size_t i;

    for (i = 0; i < options->roles; i++)
        options_clear(&options->role[i]);
    free(options->role);
    free(options->role_name);
    free(options->roles_file);
    free(options->hostfile);
    free(options->hosts);
    free(options->discovery_script);
    free(options->health_check);
    free(options->on_event);
    free(options->metrics);
    free(options->html);
    free(options->metrics_listen);
    free(options->groups);
    free(options->exclude_groups);
    free(options->include);
    free(options->exclude);
    free(options->ssh_config);
    free(options->ssh_user);
    free(options->agent);
    free(options->python);
    free(options->cwd);
    free(options->venv_script);
    strlist_clear(&options->env);
    strlist_clear(&options->env_files);
    strlist_clear(&options->push);
    strlist_clear(&options->exclude_paths);
    strlist_clear(&options->host_words);
    free(options->script);
    strlist_clear(&options->args);
    free(options->master_addr);
    free(options->bind_core_list);
    free(options->show_ranks);
    free(options->restart_on);
    strlist_clear(&options->suspects);
    free(options->members.worlds);
    free(options->spot);
    free(options->ckpt_marker);
    free(options->progress);
    free(options->shards_resume);
    free(options->log_dir);
    free(options->each_rank_log);
    free(options->json);
    free(options->check_json);
    free(options->name);
    free(options->only);
    free(options->skip);
    free(options->names);
    free(options->run);
    free(options->kill_gpu);
    strlist_clear(&options->given);
    free(options->resumed);
    json_decref(options->last_world);
    free(options->to);
    *options = (struct options){ 0 };
}

bool options_name_hosts(const struct options *options)
{
    return options->hosts != NULL || options->hostfile_given || options->groups != NULL ||
           options->all_hosts;
}

bool options_go_on(const struct options *options)
{
    return options->command == COMMAND_RUN && !options->no_ssh &&
           (options->max_restarts > 0 || options_take_nodes(options));
}

bool options_take_nodes(const struct options *options)
{
    const struct options_members *members = &options->members;

    return members->spares > 0 || members->recovery != RECOVERY_AUTO ||
           members->max_wait_s >= 0 || options_are_elastic(options);
}

bool options_are_elastic(const struct options *options)
{
    const struct options_members *members = &options->members;

    if (options->command != COMMAND_RUN || members->recovery == RECOVERY_FULL)
        return false;
    return members->recovery == RECOVERY_ELASTIC || members->is_elastic || members->min_nodes > 0 ||
           members->max_nodes > 0 || members->min_ranks > 0 || members->max_ranks > 0 ||
           members->worlds != NULL;
}

double options_max_wait_s(const struct options *options)
{
    double wait_s = options->members.max_wait_s;

    return wait_s >= 0 ? wait_s : MAX_WAIT_S;
}

int options_set(struct options *options, const char *name, const char *value,
                const char *where, struct error *err)
{
    const struct option_row *row = option_by_name(name, strlen(name));
    struct error             why;
    char                     hint[256];

    if (row == NULL) {
        option_suggest(name, strlen(name), hint, sizeof hint);
        return err_set(err, "%s: there is no setting '%.100s'%s", where, name, hint);
    }
    if (row->flags & OPTION_ARGV_ONLY)
        return err_set(err, "%s: '%s' is only allowed on the command line", where, name);
    if (row->set(options, row, value, &why) < 0)
        return err_set(err, "%s: %s: %s", where, name, why.text);
    return 0;
}

/* Returns an options_result: does argv ask for help, the version or the list instead of the
 * work? */
static int options_asked(enum command command, const struct settings *settings)
{
    static const struct {
        const char         *name;
        enum options_result result;
    } asked[] = {
        { "help", OPTIONS_HELP }, { "version", OPTIONS_VERSION }, { "list-options", OPTIONS_LIST },
    };
    size_t i, k;

    for (i = 0; i < settings->count; i++)
        for (k = 0; k < sizeof asked / sizeof asked[0]; k++)
            if (strcmp(settings->item[i].row->name, asked[k].name) == 0)
                return asked[k].result;
    return command == COMMAND_HELP ? OPTIONS_MANUAL : OPTIONS_RUN;
}

static void note_given(struct options *options, const struct settings *settings)
{
    const struct option_row *row, *config = option_by_name("config", strlen("config"));
    const char              *value = getenv(ENV_PREFIX "CONFIG");
    char                     name[ENV_NAME_BYTES];

    if (options->command != COMMAND_RUN)
        return;
    if (value != NULL && value[0] != '\0')
        saved_options_add_env(&options->given, settings, config, value);
    for (row = option_table; row < option_table + option_rows; row++) {
        env_name_of(row, name);
        value = getenv(name);
        if (value != NULL && value[0] != '\0' && !(row->flags & OPTION_ARGV_ONLY) &&
            row->commands & FOR(RUN))
            saved_options_add_env(&options->given, settings, row, value);
    }
    saved_options_add(&options->given, settings);
}

/* Prints all messages but the last, which main() prints like any other error. */
static int report_wrong(const struct strlist *wrong, struct error *err)
{
    size_t i;

    for (i = 0; i + 1 < wrong->count; i++)
        log_error("%s", wrong->item[i]);
    return err_set(err, "%s", wrong->item[i]);
}

static int settings_apply(struct options *options, const struct settings *settings,
                          struct error *err)
{
    const struct setting *setting;
    struct error          why;
    size_t                i;
    bool                  from_file = false, from_list = false, from_script = false;

    for (i = 0; i < settings->count; i++) {
        setting = &settings->item[i];
        if (setting->set(options, setting->row, setting->value, &why) < 0)
            return err_set(err, "%s: %s", setting->typed, why.text);
        if (strcmp(setting->row->name, "hostfile") == 0 ||
            strcmp(setting->row->name, "hosts") == 0) {
            from_file = from_file || options->hosts == NULL;
            from_list = from_list || options->hosts != NULL;
        }
        from_script = from_script || strcmp(setting->row->name, "host-discovery-script") == 0;
    }
    if (from_file && from_list)
        return err_set(err, "hosts are given twice, in a hostfile and in a list; use only one");
    if (from_script && (from_file || from_list || options->groups != NULL || options->all_hosts))
        return err_set(err, "hosts are given twice, by --host-discovery-script and by a %s; use "
                       "only one", from_file ? "hostfile" : from_list ? "list" : "group");
    return 0;
}

/* Sources that argv overrides: defaults, files, environment */

static void defaults_set(struct options *options)
{
    const struct option_row *row;
    struct error             why;
    size_t                   i;
    int                      rc;

    for (i = 0; i < option_rows; i++) {
        row = &option_table[i];
        if (row->initial == NULL)
            continue;
        rc = row->set(options, row, row->initial, &why);
        assert(rc == 0);
        (void)rc;
    }
    options->hostfile_given = false;
}

static int conf_files_read(struct options *options, const struct settings *settings,
                           struct error *err)
{
    const char *named = getenv(ENV_PREFIX "CONFIG"), *base = getenv("XDG_CONFIG_HOME");
    const char *home = getenv("HOME");
    char       *path;
    size_t      i;
    int         rc;

    if (conf_read(SYSCONFDIR "/muster/muster.conf", false, options, err) < 0)
        return -1;
    if (base != NULL && base[0] == '/')
        path = xasprintf("%s/muster/muster.conf", base);
    else
        path = xasprintf("%s/.config/muster/muster.conf", home != NULL ? home : "");
    rc = conf_read(path, false, options, err);
    free(path);

    for (i = 0; i < settings->count; i++)
        if (strcmp(settings->item[i].row->name, "config") == 0)
            named = settings->item[i].value;
    if (rc == 0 && named != NULL && named[0] != '\0')
        rc = conf_read(named, true, options, err);
    return rc;
}

static int accelerate_config_read(struct options *options, const struct settings *settings,
                                  struct error *err)
{
    const char *path = NULL;
    size_t      i;

    for (i = 0; i < settings->count; i++)
        if (strcmp(settings->item[i].row->name, "accelerate") == 0)
            path = settings->item[i].value;
    return path != NULL && path[0] != '\0' ? accelerate_read(options, path, err) : 0;
}

/* Reads variables in the order of the table, so that the result does not depend on the order of
 * environ. */
static int environment_read(struct options *options, struct strlist *notes, struct error *err)
{
    const struct option_row *row;
    struct error             why;
    char                     name[ENV_NAME_BYTES];
    const char              *value;
    char                   **entry;

    if (pdsh_read(options, notes, err) < 0)
        return -1;
    for (row = option_table; row < option_table + option_rows; row++) {
        env_name_of(row, name);
        value = getenv(name);
        if (value != NULL && value[0] != '\0' && !(row->flags & OPTION_ARGV_ONLY) &&
            row->set(options, row, value, &why) < 0)
            return err_set(err, "%s: %s (in the environment)", name, why.text);
    }
    for (entry = environ; *entry != NULL; entry++)
        if (strncmp(*entry, ENV_PREFIX, strlen(ENV_PREFIX)) == 0 && !is_env_name(*entry))
            strlist_addf(notes, "%.*s in the environment is not a setting of muster",
                         (int)strcspn(*entry, "="), *entry);
    return 0;
}

/* Sites set this for pdsh, which DeepSpeed uses. */
static int pdsh_read(struct options *options, struct strlist *notes, struct error *err)
{
    const char *value = getenv("PDSH_SSH_ARGS_APPEND");
    char       *words = value != NULL ? xstrdup(value) : NULL, *rest = NULL, *word;
    int         rc = 0;

    word = words != NULL ? strtok_r(words, " \t", &rest) : NULL;
    while (word != NULL && rc == 0) {
        if (strncmp(word, "-p", 2) == 0) {
            word = word[2] != '\0' ? word + 2 : strtok_r(NULL, " \t", &rest);
            rc = options_set(options, "ssh_port", word != NULL ? word : "",
                             "PDSH_SSH_ARGS_APPEND", err);
        } else {
            strlist_addf(notes, "PDSH_SSH_ARGS_APPEND: '%.200s' is ignored, only -p is used; "
                         "put other settings into ~/.ssh/config", word);
        }
        word = strtok_r(NULL, " \t", &rest);
    }
    free(words);
    return rc;
}

static bool is_env_name(const char *entry)
{
    static const char *const others[] = { "CONFIG=", "RUN_ID=", "GENERATION=", "NOTICE_FILE=",
                                          "GRADIENT_ACCUMULATION_STEPS=", "ROLE=", "ROLES=",
                                          "ROLE_",
                                          "TEST_" };
    char                     name[ENV_NAME_BYTES];
    size_t                   i;

    for (i = 0; i < sizeof others / sizeof others[0]; i++)
        if (strncmp(entry + strlen(ENV_PREFIX), others[i], strlen(others[i])) == 0)
            return true;
    for (i = 0; i < option_rows; i++) {
        env_name_of(&option_table[i], name);
        if (!(option_table[i].flags & OPTION_ARGV_ONLY) && strlen(name) == strcspn(entry, "=") &&
            strncmp(entry, name, strlen(name)) == 0)
            return true;
    }
    return false;
}

/* Makes MUSTER_SSH_PORT from ssh_port. */
static void env_name_of(const struct option_row *row, char name[ENV_NAME_BYTES])
{
    char *at;

    snprintf(name, ENV_NAME_BYTES, ENV_PREFIX "%s", row->name);
    for (at = name; *at != '\0'; at++)
        *at = *at == '-' ? '_' : (char)toupper((unsigned char)*at);
}

/* mpirun_line.c - see mpirun_line.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "job/mpirun_line.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wordexp.h>

#include "buffer.h"
#include "job/job.h"
#include "number.h"
#include "xalloc.h"

#define MPIRUN     1u
#define HOROVODRUN 2u
#define DEEPSPEED  4u

/* What becomes of an option. */
enum act {
    ACT_KEEP,   /* muster has it */
    ACT_DROP,   /* text: why it is not needed */
    ACT_RENAME, /* text: muster's name */
    ACT_ENV,    /* text: the variable that has its effect; its value is 1 without an argument */
    ACT_MCA,    /* NAME VALUE: a parameter of Open MPI */
    ACT_GENV,   /* NAME VALUE: a variable of the ranks */
    ACT_EXPORT, /* NAME or NAME=VALUE */
    ACT_RANKS,
    ACT_LEAST,
    ACT_MOST,
};

struct rule {
    const char *name; /* of one word, with '-' where the option may have '_' */
    unsigned    of;   /* the launchers that have it */
    size_t      args; /* words that belong to it */
    enum act    act;
    const char *text;
};

#define HOSTS  "the hosts are the workers"
#define WORLD  "the ranks have the environment of the workers"
#define LABELS "lines of output are labelled"

/* From mpirun(1) of Open MPI 4, MPICH 4 and Intel MPI, `horovodrun --help` and deepspeed's. */
static const struct rule rules[] = {
    { "np", MPIRUN | HOROVODRUN, 1, ACT_RANKS, NULL },
    { "n", MPIRUN, 1, ACT_RANKS, NULL },
    { "c", MPIRUN, 1, ACT_RANKS, NULL },
    { "num-proc", HOROVODRUN, 1, ACT_RANKS, NULL },
    { "npernode", MPIRUN, 1, ACT_KEEP, NULL },
    { "ppn", MPIRUN, 1, ACT_KEEP, NULL },
    { "perhost", MPIRUN, 1, ACT_RENAME, "ppn" },
    { "N", MPIRUN, 1, ACT_RENAME, "npernode" },
    { "bind-to", MPIRUN, 1, ACT_KEEP, NULL },
    { "map-by", MPIRUN, 1, ACT_KEEP, NULL },
    { "rank-by", MPIRUN, 1, ACT_KEEP, NULL },
    { "wdir", MPIRUN, 1, ACT_KEEP, NULL },
    { "wd", MPIRUN, 1, ACT_KEEP, NULL },
    { "v", MPIRUN, 0, ACT_KEEP, NULL },
    { "x", MPIRUN, 1, ACT_EXPORT, NULL },
    { "mca", MPIRUN, 2, ACT_MCA, NULL },
    { "gmca", MPIRUN, 2, ACT_MCA, NULL },
    { "genv", MPIRUN, 2, ACT_GENV, NULL },
    { "env", MPIRUN, 2, ACT_GENV, NULL },
    { "genvall", MPIRUN, 0, ACT_DROP, WORLD },
    { "envall", MPIRUN, 0, ACT_DROP, WORLD },
    { "genvlist", MPIRUN, 1, ACT_DROP, WORLD },
    { "envlist", MPIRUN, 1, ACT_DROP, WORLD },
    { "allow-run-as-root", MPIRUN, 0, ACT_DROP, "ranks run as the workers' user" },
    { "oversubscribe", MPIRUN, 0, ACT_DROP, "slotsPerWorker is the number of ranks" },
    { "report-bindings", MPIRUN, 0, ACT_DROP, "muster --dry-run shows them" },
    { "display-map", MPIRUN, 0, ACT_DROP, "muster --dry-run shows it" },
    { "tag-output", MPIRUN, 0, ACT_DROP, LABELS },
    { "prepend-rank", MPIRUN, 0, ACT_DROP, LABELS },
    { "l", MPIRUN, 0, ACT_DROP, LABELS },
    { "prefix", MPIRUN, 1, ACT_DROP, "muster starts no daemons of MPI" },
    { "bootstrap", MPIRUN, 1, ACT_DROP, "muster logs in with its own SSH" },
    { "hostfile", MPIRUN | HOROVODRUN | DEEPSPEED, 1, ACT_DROP, HOSTS },
    { "machinefile", MPIRUN, 1, ACT_DROP, HOSTS },
    { "machine", MPIRUN, 1, ACT_DROP, HOSTS },
    { "f", MPIRUN, 1, ACT_DROP, HOSTS },
    { "hosts", MPIRUN | HOROVODRUN, 1, ACT_DROP, HOSTS },
    { "host", MPIRUN, 1, ACT_DROP, HOSTS },
    { "H", MPIRUN | HOROVODRUN | DEEPSPEED, 1, ACT_DROP, HOSTS },

    { "min-np", HOROVODRUN, 1, ACT_LEAST, NULL },
    { "min-num-proc", HOROVODRUN, 1, ACT_LEAST, NULL },
    { "max-np", HOROVODRUN, 1, ACT_MOST, NULL },
    { "max-num-proc", HOROVODRUN, 1, ACT_MOST, NULL },
    { "host-discovery-script", HOROVODRUN, 1, ACT_DROP, HOSTS },
    { "slots", HOROVODRUN, 1, ACT_DROP, "slotsPerWorker is the number of ranks" },
    { "slots-per-host", HOROVODRUN, 1, ACT_DROP, "slotsPerWorker is the number of ranks" },
    { "elastic-timeout", HOROVODRUN, 1, ACT_DROP, "the job waits for max-wait-time" },
    { "reset-limit", HOROVODRUN, 1, ACT_DROP, "backoffLimit limits how often it is repeated" },
    { "start-timeout", HOROVODRUN, 1, ACT_DROP, "the run begins when all workers are ready" },
    { "p", HOROVODRUN, 1, ACT_DROP, "the workers' sshd has its own port" },
    { "gloo", HOROVODRUN, 0, ACT_KEEP, NULL },
    { "mpi", HOROVODRUN, 0, ACT_DROP, "muster starts the ranks, and no mpirun" },
    { "verbose", HOROVODRUN, 0, ACT_KEEP, NULL },
    { "disable-cache", HOROVODRUN, 0, ACT_DROP, "muster keeps no results of checks" },
    { "network-interface", HOROVODRUN, 1, ACT_ENV, "NCCL_SOCKET_IFNAME" },
    { "network-interfaces", HOROVODRUN, 1, ACT_ENV, "NCCL_SOCKET_IFNAME" },
    { "log-level", HOROVODRUN, 1, ACT_ENV, "HOROVOD_LOG_LEVEL" },
    { "timeline-filename", HOROVODRUN, 1, ACT_ENV, "HOROVOD_TIMELINE" },
    { "cycle-time-ms", HOROVODRUN, 1, ACT_ENV, "HOROVOD_CYCLE_TIME" },
    { "cache-capacity", HOROVODRUN, 1, ACT_ENV, "HOROVOD_CACHE_CAPACITY" },
    { "gloo-timeout-seconds", HOROVODRUN, 1, ACT_ENV, "HOROVOD_GLOO_TIMEOUT_SECONDS" },
    { "autotune", HOROVODRUN, 0, ACT_ENV, "HOROVOD_AUTOTUNE" },
    { "no-stall-check", HOROVODRUN, 0, ACT_ENV, "HOROVOD_STALL_CHECK_DISABLE" },

    { "include", DEEPSPEED, 1, ACT_KEEP, NULL },
    { "i", DEEPSPEED, 1, ACT_KEEP, NULL },
    { "exclude", DEEPSPEED, 1, ACT_KEEP, NULL },
    { "e", DEEPSPEED, 1, ACT_KEEP, NULL },
    { "num-nodes", DEEPSPEED, 1, ACT_KEEP, NULL },
    { "num-gpus", DEEPSPEED, 1, ACT_KEEP, NULL },
    { "master-addr", DEEPSPEED, 1, ACT_KEEP, NULL },
    { "master-port", DEEPSPEED, 1, ACT_KEEP, NULL },
    { "enable-each-rank-log", DEEPSPEED, 1, ACT_KEEP, NULL },
    { "bind-core-list", DEEPSPEED, 1, ACT_KEEP, NULL },
    { "bind-cores-to-rank", DEEPSPEED, 0, ACT_KEEP, NULL },
    { "module", DEEPSPEED, 0, ACT_KEEP, NULL },
    { "no-python", DEEPSPEED, 0, ACT_KEEP, NULL },
    { "no-local-rank", DEEPSPEED, 0, ACT_KEEP, NULL },
    { "force-multi", DEEPSPEED, 0, ACT_KEEP, NULL },
    { "no-ssh-check", DEEPSPEED, 0, ACT_KEEP, NULL },
    { "launcher", MPIRUN | DEEPSPEED, 1, ACT_DROP, "muster logs in with its own SSH" },
    { "launcher-args", DEEPSPEED, 1, ACT_DROP, "muster logs in with its own SSH" },
    { "ssh-port", HOROVODRUN | DEEPSPEED, 1, ACT_DROP, "the workers' sshd has its own port" },
};

static int      read_words(struct strlist *words, const json_t *container,
                           const struct strlist *env, struct error *err);
static void     add_expanded(struct strlist *words, const char *word, const struct strlist *env);
static bool     is_shell(const struct strlist *words);
static int      split_script(struct mpirun_line *line, const char *script,
                             const struct strlist *env, struct strlist *words, struct error *err);
static const char *skip_directory(struct mpirun_line *line, const char *script,
                                  const struct strlist *env, struct error *err);
static int      split(const char *text, const struct strlist *env, struct strlist *words,
                      struct error *err);
static void     find_shell(const char *text, char shell[2]);
static void     add_env(struct strlist *env, const json_t *container);
static unsigned launcher_of(const char *word);
static int      translate(struct mpirun_line *line, const struct strlist *words, struct error *err);
static const struct rule *find_rule(const char *option, unsigned launcher);
static int      apply(struct mpirun_line *line, const struct rule *rule, const char *option,
                      const char *const *args, struct error *err);
static int      read_count(int64_t *count, const char *option, const char *text,
                           struct error *err);

int mpirun_line_read(struct mpirun_line *line, const json_t *container, struct error *err)
{
    struct strlist words = { 0 }, script = { 0 }, env = { 0 };
    int            rc;

    add_env(&env, container);
    rc = read_words(&words, container, &env, err);
    if (rc == 0 && is_shell(&words)) {
        rc = split_script(line, words.item[2], &env, &script, err);
        if (rc == 0)
            rc = translate(line, &script, err);
    } else if (rc == 0)
        rc = translate(line, &words, err);
    strlist_clear(&words);
    strlist_clear(&script);
    strlist_clear(&env);
    return rc;
}

void mpirun_line_clear(struct mpirun_line *line)
{
    strlist_clear(&line->words);
    strlist_clear(&line->changes);
    free(line->directory);
    *line = (struct mpirun_line){ 0 };
}

static int read_words(struct strlist *words, const json_t *container, const struct strlist *env,
                      struct error *err)
{
    static const char *const parts[] = { "command", "args" };
    const json_t            *list;
    const char              *word;
    size_t                   i, k;

    for (i = 0; i < 2; i++) {
        list = json_object_get(container, parts[i]);
        if (list != NULL && !json_is_array(list))
            return err_set(err, "command and args must be lists of strings");
        for (k = 0; k < json_array_size(list); k++) {
            word = json_string_value(json_array_get(list, k));
            if (word == NULL)
                return err_set(err, "command and args must be lists of strings");
            add_expanded(words, word, env);
        }
    }
    return 0;
}

/* Replaces $(NAME) by the value, and $$ by $, as Kubernetes does; an unknown name stays. */
static void add_expanded(struct strlist *words, const char *word, const struct strlist *env)
{
    struct buffer text = { 0 };
    const char   *end, *value;
    char         *name;

    for (; *word != '\0'; word++) {
        end = strncmp(word, "$(", 2) == 0 ? strchr(word, ')') : NULL;
        name = end != NULL ? xstrndup(word + 2, (size_t)(end - word - 2)) : NULL;
        value = name != NULL ? env_get(env, name) : NULL;
        free(name);
        if (value != NULL) {
            buffer_add_text(&text, value);
            word = end;
            continue;
        }
        buffer_add(&text, word, 1);
        if (strncmp(word, "$$", 2) == 0)
            word++;
    }
    strlist_add_bytes(words, text.size > 0 ? text.bytes : "", text.size);
    buffer_clear(&text);
}

/* sh -c SCRIPT, also bash -lc SCRIPT. */
static bool is_shell(const struct strlist *words)
{
    const char *name;

    if (words->count != 3)
        return false;
    name = strrchr(words->item[0], '/');
    name = name != NULL ? name + 1 : words->item[0];
    return (strcmp(name, "sh") == 0 || strcmp(name, "bash") == 0 || strcmp(name, "dash") == 0) &&
           words->item[1][0] == '-' && strchr(words->item[1], 'c') != NULL;
}

/* Reads a shell's line as that shell would: "cd DIRECTORY &&", "exec", then one command. */
static int split_script(struct mpirun_line *line, const char *script, const struct strlist *env,
                        struct strlist *words, struct error *err)
{
    const char *rest = skip_directory(line, script + strspn(script, " \t\n"), env, err);

    if (rest == NULL)
        return -1;
    rest += strspn(rest, " \t\n");
    if (strncmp(rest, "exec ", 5) == 0)
        rest += 5;
    return split(rest, env, words, err);
}

/* Returns what follows the cd; NULL on errors. */
static const char *skip_directory(struct mpirun_line *line, const char *script,
                                  const struct strlist *env, struct error *err)
{
    struct strlist words = { 0 };
    size_t         length = strcspn(script, "&;\n");
    char          *first;

    if (strncmp(script, "cd ", 3) != 0 || script[length] == '\0' ||
        (script[length] == '&' && script[length + 1] != '&'))
        return script;
    while (strchr(" \t", script[length - 1]) != NULL)
        length--;
    first = xstrndup(script, length);
    script += length + strspn(script + length, " \t");
    if (split(first, env, &words, err) < 0)
        script = NULL;
    else if (words.count != 2 || words.item[1][0] != '/') {
        err_set(err, "'%.80s' must name a directory that begins with /", first);
        script = NULL;
    } else {
        line->directory = xstrdup(words.item[1]);
        strlist_addf(&line->changes, "'%.80s' becomes the workers' workingDir", first);
        script += strncmp(script, "&&", 2) == 0 ? 2 : 1;
    }
    strlist_clear(&words);
    free(first);
    return script;
}

/* Splits one command into words, with quotes, $NAME and $((sums)). wordexp() takes variables from
 * environ, so the submitter's own are hidden from it. */
static int split(const char *text, const struct strlist *env, struct strlist *words,
                 struct error *err)
{
    static char *none[] = { NULL };
    char       **saved = environ, *line;
    size_t       i, length = strlen(text);
    wordexp_t    result;
    char         shell[2];
    int          rc;

    while (length > 0 && strchr(" \t\n", text[length - 1]) != NULL)
        length--;
    line = xstrndup(text, length);
    find_shell(line, shell);
    if (shell[0] != '\0') {
        free(line);
        return err_set(err,
                       "'%.60s': %s needs a shell, which muster does not start: write the line of "
                       "mpirun alone; what comes before it belongs into the image, or into "
                       "initContainers of the workers' template",
                       text, shell[0] == '\n' ? "the second line" : shell);
    }
    environ = env->count > 0 ? env->item : none;
    rc = wordexp(line, &result, WRDE_NOCMD | WRDE_UNDEF);
    environ = saved;
    free(line);
    if (rc != 0) /* glibc frees what it has allocated, but for a lack of memory */
        return err_set(err, "'%.60s' %s", text,
                       rc == WRDE_BADVAL   ? "has a variable that is not in Launcher's env"
                       : rc == WRDE_CMDSUB ? "has a $(command), which needs a shell: write its "
                                             "output"
                                           : "is not a line that a shell could read");
    for (i = 0; i < result.we_wordc; i++)
        strlist_add(words, result.we_wordv[i]);
    wordfree(&result);
    return 0;
}

/* Sets shell to the first character for which there must be a shell; empty: none. */
static void find_shell(const char *text, char shell[2])
{
    const char *end;
    char        quote = '\0';

    shell[0] = shell[1] = '\0';
    for (; *text != '\0'; text++) {
        if (*text == '\\' && quote != '\'' && text[1] != '\0')
            text++;
        else if (quote != '\0' || *text == '\'' || *text == '"')
            quote = quote == *text ? '\0' : quote != '\0' ? quote : *text;
        else if (strncmp(text, "$((", 3) == 0 && (end = strstr(text, "))")) != NULL)
            text = end + 1;
        else if (strncmp(text, "${", 2) == 0 && (end = strchr(text, '}')) != NULL)
            text = end;
        else if (shell[0] == '\0' && strchr("|&;<>(){}\n*?[~#", *text) != NULL)
            shell[0] = *text;
    }
}

static void add_env(struct strlist *env, const json_t *container)
{
    const json_t *list = json_object_get(container, "env"), *row;
    const char   *name, *value;
    size_t        i;

    for (i = 0; i < json_array_size(list); i++) {
        row = json_array_get(list, i);
        name = json_string_value(json_object_get(row, "name"));
        value = json_string_value(json_object_get(row, "value"));
        if (name != NULL && value != NULL)
            env_set(env, name, value);
    }
}

static unsigned launcher_of(const char *word)
{
    static const struct {
        const char *name;
        unsigned    launcher;
    } known[] = { { "mpirun", MPIRUN },
                  { "mpiexec", MPIRUN },
                  { "orterun", MPIRUN },
                  { "horovodrun", HOROVODRUN },
                  { "deepspeed", DEEPSPEED } };
    const char *name = strrchr(word, '/');
    size_t      i;

    name = name != NULL ? name + 1 : word;
    for (i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(name, known[i].name) == 0)
            return known[i].launcher;
    return 0;
}

static int translate(struct mpirun_line *line, const struct strlist *words, struct error *err)
{
    const char *const *word = (const char *const *)words->item;
    const char        *first = words->count > 0 ? word[0] : "", *value, *args[2];
    unsigned           launcher = launcher_of(first);
    const struct rule *rule;
    size_t             i, k;

    if (launcher == 0)
        return err_set(err, "the command must begin with mpirun, mpiexec, horovodrun or deepspeed, "
                       "not '%.60s': muster takes its place", first);
    if (launcher != DEEPSPEED) {
        strlist_add(&line->words, "--no_local_rank");
        strlist_add(&line->words, "--no_python");
    }
    for (i = 1; i < words->count && word[i][0] == '-'; i++) {
        rule = find_rule(word[i], launcher);
        if (rule == NULL)
            return err_set(err, "muster does not know %.60s of %.60s; leave it out, or write what "
                           "muster has for it into a DeepSpeedJob", word[i], first);
        value = rule->args == 1 ? strchr(word[i], '=') : NULL;
        args[0] = value != NULL ? value + 1 : NULL;
        for (k = 0; value == NULL && k < rule->args; k++) {
            if (i + k + 1 >= words->count)
                return err_set(err, "%.60s needs %zu words after it", word[i], rule->args);
            args[k] = word[i + k + 1];
        }
        if (apply(line, rule, word[i], args, err) < 0)
            return -1;
        i += k;
    }
    if (i >= words->count || word[i][0] == '\0')
        return err_set(err, "the command has no program after %.60s", first);
    for (; i < words->count; i++)
        strlist_add(&line->words, word[i]);
    return 0;
}

static const struct rule *find_rule(const char *option, unsigned launcher)
{
    const struct rule *rule;
    const char        *end;
    size_t             i, length;

    option += option[1] == '-' ? 2 : 1;
    end = strchr(option, '=');
    length = end != NULL ? (size_t)(end - option) : strlen(option);
    for (rule = rules; rule < rules + sizeof rules / sizeof *rules; rule++) {
        if (!(rule->of & launcher) || strlen(rule->name) != length)
            continue;
        for (i = 0; i < length; i++)
            if (option[i] != rule->name[i] && !(option[i] == '_' && rule->name[i] == '-'))
                break;
        if (i == length && (end == NULL || rule->args == 1))
            return rule;
    }
    return NULL;
}

static int apply(struct mpirun_line *line, const struct rule *rule, const char *option,
                 const char *const *args, struct error *err)
{
    int    length = (int)strcspn(option, "=");
    char  *as = NULL;
    size_t i;

    switch (rule->act) {
    case ACT_KEEP:
        strlist_addf(&line->words, "%.*s", length, option);
        for (i = 0; i < rule->args; i++)
            strlist_add(&line->words, args[i]);
        return 0;
    case ACT_RANKS:
        return read_count(&line->ranks, option, args[0], err);
    case ACT_LEAST:
        return read_count(&line->least, option, args[0], err);
    case ACT_MOST:
        return read_count(&line->most, option, args[0], err);
    case ACT_DROP:
        break;
    case ACT_RENAME:
        as = xasprintf("--%s=%s", rule->text, args[0]);
        break;
    case ACT_ENV:
        as = xasprintf("--env=%s=%s", rule->text, rule->args > 0 ? args[0] : "1");
        break;
    case ACT_MCA:
        as = xasprintf("--env=OMPI_MCA_%s=%s", args[0], args[1]);
        break;
    case ACT_GENV:
        as = xasprintf("--env=%s=%s", args[0], args[1]);
        break;
    case ACT_EXPORT:
        if (strchr(args[0], '=') == NULL)
            break;
        strlist_addf(&line->words, "--env=%s", args[0]);
        return 0;
    }
    if (as != NULL)
        strlist_add(&line->words, as);
    strlist_addf(&line->changes, "%.*s%s%.60s%s%.60s %s%s", length, option,
                 rule->args > 0 ? " " : "", rule->args > 0 ? args[0] : "",
                 rule->args > 1 ? " " : "", rule->args > 1 ? args[1] : "",
                 as != NULL ? "is read as " : "is left out: ",
                 as != NULL                ? as
                 : rule->act == ACT_EXPORT ? WORLD
                                           : rule->text);
    free(as);
    return 0;
}

static int read_count(int64_t *count, const char *option, const char *text, struct error *err)
{
    struct error why;

    if (parse_number(text, 1, JOB_WORKERS_MAX * JOB_SLOTS_MAX, count, &why) < 0)
        return err_set(err, "%.60s: %s", option, why.text);
    return 0;
}

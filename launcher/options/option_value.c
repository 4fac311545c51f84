/* option_value.c - see option_value.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "options/option_value.h"

#include <ctype.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "elastic/exit_class.h"
#include "elastic/next_world.h"
#include "number.h"
#include "options/address.h"
#include "options/roles.h"
#include "runid.h"
#include "xalloc.h"

#define SPOT_URL_MAX 1000

static void *field_of(struct options *options, const struct option_row *row);
static int   parse_flag(const char *value, bool *on, struct error *err);

int set_flag(struct options *options, const struct option_row *row, const char *value,
             struct error *err)
{
    return parse_flag(value, field_of(options, row), err);
}

/* "" means that the option is not given: it is the default of many options of DeepSpeed. */
int set_text(struct options *options, const struct option_row *row, const char *value,
             struct error *err)
{
    (void)err;
    option_replace_text(field_of(options, row), value);
    return 0;
}

int set_integer(struct options *options, const struct option_row *row,
                const char *value, struct error *err)
{
    int64_t number;

    if (parse_number(value, (int64_t)row->min, (int64_t)row->max, &number, err) < 0)
        return -1;
    *(int *)field_of(options, row) = (int)number;
    return 0;
}

int set_seconds(struct options *options, const struct option_row *row,
                const char *value, struct error *err)
{
    return parse_seconds(value, row->min, row->max, field_of(options, row), err);
}

int set_seconds_or_auto(struct options *options, const struct option_row *row,
                        const char *value, struct error *err)
{
    if (strcasecmp(value, "auto") != 0)
        return set_seconds(options, row, value, err);
    *(double *)field_of(options, row) = OPTION_AUTO;
    return 0;
}

int set_word(struct options *options, const struct option_row *row, const char *value,
             struct error *err)
{
    unsigned i;

    for (i = 0; row->words[i] != NULL; i++) {
        if (strcasecmp(value, row->words[i]) == 0) {
            *(unsigned *)field_of(options, row) = i;
            return 0;
        }
    }
    return err_set(err, "'%s' is not one of %s", value, row->arg);
}

static void *field_of(struct options *options, const struct option_row *row)
{
    return (char *)options + row->field;
}

/* "0,2-4": ascending, no number twice, no blanks, like DeepSpeed's core lists. */
int set_ranges(struct options *options, const struct option_row *row,
               const char *value, struct error *err)
{
    const char *at = value;
    char       *end;
    long        low, high, last = -1;

    while (*value != '\0') {
        low = high = isdigit((unsigned char)*at) ? strtol(at, &end, 10) : -1;
        if (low >= 0 && *end == '-' && isdigit((unsigned char)end[1]))
            high = strtol(end + 1, &end, 10);
        if (low < 0 || high > OPTION_NUMBER_MAX || (*end != ',' && *end != '\0'))
            return err_set(err, "'%s' is not a list of numbers and ranges such as 0,2-4", value);
        if (low <= last || high < low)
            return err_set(err, "'%s' must be ascending without overlap, like 0,2-4", value);
        last = high;
        if (*end == '\0')
            break;
        at = end + 1;
    }
    return set_text(options, row, value, err);
}

void option_replace_text(char **text, const char *value)
{
    free(*text);
    *text = value[0] != '\0' ? xstrdup(value) : NULL;
}

/* torchrun's --nproc_per_node: "gpu" is what muster does without the option. */
int set_ranks_per_node(struct options *options, const struct option_row *row, const char *value,
                       struct error *err)
{
    if (strcmp(value, "gpu") == 0)
        return set_integer(options, row, row->initial, err);
    if (strcmp(value, "auto") == 0 || strcmp(value, "cpu") == 0)
        return err_set(err, "'%s' depends on the machine; write a number, or leave it out to use "
                            "all slots", value);
    return set_integer(options, row, value, err);
}

/* pdsh's -R exec: the command runs here, once for each host, with the host in its words. */
int set_remote_command(struct options *options, const struct option_row *row, const char *value,
                       struct error *err)
{
    (void)row;
    if (strcmp(value, "exec") != 0)
        return err_set(err, "'%.40s' is pdsh's; leave it out: muster has its own SSH client",
                       value);
    options->transport = TRANSPORT_EXEC;
    options->fills_in = true;
    return 0;
}

/* mpirun's -npernode: one process per node sees all GPUs there. */
int set_processes_per_node(struct options *options, const struct option_row *row,
                           const char *value, struct error *err)
{
    if (options->command != COMMAND_RUN || strcmp(value, "1") != 0)
        return set_integer(options, row, value, err);
    options->per_node = true;
    return 0;
}

int set_role(struct options *options, const struct option_row *row, const char *value,
             struct error *err)
{
    size_t  length = strcspn(value, ":"), i;
    int64_t ranks = 0;
    bool    is_name = length > 0 && length <= ROLE_NAME_MAX && isalpha((unsigned char)value[0]);
    char   *name;

    for (i = 0; i < length && is_name; i++)
        is_name = isalnum((unsigned char)value[i]) || value[i] == '_' || value[i] == '-';
    if (options->role_name != NULL)
        return err_set(err, "'%.100s' before the script of %s; ':' ends a role", value,
                       options->role_name);
    if (!is_name)
        return err_set(err, "'%.*s' is not a name of a role: a letter, then at most %d letters, "
                            "digits, '-' or '_'", (int)(length < 40 ? length : 40), value,
                       ROLE_NAME_MAX - 1);
    if (value[length] == ':' &&
        parse_number(value + length + 1, 1, OPTION_NUMBER_MAX, &ranks, err) < 0)
        return -1;
    name = xstrndup(value, length);
    option_replace_text(&options->role_name, name);
    options->role_ranks = (int)ranks;
    free(name);
    (void)row;
    return 0;
}

int set_map_by(struct options *options, const struct option_row *row, const char *value,
               struct error *err)
{
    static const char ppr[] = "ppr:";
    const char       *number = value + sizeof ppr - 1;
    size_t            digits = strncmp(value, ppr, sizeof ppr - 1) == 0
                                   ? strspn(number, "0123456789") : 0;
    char             *ranks;
    int               rc;

    if (strcmp(value, "slot") == 0)
        return 0;
    if (digits == 0 || strcmp(number + digits, ":node") != 0)
        return err_set(err, "'%.100s' is not done: ranks fill the slots of a host before those of "
                            "the next, which is 'slot'; the other that muster takes is "
                            "'ppr:N:node', N ranks per host", value);
    ranks = xstrndup(number, digits);
    rc = set_processes_per_node(options, row, ranks, err);
    free(ranks);
    return rc;
}

int set_rank_by(struct options *options, const struct option_row *row, const char *value,
                struct error *err)
{
    (void)options, (void)row;
    if (strcmp(value, "slot") == 0 || strcmp(value, "fill") == 0)
        return 0;
    return err_set(err, "'%.100s' is not done: ranks are numbered in the order of the slots, host "
                        "by host, which is 'slot'", value);
}

int set_bind_to(struct options *options, const struct option_row *row, const char *value,
                struct error *err)
{
    (void)row;
    if (strcmp(value, "none") != 0)
        return err_set(err, "'%.100s' is not done; write --bind_cores_to_rank: each rank gets an "
                            "equal share of its node's cores, near its GPU", value);
    options->bind_cores = false;
    return 0;
}

/* torchrun's and srun's --nnodes: "2", or "2:2" for minimum and maximum. */
int set_node_count(struct options *options, const struct option_row *row, const char *value,
                   struct error *err)
{
    size_t length = strcspn(value, ":-");

    if (length == 0 || value[length] == '\0')
        return set_integer(options, row, value, err);
    if (strlen(value) != 2 * length + 1 || strncmp(value, value + length + 1, length) != 0)
        return err_set(err, "'%s' is a range, but the number of nodes of a run is fixed; write one "
                            "number", value);
    return set_integer(options, row, value + length + 1, err);
}

/* One number means the same as --num_nodes. With two, the run may have any number of nodes
 * between them. */
/* --stdin */
int set_input_to(struct options *options, const struct option_row *row, const char *value,
                 struct error *err)
{
    static const struct {
        const char   *word;
        enum input_to to;
    } words[] = { { "none", INPUT_TO_NONE }, { "all", INPUT_TO_ALL }, { "auto", INPUT_TO_AUTO } };
    size_t i;

    for (i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(value, words[i].word) == 0) {
            options->input_to = words[i].to;
            return 0;
        }
    if (value[0] < '0' || value[0] > '9')
        return err_set(err, "'%s' is neither a rank nor all or none", value);
    return set_integer(options, row, value, err);
}

int set_node_range(struct options *options, const struct option_row *row, const char *value,
                   struct error *err)
{
    size_t  length = strcspn(value, ":-");
    int64_t least, most;
    char   *first;
    int     rc;

    if (length == 0 || value[length] == '\0')
        return set_integer(options, row, value, err);
    first = xstrndup(value, length);
    rc = parse_number(first, 1, OPTION_NUMBER_MAX, &least, err) < 0 ||
         parse_number(value + length + 1, 1, OPTION_NUMBER_MAX, &most, err) < 0 ? -1 : 0;
    free(first);
    if (rc < 0)
        return -1;
    if (least > most)
        return err_set(err, "'%s': the minimum is larger than the maximum", value);
    if (least == most) {
        options->num_nodes = (int)least;
        return 0;
    }
    options->members.min_nodes = (int)least;
    options->members.max_nodes = (int)most;
    return 0;
}

int set_worlds(struct options *options, const struct option_row *row, const char *value,
               struct error *err)
{
    struct member_rules rules;

    if (value[0] != '\0' && next_world_parse_sizes(value, &rules) < 0)
        return err_set(err, "'%s' is not a list of numbers of ranks like 16,12,8", value);
    return set_text(options, row, value, err);
}

int set_restart_on(struct options *options, const struct option_row *row, const char *value,
                   struct error *err)
{
    struct restart_on on;

    if (value[0] != '\0' && restart_on_parse(value, &on, err) < 0)
        return -1;
    return set_text(options, row, value, err);
}

int set_spot(struct options *options, const struct option_row *row, const char *value,
             struct error *err)
{
    static const char *const words[] = { "auto", "off",   "alibaba", "aws",
                                         "gcp",  "azure", "tencent", "volcengine" };
    size_t                   i;

    for (i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcmp(value, words[i]) == 0)
            return set_text(options, row, value, err);
    for (i = 0; isgraph((unsigned char)value[i]); i++)
        ;
    if (strncmp(value, "http://", 7) != 0 || value[i] != '\0' || i > SPOT_URL_MAX)
        return err_set(err, "'%.100s' is none of auto, off, alibaba, aws, gcp, azure, tencent, "
                            "volcengine, nor a URL such as http://127.0.0.1:8080/path", value);
    return set_text(options, row, value, err);
}

int set_signal(struct options *options, const struct option_row *row, const char *value,
               struct error *err)
{
    int number = strcasecmp(value, "none") != 0 ? signal_number(value) : 0;

    if (number < 0)
        return err_set(err, "'%.40s' is neither a signal, such as USR1 or 10, nor none", value);
    if (number == SIGKILL || number == SIGSTOP)
        return err_set(err, "'%.40s' cannot be caught", value);
    *(int *)field_of(options, row) = number;
    return 0;
}

int signal_number(const char *word)
{
    const char *name = strncasecmp(word, "SIG", 3) == 0 ? word + 3 : word, *known;
    int64_t     number;
    int         i;

    for (i = 1; i < NSIG; i++)
        if ((known = sigabbrev_np(i)) != NULL && strcasecmp(name, known) == 0)
            return i;
    return parse_number(word, 1, SIGRTMAX, &number, NULL) == 0 ? (int)number : -1;
}

int set_kill_signal(struct options *options, const struct option_row *row, const char *value,
                    struct error *err)
{
    int number = signal_number(value);

    if (number < 0)
        return err_set(err, "'%.40s' is no signal; write one such as USR1 or 10", value);
    *(int *)field_of(options, row) = number;
    return 0;
}

int set_push(struct options *options, const struct option_row *row, const char *value,
             struct error *err)
{
    (void)row;
    if (value[0] == '\0')
        return err_set(err, "is empty; it should name a file or directory");
    strlist_add(&options->push, value);
    return 0;
}

int set_exclude_path(struct options *options, const struct option_row *row, const char *value,
                     struct error *err)
{
    (void)row;
    if (value[strspn(value, "/")] == '\0' || strlen(value) >= PATH_MAX)
        return err_set(err, "should be a pattern for paths, such as .git, *.pyc or /data");
    strlist_add(&options->exclude_paths, value);
    return 0;
}

/* "" means that the option is not given. */
int set_master_addr(struct options *options, const struct option_row *row, const char *value,
                    struct error *err)
{
    char *address = value[0] != '\0' ? address_read(value, err) : xstrdup("");
    int   rc = address != NULL ? set_text(options, row, address, err) : -1;

    free(address);
    return rc;
}

int set_launcher(struct options *options, const struct option_row *row,
                 const char *value, struct error *err)
{
    static const char *const ours[] = { "pdsh", "ssh", "muster" };
    size_t                   i;

    (void)options;
    (void)row;
    for (i = 0; i < sizeof ours / sizeof ours[0]; i++)
        if (strcasecmp(value, ours[i]) == 0)
            return 0;
    if (strcasecmp(value, "openmpi") == 0)
        return err_set(err, "'openmpi' is refused: muster starts programs of MPICH, MVAPICH "
                            "and Intel MPI, but not of Open MPI; start those with Open MPI's "
                            "mpirun, and leave --launcher out for others");
    if (strcasecmp(value, "slurm") == 0)
        return err_set(
            err, "'slurm' is refused: muster reaches the nodes over SSH; in an allocation "
                 "leave out --launcher and the hosts, and muster takes the hosts of the job");
    return err_set(err,
                   "'%s' is refused: muster itself starts the ranks over SSH, including MPI "
                   "programs (but not Open MPI's); leave --launcher out",
                   value);
}

/* DeepSpeed passes these to pdsh. Accept those for which muster has an option, and refuse the
 * others rather than ignore them. */
int set_launcher_args(struct options *options, const struct option_row *row,
                      const char *value, struct error *err)
{
    static const char *const means[][2] = {
        { "-f", "fanout" }, { "-t", "connect-timeout" }, { "-p", "ssh_port" },
    };
    char       *words = xstrdup(value), *rest = NULL, *word, *number;
    const struct option_row *other;
    struct error             why;
    size_t      i;
    int         rc = 0;

    (void)row;
    word = strtok_r(words, " \t", &rest);
    while (word != NULL && rc == 0) {
        for (i = 0; i < 3 && strncmp(word, means[i][0], 2) != 0; i++)
            ;
        number = i < 3 && word[2] != '\0' ? word + 2 : strtok_r(NULL, " \t", &rest);
        if (i == 3) {
            rc = err_set(err,
                         "'%s' is refused: muster has its own SSH client and takes only -f N, "
                         "-t SECONDS and -p PORT here; put a key or other ssh settings into "
                         "~/.ssh/config or --ssh-config",
                         word);
        } else if (number == NULL) {
            rc = err_set(err, "%s needs a value", means[i][0]);
        } else {
            other = option_by_name(means[i][1], strlen(means[i][1]));
            rc = other->set(options, other, number, &why);
            if (rc < 0)
                err_set(err, "%s: %s", means[i][0], why.text);
        }
        word = strtok_r(NULL, " \t", &rest);
    }
    free(words);
    return rc;
}

/* DeepSpeed passes the text None from one of its programs to the next. */
int set_each_rank_log(struct options *options, const struct option_row *row,
                      const char *value, struct error *err)
{
    return set_text(options, row, strcmp(value, "None") == 0 ? "" : value, err);
}

int set_log_level(struct options *options, const struct option_row *row,
                  const char *value, struct error *err)
{
    static const struct {
        const char    *word;
        enum log_level level;
    } levels[] = {
        { "debug", LOG_DEBUG }, { "info", LOG_INFO },      { "warning", LOG_WARN },
        { "error", LOG_ERROR }, { "critical", LOG_ERROR },
    };
    size_t i;

    (void)row;
    for (i = 0; i < sizeof levels / sizeof levels[0]; i++) {
        if (strcasecmp(value, levels[i].word) == 0) {
            options->log_level = levels[i].level;
            return 0;
        }
    }
    return err_set(err, "'%s' is not one of debug, info, warning, error, critical", value);
}

int set_verbose(struct options *options, const struct option_row *row,
                const char *value, struct error *err)
{
    bool on;

    (void)row;
    if (parse_flag(value, &on, err) < 0)
        return -1;
    if (on)
        options->log_level = options->log_level < LOG_INFO ? LOG_INFO : LOG_DEBUG;
    return 0;
}

int set_quiet(struct options *options, const struct option_row *row, const char *value,
              struct error *err)
{
    bool on;

    (void)row;
    if (parse_flag(value, &on, err) < 0)
        return -1;
    if (on)
        options->log_level = LOG_ERROR;
    return 0;
}

static int parse_flag(const char *value, bool *on, struct error *err)
{
    static const char *const yes[] = { "yes", "true", "on", "1" };
    static const char *const no[] = { "no", "false", "off", "0" };
    size_t                   i;

    for (i = 0; i < 4; i++) {
        *on = value == NULL || strcasecmp(value, yes[i]) == 0;
        if (*on || strcasecmp(value, no[i]) == 0)
            return 0;
    }
    return err_set(err, "'%s' is neither yes nor no", value);
}

int set_name(struct options *options, const struct option_row *row, const char *value,
             struct error *err)
{
    if (!runid_is_name(value))
        return err_set(err, "'%s' cannot name a run; use at most %d letters, digits, '-', '_' and "
                            "'.', beginning with a letter or digit", value, RUNID_NAME_MAX);
    return set_text(options, row, value, err);
}

/* "" is refused: an unset shell variable must not select all runs. */
int set_run(struct options *options, const struct option_row *row, const char *value,
            struct error *err)
{
    if (!runid_is(value))
        return err_set(err, "'%s' is not the id of a run, such as 20261120-103000-c3d4", value);
    return set_text(options, row, value, err);
}

int set_nothing(struct options *options, const struct option_row *row,
                const char *value, struct error *err)
{
    (void)options;
    (void)row;
    (void)value;
    (void)err;
    return 0;
}

int set_refused(struct options *options, const struct option_row *row,
                const char *value, struct error *err)
{
    (void)options;
    (void)value;
    return err_set(err, "is refused: %s", row->help);
}

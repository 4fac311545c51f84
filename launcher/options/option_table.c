/* option_table.c - see option_table.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "options/option_table.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "options/option_value.h"
#include "options/other_launchers.h"

#define FANOUT_MAX      4096
#define NAME_LENGTH_MAX 40 /* longer words are not searched for a suggestion */

static const char *const label_words[] = { "default", "host", "rank", "none", NULL };
static const char *const transport_words[] = { "auto", "ssh", "openssh", "exec", NULL };
static const char *const local_rank_words[] = { "modulo", "index", NULL };

#define FIELD(name)   .field = offsetof(struct options, name)
#define FLAG(name)    .set = set_flag, FIELD(name)
#define TEXT(name)    .set = set_text, FIELD(name)
#define INTEGER(name, low, high) .set = set_integer, FIELD(name), .min = low, .max = high
#define SECONDS(name, low, high) .set = set_seconds, FIELD(name), .min = low, .max = high
#define DEEPSPEED     .flags = OPTION_DEEPSPEED
#define DEEPSPEED_INT .flags = OPTION_DEEPSPEED | OPTION_NUMBER
#define NO            .set = set_refused, .flags = OPTION_DEEPSPEED | OPTION_REFUSED

const struct option_row option_table[] = {
    { .group = "Machines", .name = "hostfile", .letter = 'H', .arg = "FILE",
      .initial = "/job/hostfile", .set = set_hostfile, .letter_set = set_host_argument,
      DEEPSPEED, .help = "hosts, one a line: te1 slots=4" },
    { .name = "hosts", .arg = "LIST", .set = set_hosts,
      .help = "hosts, as te1:4,node[01-16]:8; -H takes this too" },
    { .name = "include", .letter = 'i', .arg = "FILTER", TEXT(include), DEEPSPEED,
      .help = "only these: te1@te2:0,2 is te1 and slots 0, 2 of te2" },
    { .name = "exclude", .letter = 'e', .arg = "FILTER", TEXT(exclude), DEEPSPEED,
      .help = "all but these" },
    { .name = "num_nodes", .arg = "N", .initial = "-1", INTEGER(num_nodes, -1, OPTION_NUMBER_MAX),
      DEEPSPEED_INT, .help = "only the first N hosts" },
    { .name = "num_gpus", .arg = "N", .initial = "-1", INTEGER(num_gpus, -1, OPTION_NUMBER_MAX),
      DEEPSPEED_INT, .commands = FOR_RUN | FOR_CHECK,
      .help = "slots 0 to N-1 on each host (or --num_accelerators)" },
    { .name = "num_accelerators", .arg = "N", INTEGER(num_gpus, -1, OPTION_NUMBER_MAX),
      DEEPSPEED_INT, .commands = FOR_RUN | FOR_CHECK },
    { .name = "np", .arg = "N", INTEGER(num_ranks, 1, OPTION_NUMBER_MAX),
      .flags = OPTION_NUMBER, .commands = FOR_RUN | FOR_CHECK,
      .help = "N ranks, on the first N slots (or -np N)" },
    { .name = "force_multi", FLAG(force_multi), DEEPSPEED,
      .help = "use SSH even for this machine" },
    { .name = "no_ssh", FLAG(no_ssh), DEEPSPEED, .commands = FOR_RUN | FOR_CHECK,
      .help = "start only the ranks of --node_rank, here" },
    { .name = "node_rank", .arg = "N", .initial = "-1", INTEGER(node_rank, -1, OPTION_NUMBER_MAX),
      DEEPSPEED_INT, .commands = FOR_RUN | FOR_CHECK,
      .help = "which node this machine is, with --no_ssh" },

    { .group = "Reaching them", .name = "ssh_port", .arg = "PORT",
      INTEGER(ssh_port, 1, 65535), DEEPSPEED_INT, .help = "instead of ssh config's" },
    { .name = "ssh-config", .arg = "FILE", TEXT(ssh_config),
      .help = "instead of ~/.ssh/config and the system's" },
    { .name = "connect-timeout", .arg = "TIME", .initial = "10",
      SECONDS(connect_timeout_s, 0.1, 3600), .help = "for each step of a connection" },
    { .name = "fanout", .arg = "N", .initial = "64", INTEGER(fanout, 1, FANOUT_MAX),
      .flags = OPTION_NUMBER, .help = "so many SSH handshakes at once" },
    { .name = "transport", .arg = "auto|ssh|openssh|exec", .initial = "auto", .set = set_word,
      FIELD(transport), .words = transport_words,
      .help = "openssh: by the ssh program; exec: every node is this machine" },
    { .name = "agent", .arg = "FILE", TEXT(agent),
      .help = "the muster-agent to send, instead of the installed one" },
    { .name = "no_ssh_check", FLAG(no_ssh_check), DEEPSPEED,
      .help = "accepted: muster checks by connecting" },
    { .name = "launcher", .arg = "pdsh|ssh|muster", .set = set_launcher, DEEPSPEED,
      .help = "accepted: all three are muster's own SSH" },
    { .name = "launcher_args", .arg = "WORDS", .set = set_launcher_args, DEEPSPEED,
      .help = "pdsh's -f N, -t SECONDS; -p PORT" },

    { .group = "What runs", .name = "module", FLAG(module), DEEPSPEED, .commands = FOR_RUN,
      .help = "SCRIPT is a Python module, as in python -m" },
    { .name = "no_python", FLAG(no_python), DEEPSPEED, .commands = FOR_RUN,
      .help = "run SCRIPT itself even when it is *.py" },
    { .name = "no_local_rank", FLAG(no_local_rank), DEEPSPEED, .commands = FOR_RUN,
      .help = "do not add --local_rank=N to its arguments" },
    { .name = "python", .arg = "FILE", TEXT(python), .commands = FOR_RUN,
      .help = "instead of the virtualenv's, conda's or python3" },
    { .name = "venv_script", .arg = "FILE", TEXT(venv_script), DEEPSPEED,
      .help = "on each node, sourced by bash before" },
    { .name = "cwd", .arg = "DIR", TEXT(cwd), .help = "instead of this directory" },
    { .name = "env", .arg = "NAME[=VALUE]", .set = set_env,
      .help = "give this variable to the ranks; may be repeated" },
    { .name = "env-file", .arg = "FILE", .set = set_env_file,
      .help = "NAME=VALUE lines, besides .deepspeed_env" },

    { .group = "Ranks, GPUs, cores", .name = "master_addr", .arg = "ADDR",
      .set = set_master_addr, FIELD(master_addr), DEEPSPEED, .commands = FOR_RUN | FOR_CHECK,
      .help = "instead of one of node 0's that all nodes reach" },
    { .name = "master_port", .arg = "PORT", INTEGER(master_port, 0, 65535), DEEPSPEED_INT,
      .commands = FOR_RUN | FOR_CHECK, .help = "instead of 29500 or a free one" },
    { .name = "one-gpu-per-rank", FLAG(one_gpu_per_rank), .commands = FOR_RUN | FOR_CHECK,
      .help = "CUDA_VISIBLE_DEVICES is the rank's own, not the node's" },
    { .name = "bind_cores_to_rank", FLAG(bind_cores), DEEPSPEED,
      .commands = FOR_RUN | FOR_CHECK, .help = "share the cores out among a node's ranks" },
    { .name = "bind_core_list", .arg = "RANGES", .set = set_ranges, FIELD(bind_core_list),
      DEEPSPEED, .commands = FOR_RUN | FOR_CHECK, .help = "only these cores: 0,2-4" },
    { .name = "require-idle-gpus", FLAG(require_idle_gpus), .commands = FOR_RUN | FOR_CHECK,
      .help = "refuse nodes on which others use them" },
    { .name = "local-rank-by", .arg = "modulo|index", .initial = "modulo", .set = set_word,
      FIELD(local_rank_by), .words = local_rank_words, .commands = FOR_RUN | FOR_CHECK,
      .help = "modulo: RANK % slots, as DeepSpeed" },

    { .group = "Output", .name = "label", .arg = "host|rank|none", .initial = "default",
      .set = set_word, FIELD(label), .words = label_words,
      .help = "what stands in front of each line" },
    { .name = "timestamps", FLAG(timestamps), .help = "and the time" },
    { .name = "show-ranks", .arg = "RANGES", .set = set_ranges, FIELD(show_ranks),
      .help = "print only these: 0,3-5" },
    { .name = "log-dir", .arg = "DIR", TEXT(log_dir),
      .help = "on each node, a file for each rank besides" },
    { .name = "enable_each_rank_log", .arg = "DIR", .set = set_each_rank_log,
      FIELD(each_rank_log), DEEPSPEED, .help = "the same, and nothing on the console" },
    { .name = "fold", .letter = 'b', FLAG(fold), .commands = FOR_EXEC,
      .help = "exec: equal output once, under its hosts" },
    { .name = "largest-status", .letter = 'S', FLAG(largest_status), .commands = FOR_EXEC,
      .help = "exec: exit with the largest status" },
    { .name = "json", .arg = "FILE", TEXT(json),
      .commands = FOR_RUN | FOR_EXEC | FOR_CHECK | FOR_CLEAN | FOR_BCAST | FOR_STATUS,
      .help = "the plan, then how each rank ended (- is stdout)" },
    { .name = "dry-run", FLAG(dry_run), .flags = OPTION_ARGV_ONLY,
      .help = "print the plan and connect nowhere" },
    { .name = "log_level", .arg = "LEVEL", .initial = "warning", .set = set_log_level,
      DEEPSPEED, .commands = FOR_ANY, .help = "debug, info, warning, error, critical" },
    { .name = "verbose", .letter = 'v', .set = set_verbose,
      .commands = FOR_ANY, .help = "log_level info, -vv debug; values in the plan" },
    { .name = "quiet", .letter = 'q', .set = set_quiet, DEEPSPEED,
      .commands = FOR_ANY, .help = "log_level error" },

    { .group = "How it ends", .name = "strict-containment", FLAG(strict_containment),
      .commands = FOR_RUN | FOR_CHECK,
      .help = "refuse nodes with neither PID namespace nor cgroup" },
    { .name = "no-pidns", FLAG(no_pidns), .commands = FOR_RUN | FOR_CHECK,
      .help = "leave the ranks among the node's own processes" },
    { .name = "grace", .arg = "TIME", .initial = "30",
      SECONDS(grace_s, 0, 86400), .help = "from TERM to KILL" },
    { .name = "timeout", .arg = "TIME", SECONDS(timeout_s, 0, 1e9),
      .help = "stop the run after this long, exit 124" },
    { .name = "hang-timeout", .arg = "TIME", SECONDS(hang_timeout_s, 0, 86400),
      .commands = FOR_RUN | FOR_CHECK,
      .help = "when no rank does anything for so long, exit 124" },
    { .name = "heartbeat", .arg = "TIME", .initial = "2", SECONDS(heartbeat_s, 0.05, 600),
      .help = "between signs of life" },
    { .name = "dead-after", .arg = "TIME", .initial = "15", SECONDS(dead_after_s, 0.1, 3600),
      .help = "without one a node is lost" },
    { .name = "reconnect", .arg = "TIME|auto", .initial = "auto", .set = set_seconds_or_auto,
      FIELD(reconnect_s), .min = 0, .max = 3600,
      .help = "a node that is cut off waits so long (0: not)" },
    { .name = "save_pid", FLAG(save_pid), DEEPSPEED,
      .help = "the agent's pid in /tmp/PID.deepspeed meanwhile" },
    { .name = "name", .arg = "NAME", .set = set_name, FIELD(name), .flags = OPTION_ARGV_ONLY,
      .commands = FOR_RUN | FOR_CHECK,
      .help = "of the run; a second one of that name is refused" },
    { .name = "detach", FLAG(detach), .flags = OPTION_ARGV_ONLY,
      .commands = FOR_RUN | FOR_CHECK,
      .help = "go on without this terminal; see muster attach" },
    { .name = "kill", FLAG(kill), .flags = OPTION_ARGV_ONLY, .commands = FOR_CLEAN,
      .help = "clean: end and remove what is found" },
    { .name = "run", .arg = "ID", .set = set_run, FIELD(run), .flags = OPTION_ARGV_ONLY,
      .commands = FOR_CLEAN, .help = "clean: only this run, even if it goes on" },
    { .name = "to", .arg = "DIR", TEXT(to), .flags = OPTION_ARGV_ONLY, .commands = FOR_BCAST,
      .help = "bcast: into this directory of each node" },
    { .name = "tail", .arg = "N", .initial = "-1", INTEGER(tail, -1, INT_MAX),
      .flags = OPTION_ARGV_ONLY | OPTION_NUMBER, .commands = FOR_ATTACH,
      .help = "attach: of what there is only the last N lines" },

    { .group = "Help", .name = "config", .arg = "FILE", .set = set_nothing,
      .flags = OPTION_ARGV_ONLY, .commands = FOR_ANY,
      .help = "settings, over those in /etc and ~/.config" },
    { .name = "help", .letter = 'h', .set = set_nothing,
      .flags = OPTION_ARGV_ONLY | OPTION_DEEPSPEED, .help = "this text" },
    { .name = "version", .set = set_nothing, .flags = OPTION_ARGV_ONLY,
      .help = "muster's, the libraries', and what was built in" },
    { .name = "list-options", .set = set_nothing,
      .flags = OPTION_ARGV_ONLY | OPTION_HIDDEN },

    { .name = "elastic_training", NO,
      .help = "the number of ranks is fixed for a run; start it again with another hostfile" },
    { .name = "min_elastic_nodes", .arg = "N", NO, .help = "use --num_nodes" },
    { .name = "max_elastic_nodes", .arg = "N", NO, .help = "use --num_nodes" },
    { .name = "autotuning", .arg = "tune|run", NO,
      .help = "it is a program of DeepSpeed's own; run it with deepspeed" },
};

const size_t option_rows = sizeof option_table / sizeof option_table[0];

static const struct option_row *find_prefix(const char *name, size_t length,
                                            unsigned flags);
static void   list_candidates(const char *name, size_t length, char *text, size_t size);
static bool   has_prefix(const char *name, const char *prefix, size_t length);
static size_t edit_distance(const char *name, size_t length, const char *known);
static char   fold_char(char c);

const struct option_row *option_by_name(const char *name, size_t length)
{
    size_t i;

    for (i = 0; i < option_rows; i++)
        if (strlen(option_table[i].name) == length &&
            has_prefix(option_table[i].name, name, length))
            return &option_table[i];
    return NULL;
}

const struct option_row *option_find(const char *name, size_t length, struct error *err)
{
    const struct option_row *row = option_by_name(name, length);
    char                     text[512];
    int                      shown = length < 200 ? (int)length : 200;

    if (row == NULL && length > 0)
        row = find_prefix(name, length, OPTION_DEEPSPEED);
    if (row == NULL && length > 0)
        row = find_prefix(name, length, 0);
    if (row != NULL)
        return row;

    list_candidates(name, length, text, sizeof text);
    if (text[0] != '\0' && length > 0) {
        err_set(err, "--%.*s is ambiguous: it could be %s", shown, name, text);
        return NULL;
    }
    option_suggest(name, length, text, sizeof text);
    err_set(err, "unknown option --%.*s%s", shown, name, text);
    return NULL;
}

/* The only row with that prefix among those that have flags, or NULL. */
static const struct option_row *find_prefix(const char *name, size_t length, unsigned flags)
{
    const struct option_row *row = NULL;
    size_t                   i;

    for (i = 0; i < option_rows; i++) {
        if ((option_table[i].flags & flags) != flags ||
            (option_table[i].flags & OPTION_HIDDEN) ||
            !has_prefix(option_table[i].name, name, length))
            continue;
        if (row != NULL)
            return NULL;
        row = &option_table[i];
    }
    return row;
}

static void list_candidates(const char *name, size_t length, char *text, size_t size)
{
    size_t i, used = 0;

    text[0] = '\0';
    for (i = 0; i < option_rows; i++)
        if (!(option_table[i].flags & OPTION_HIDDEN) &&
            has_prefix(option_table[i].name, name, length) && used < size)
            used += (size_t)snprintf(text + used, size - used, "%s--%s",
                                     used > 0 ? ", " : "", option_table[i].name);
}

static bool has_prefix(const char *name, const char *prefix, size_t length)
{
    size_t i;

    for (i = 0; i < length; i++)
        if (name[i] == '\0' || fold_char(name[i]) != fold_char(prefix[i]))
            return false;
    return true;
}

const struct option_row *option_by_letter(char letter)
{
    size_t i;

    for (i = 0; i < option_rows; i++)
        if (option_table[i].letter == letter && letter != '\0')
            return &option_table[i];
    return NULL;
}

void option_suggest(const char *name, size_t length, char *text, size_t size)
{
    const char *nearest = NULL, *instead = other_launchers_hint(name, length);
    size_t      i, distance, least = length / 3 + 2;

    text[0] = '\0';
    if (instead != NULL) {
        snprintf(text, size, ": it is %s", instead);
        return;
    }
    if (length > NAME_LENGTH_MAX)
        return;
    for (i = 0; i < option_rows; i++) {
        if (option_table[i].flags & OPTION_HIDDEN)
            continue;
        distance = edit_distance(name, length, option_table[i].name);
        if (distance < least) {
            least = distance;
            nearest = option_table[i].name;
        }
    }
    if (nearest != NULL)
        snprintf(text, size, " (did you mean --%s?)", nearest);
}

/* Levenshtein's distance of name to known, in one row of memory. */
static size_t edit_distance(const char *name, size_t length, const char *known)
{
    size_t cost[NAME_LENGTH_MAX + 1], i, j, diagonal, best;

    for (i = 0; i <= length; i++)
        cost[i] = i;
    for (j = 0; known[j] != '\0'; j++) {
        diagonal = cost[0];
        cost[0] = j + 1;
        for (i = 0; i < length; i++) {
            best = diagonal + (fold_char(name[i]) != fold_char(known[j]));
            diagonal = cost[i + 1];
            if (cost[i] + 1 < best)
                best = cost[i] + 1;
            if (diagonal + 1 < best)
                best = diagonal + 1;
            cost[i + 1] = best;
        }
    }
    return cost[length];
}

static char fold_char(char c)
{
    return c == '_' ? '-' : c;
}

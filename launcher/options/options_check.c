/* options_check.c - see options_check.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "options/options_check.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "exit_code.h"
#include "number.h"
#include "options/option_value.h"
#include "xalloc.h"

static int signals_check(const struct options *options, struct error *err);
static int clean_check(const struct options *options, struct error *err);
static int script_check(const struct options *options, struct error *err);
static int restart_check(const struct options *options, struct error *err);
static int words_check(const struct options *options, struct error *err);
static int shell_take(struct options *options, struct error *err);
static void take_node_rank(struct options *options);
static int input_check(struct options *options, struct error *err);
static int prompt_check(const struct options *options, struct error *err);
static bool stdin_is_null(void);
static int take_processes(struct options *options, struct error *err);
static void take_start_ranks(struct options *options);
static int members_check(const struct options *options, struct error *err);

int options_check(struct options *options, struct error *err)
{
    if (script_check(options, err) < 0)
        return -1;
    if (words_check(options, err) < 0)
        return -1;
    if (options->command == COMMAND_SHELL && shell_take(options, err) < 0)
        return -1;
    if (input_check(options, err) < 0)
        return -1;
    if (options->command == COMMAND_SCALE && (options->run == NULL || options->nodes == 0))
        return err_set(err, "which run, how many nodes? muster scale [OPTIONS] RUN --nodes N");
    if (signals_check(options, err) < 0)
        return -1;
    if (clean_check(options, err) < 0)
        return -1;
    if (options->cost && options->run == NULL)
        return err_set(err, "--cost needs a run: muster status --cost RUN");
    if (options->plan_only + options->apply + options->undo + options->record > 1)
        return err_set(err, "only one of --plan, --apply, --undo and --record may be used");
    if (options->command == COMMAND_CHECK && !options->dry_run) {
        options->check_json = options->json; /* the check's result, not the run's */
        options->json = NULL;
    }
    if (options->command != COMMAND_EXEC)
        options->largest_status = false; /* set in muster.conf, for exec */
    if (options->module && options->no_python)
        return err_set(err, "--module and --no_python exclude each other: "
                       "a module is run by Python");
    option_exclude_groups(options);
    take_node_rank(options);
    if (options->no_ssh && options->node_rank < 0)
        return err_set(err, "--no_ssh needs --node_rank, the number of this machine");
    if (!options->no_ssh && options->node_rank >= 0)
        return err_set(err, "--node_rank needs --no_ssh: without it muster starts all nodes");
    if (options->no_ssh && options->max_restarts > 0)
        return err_set(err, "--max-restarts needs all nodes: with --no_ssh each starts alone");
    if (restart_check(options, err) < 0)
        return -1;
    if (take_processes(options, err) < 0)
        return -1;
    take_start_ranks(options);
    if (members_check(options, err) < 0)
        return -1;
    if (options->sudo_password_fd >= 0 && !options->sudo)
        return err_set(err, "--sudo-password-fd needs --sudo");
    if (options->replace && options->name == NULL)
        return err_set(err, "--replace needs --name, the name of the run to replace");
    if (options->bind_core_list != NULL && !options->bind_cores)
        return err_set(err, "--bind_core_list needs --bind_cores_to_rank");
    if (options->log_dir != NULL && options->each_rank_log != NULL)
        return err_set(err, "--log-dir and --enable_each_rank_log exclude each other: the "
                            "first also prints the output, the second does not");
    if (options->dead_after_s < 2 * options->heartbeat_s)
        return err_set(err, "--dead-after %g is less than two heartbeats of %g s: "
                       "a healthy node would be lost", options->dead_after_s, options->heartbeat_s);
    return 0;
}

/* A rank catches one signal for two purposes only by mistake: the later handler counts, so at a
 * notice it would show its stacks, and save nothing. */
static int signals_check(const struct options *options, struct error *err)
{
    if (options->kill_signal > 0 && options->run == NULL)
        return err_set(err, "which run? muster kill --signal=SIGNAL RUN");
    if (options->command == COMMAND_RUN && options->stack_signal > 0 &&
        options->stack_signal == options->notice_signal)
        return err_set(err, "--stack-signal and --notice-signal are the same signal, %s: take "
                            "another one for the stacks (USR2), or --notice-signal=none",
                       signal_name(options->stack_signal).text);
    return 0;
}

static int clean_check(const struct options *options, struct error *err)
{
    if (options->kill_gpu != NULL && options->run != NULL)
        return err_set(err, "--kill-gpu and --run exclude each other: the first ends what is not "
                            "of a run");
    if (options->forget_suspects &&
        (options->kill || options->kill_gpu != NULL || options->run != NULL ||
         options->json != NULL))
        return err_set(err, "--suspects looks at no node, so --kill, --kill-gpu, --run and --json "
                            "have no meaning with it");
    return 0;
}

/* Is there a script, for the run or for each role? */
static int script_check(const struct options *options, struct error *err)
{
    const char *also = options->script != NULL     ? options->script
                       : options->args.count > 0 ? options->args.item[0] : NULL;

    if (options->roles_file != NULL && options->has_roles && also != NULL)
        return err_set(err, "--roles %s: the roles are in that file, not also '%.100s'",
                       options->roles_file, also);
    if (options->service && options->role_name == NULL)
        return err_set(err, "--service belongs behind a --role: that role ends when the others "
                            "have ended");
    if (options->role_name != NULL && options->script == NULL)
        return err_set(err, "--role %s: no script to run: --role NAME:N [OPTIONS] SCRIPT [ARGS...]",
                       options->role_name);
    if (options->command == COMMAND_RUN && options->script == NULL && !options->has_roles)
        return err_set(err, "no script to run: muster [OPTIONS] SCRIPT [ARGS...]; %s",
                       options->topic == COMMAND_RUN ? "a script called run is ./run"
                                                     : "see muster --help");
    return 0;
}

static int restart_check(const struct options *options, struct error *err)
{
    if (options->restart == RESTART_RUN)
        return 0;
    if (!options->has_roles && options->role_name == NULL)
        return err_set(err, "--restart=role needs roles: --role NAME:N; without them "
                            "--max-restarts restarts all ranks");
    if (options->max_restarts == 0)
        return err_set(err, "--restart=role: how often may each role be restarted? Add "
                            "--max-restarts=N");
    return 0;
}

/* Did the user write as many words as the subcommand takes? */
static int words_check(const struct options *options, struct error *err)
{
    const struct command_row *row = &command_table[options->command];
    int                       count = (int)options->args.count;

    if ((row->first == FIRST_SCRIPT && options->script == NULL && row->missing != NULL) ||
        count < row->least)
        return err_set(err, "%s: muster %s", row->missing, row->synopsis);
    if (options->command == COMMAND_EXEC && options->script == NULL)
        return prompt_check(options, err);
    if (row->most != ANY_NUMBER && count > row->most)
        return err_set(err, "muster %s takes %s, not also '%.100s'", row->name, row->takes,
                       options->args.item[row->most]);
    return 0;
}

/* Without a command muster exec reads its commands from standard input. */
static int prompt_check(const struct options *options, struct error *err)
{
    const char *name = options->dry_run        ? "--dry-run needs one: "
                       : options->json != NULL ? "--json needs one: "
                       : options->pty          ? "--pty needs one: "
                                               : "";

    if (name[0] == '\0' && !stdin_is_null())
        return 0;
    return err_set(err, "no command to run: %smuster %s", name,
                   command_table[COMMAND_EXEC].synopsis);
}

static bool stdin_is_null(void)
{
    struct stat about;

    return fstat(STDIN_FILENO, &about) < 0 ||
           (S_ISCHR(about.st_mode) && about.st_rdev == makedev(1, 3));
}

/* muster shell HOST is muster exec --pty on that host, with a login shell there. */
static int shell_take(struct options *options, struct error *err)
{
    static const char login[] = "exec \"${SHELL:-/bin/sh}\" -l";
    char            **host = !options_name_hosts(options) && access(options->hostfile, F_OK) < 0
                                 ? &options->hosts : &options->include;
    bool              has_command = options->args.count > 0;
    struct strlist    args = { 0 };
    size_t            i;

    if (options->script == NULL && !options_name_hosts(options))
        return err_set(err, "which host? muster %s", command_table[COMMAND_SHELL].synopsis);
    options->command = COMMAND_EXEC;
    options->pty = options->largest_status = true;
    if (options->script != NULL)
        option_replace_text(host, options->script);
    free(options->script);
    options->script = xstrdup(has_command ? options->args.item[0] : "sh");
    for (i = 1; i < options->args.count; i++)
        strlist_add(&args, options->args.item[i]);
    if (!has_command) {
        strlist_add(&args, "-c");
        strlist_add(&args, login);
    }
    strlist_clear(&options->args);
    options->args = args;
    return 0;
}

/* srun and flux run number the nodes on which they start muster. */
static void take_node_rank(struct options *options)
{
    const char *slurm = getenv("SLURM_STEP_ID") != NULL ? getenv("SLURM_NODEID") : NULL;
    const char *number = slurm != NULL ? slurm : getenv("FLUX_TASK_RANK");
    int64_t     rank;

    if (options->no_ssh && options->node_rank < 0 && !options_name_hosts(options) &&
        number != NULL && parse_number(number, 0, OPTION_NUMBER_MAX, &rank, NULL) == 0)
        options->node_rank = (int)rank;
}

/* Decides who gets standard input: a terminal belongs to the shell that muster was started from,
 * unless the user gives it to a rank; what muster exec gets from a pipe or a file goes to all. */
static int input_check(struct options *options, struct error *err)
{
    if (options->input_to == INPUT_TO_AUTO && options->pty)
        options->input_to = 0;
    if (options->input_to == INPUT_TO_AUTO)
        options->input_to = options->command == COMMAND_EXEC && !stdin_is_null() &&
                                    !isatty(STDIN_FILENO)
                                ? INPUT_TO_ALL : INPUT_TO_NONE;
    if (options->pty && options->input_to < 0)
        return err_set(err, "--pty needs one rank, which gets the terminal: --stdin=0");
    if (options->detach && options->input_to != INPUT_TO_NONE)
        return err_set(err, "--detach cannot be used together with %s: a detached run has no input",
                       options->pty ? "--pty" : "--stdin");
    if (options->pty)
        options->fold = false; /* a terminal shows output at once */
    return 0;
}

/* accelerate gives each machine an equal share. -np, on the command line, overrides the file. */
static int take_processes(struct options *options, struct error *err)
{
    int processes = options->processes, nodes = options->num_nodes;

    if (processes == 0 || options->num_ranks > 0)
        return 0;
    if (options->num_gpus > 0 || nodes <= 1) {
        options->num_ranks = processes;
        return 0;
    }
    if (processes % nodes != 0)
        return err_set(err, "--num_processes %d is no multiple of --num_machines %d: each machine "
                            "gets an equal share; -np %d fills one after the other",
                       processes, nodes, processes);
    options->num_gpus = processes / nodes;
    return 0;
}

/* horovodrun's -np 4 --min-np 2: an elastic run starts once there are four slots, takes all that
 * there are, and goes on with two. Without another limit it goes on with no fewer than -np. */
static void take_start_ranks(struct options *options)
{
    struct options_members *members = &options->members;
    bool                    is_elastic = options_are_elastic(options);

    if (options->num_ranks == 0 || options->command != COMMAND_RUN || options->per_node ||
        (!is_elastic &&
         (options->discovery_script == NULL || members->recovery == RECOVERY_FULL)))
        return;
    members->start_ranks = options->num_ranks;
    options->num_ranks = 0;
    if (members->min_ranks == 0 && members->min_nodes == 0 && members->worlds == NULL)
        members->min_ranks = members->start_ranks;
}

/* Refuses combinations of --spares, --nnodes, --per-node and related options that make no
 * sense. */
static int members_check(const struct options *options, struct error *err)
{
    const struct options_members *members = &options->members;

    if (options->no_ssh && (members->spares > 0 || options_are_elastic(options)))
        return err_set(err, "--spares and --nnodes MIN:MAX need all nodes: with --no_ssh each "
                            "node is started separately");
    if (members->max_nodes > 0 && members->min_nodes > members->max_nodes)
        return err_set(err, "a minimum of %d nodes is more than the maximum of %d",
                       members->min_nodes, members->max_nodes);
    if (options->per_node && (options->num_ranks > 0 || options->one_gpu_per_rank))
        return err_set(err, "--per-node cannot be used together with %s%s",
                       options->num_ranks > 0 ? "-np" : "--one-gpu-per-rank",
                       options->num_ranks > 0 ? ": --num_nodes limits the nodes" : "");
    if (options->horovod && options->command == COMMAND_RUN &&
        (options->no_ssh || options->per_node))
        return err_set(err, "--horovod cannot be used together with %s",
                       options->per_node
                           ? "--per-node: Horovod's ranks have one GPU each"
                           : "--no_ssh: the nodes cannot ask for the port; start a server yourself "
                             "and set HOROVOD_GLOO_RENDEZVOUS_ADDR and _PORT");
    if (options->pmix && options->command == COMMAND_RUN && options->no_ssh)
        return err_set(err, "--pmix cannot be used together with --no_ssh: the agents would not "
                            "know each other");
    if (members->start_ranks > 0 && members->min_ranks > members->start_ranks)
        return err_set(err, "--min-np %d is more than -np %d, with which the run starts",
                       members->min_ranks, members->start_ranks);
    if (members->max_ranks > 0 && members->start_ranks > members->max_ranks)
        return err_set(err, "-np %d, with which the run starts, is more than --max-np %d",
                       members->start_ranks, members->max_ranks);
    if (members->max_ranks > 0 && members->min_ranks > members->max_ranks)
        return err_set(err, "--min-np %d is more than --max-np %d", members->min_ranks,
                       members->max_ranks);
    if (options->num_ranks > 0 && members->spares > 0)
        return err_set(err, "-np cannot be used together with --spares: write --num_nodes and "
                            "--num_gpus");
    return 0;
}

/* option_table.c - see option_table.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "options/option_table.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "nearby.h"
#include "options/option_value.h"
#include "options/other_launchers.h"

#define FANOUT_MAX 4096

static const char *const label_words[] = { "default", "host", "rank", "none", NULL };
static const char *const recovery_words[] = { "auto", "full", "elastic", NULL };
static const char *const restart_words[] = { "run", "role", NULL };
static const char *const transport_words[] = { "auto", "ssh", "openssh", "exec", NULL };
static const char *const warm_words[] = { "each", "swarm", NULL };
static const char *const links_words[] = { "auto", "copy", "follow", "skip", NULL };
static const char *const local_rank_words[] = { "modulo", "index", NULL };

#define FIELD(name)   .field = offsetof(struct options, name)
#define FLAG(name)    .set = set_flag, FIELD(name)
#define TEXT(name)    .set = set_text, FIELD(name)
#define INTEGER(name, low, high) .set = set_integer, FIELD(name), .min = low, .max = high
#define SECONDS(name, low, high) .set = set_seconds, FIELD(name), .min = low, .max = high
#define RARE           .flags = OPTION_RARE
#define DEEPSPEED      .flags = OPTION_DEEPSPEED
#define DEEPSPEED_RARE .flags = OPTION_DEEPSPEED | OPTION_RARE
#define NO             .set = set_refused, .flags = OPTION_DEEPSPEED | OPTION_REFUSED, \
                       .commands = FOR_ANY

const struct option_row option_table[] = {
    { .group = "What to do", .name = "kill", FLAG(kill), .commands = FOR(CLEAN),
      .flags = OPTION_ARGV_ONLY, .help = "kill the processes found and remove the files" },
    { .name = "kill-gpu", .arg = "WHAT", .set = set_kill_gpu, FIELD(kill_gpu),
      .commands = FOR(CLEAN), .flags = OPTION_ARGV_ONLY,
      .help = "end who has a GPU open: mine, a user, a PID" },
    { .name = "suspects", FLAG(forget_suspects), .commands = FOR(CLEAN),
      .flags = OPTION_ARGV_ONLY, .help = "only forget nodes that runs have left out" },
    { .name = "run", .arg = "ID", .set = set_run, FIELD(run), .commands = FOR(CLEAN),
      .flags = OPTION_ARGV_ONLY, .help = "only what this run left, even if it is running" },
    { .name = "to", .arg = "DIR", TEXT(to), .commands = FOR(BCAST) | FOR(COLLECT),
      .flags = OPTION_ARGV_ONLY, .help = "copy into DIR on each node; into DIR/HOST here" },
    { .name = "exclude-path", .arg = "PATTERN", .set = set_exclude_path,
      .commands = FOR(BCAST) | FOR(COLLECT), .flags = OPTION_ARGV_ONLY,
      .help = "leave out paths: .git, *.pyc, /data, cache/" },
    { .name = "gitignore", FLAG(gitignore), .commands = FOR(RUN) | FOR(EXEC) | FOR(BCAST),
      .flags = OPTION_ARGV_ONLY | OPTION_RARE, .help = "copy nothing that git ignores, nor .git" },
    { .name = "links", .arg = "copy|follow|skip", .initial = "auto", .set = set_word,
      FIELD(links), .words = links_words, .commands = FOR(BCAST) | FOR(COLLECT),
      .flags = OPTION_ARGV_ONLY, .help = "what to do with symbolic links" },
    { .name = "plan", FLAG(plan_only), .commands = FOR(BOOTSTRAP), .flags = OPTION_ARGV_ONLY,
      .help = "only show what would change, and why (default)" },
    { .name = "apply", FLAG(apply), .commands = FOR(BOOTSTRAP), .flags = OPTION_ARGV_ONLY,
      .help = "change it" },
    { .name = "undo", FLAG(undo), .commands = FOR(BOOTSTRAP), .flags = OPTION_ARGV_ONLY,
      .help = "undo what --apply has changed" },
    { .name = "record", FLAG(record), .commands = FOR(BOOTSTRAP), .flags = OPTION_ARGV_ONLY,
      .help = "record what is in memory, for [warm]" },
    { .name = "only", .arg = "STEPS", TEXT(only), .commands = FOR(BOOTSTRAP),
      .flags = OPTION_ARGV_ONLY, .help = "only these steps: hosts,data" },
    { .name = "skip", .arg = "STEPS", TEXT(skip), .commands = FOR(BOOTSTRAP),
      .flags = OPTION_ARGV_ONLY, .help = "all steps but these" },
    { .name = "names", .arg = "NAMES", TEXT(names), .commands = FOR(BOOTSTRAP),
      .flags = OPTION_ARGV_ONLY, .help = "name the hosts, in order: te[1-4]" },
    { .name = "mesh", FLAG(mesh), .commands = FOR(BOOTSTRAP), .flags = OPTION_ARGV_ONLY,
      .help = "also let the nodes log in to each other" },
    { .name = "warm", .arg = "each|swarm", .initial = "each", .set = set_word, FIELD(warm),
      .words = warm_words, .commands = FOR(BOOTSTRAP), .flags = OPTION_ARGV_ONLY,
      .help = "read disks separately or together" },
    { .name = "trust-first", FLAG(trust_first), .commands = FOR(BOOTSTRAP),
      .flags = OPTION_ARGV_ONLY, .help = "accept and record unknown host keys" },
    { .name = "password-fd", .arg = "N", .initial = "-1", INTEGER(password_fd, -1, 1023),
      .commands = FOR(BOOTSTRAP), .flags = OPTION_ARGV_ONLY,
      .help = "read the password from descriptor N" },
    { .name = "tail", .arg = "N", .initial = "-1", INTEGER(tail, -1, INT_MAX),
      .commands = FOR(ATTACH), .flags = OPTION_ARGV_ONLY,
      .help = "begin with the last N lines" },

    { .name = "within", .arg = "TIME", .initial = "5m", SECONDS(within_s, 0, 86400),
      .commands = FOR(DRAIN) | FOR(SCALE), .flags = OPTION_ARGV_ONLY,
      .help = "time for a checkpoint; 0: at once" },
    { .name = "nodes", .arg = "N", INTEGER(nodes, 1, OPTION_NUMBER_MAX), .commands = FOR(SCALE),
      .flags = OPTION_ARGV_ONLY, .help = "the number of nodes" },

    { .name = "signal", .letter = 's', .arg = "SIGNAL", .set = set_kill_signal,
      FIELD(kill_signal), .commands = FOR(KILL), .flags = OPTION_ARGV_ONLY,
      .help = "send this to every rank; without it: stop" },

    { .name = "cost", FLAG(cost), .commands = FOR(STATUS), .flags = OPTION_ARGV_ONLY,
      .help = "what a run has cost: hours and money" },
    { .name = "html", .arg = "FILE", TEXT(html), .commands = FOR(STATUS) | FOR(CHECK),
      .flags = OPTION_ARGV_ONLY, .help = "write a page (- is standard output)" },

    { .name = "quick", FLAG(check_quick), .commands = FOR(CHECK) | FOR(DOCTOR),
      .flags = OPTION_ARGV_ONLY, .help = "fewer and smaller tests (default of doctor)" },
    { .name = "full", FLAG(check_full), .commands = FOR(CHECK) | FOR(DOCTOR),
      .flags = OPTION_ARGV_ONLY | OPTION_RARE, .help = "more and larger tests" },

    { .group = "Hosts and slots", .name = "hostfile", .letter = 'H', .arg = "FILE",
      .initial = "/job/hostfile", .set = set_hostfile, .letter_set = set_host_argument,
      .commands = FOR_NODES, DEEPSPEED, .help = "hosts; or -H te1:4,te2:4" },
    { .name = "hosts", .arg = "LIST", .set = set_hosts, .commands = FOR_NODES,
      .flags = OPTION_RARE_IN_RUN, .help = "list of hosts: te1:4,node[01-16]:8 (or -H LIST)" },
    { .name = "host-discovery-script", .arg = "FILE", .set = set_discovery_script,
      FIELD(discovery_script), .commands = FOR(RUN), RARE,
      .help = "program that prints the hosts, run every second" },
    { .name = "group", .letter = 'g', .arg = "NAMES", .set = set_groups, FIELD(groups),
      .commands = FOR_NODES, .flags = OPTION_ARGV_ONLY | OPTION_RARE,
      .help = "hosts of a group of genders, ClusterShell or dsh" },
    { .name = "all-hosts", FLAG(all_hosts), .commands = FOR_NODES,
      .flags = OPTION_ARGV_ONLY | OPTION_RARE, .help = "the hosts of all groups (or -a)" },
    { .name = "exclude-group", .letter = 'X', .arg = "NAMES", .set = set_groups,
      FIELD(exclude_groups), .commands = FOR_NODES, .flags = OPTION_ARGV_ONLY | OPTION_RARE,
      .help = "all but the hosts of these groups" },
    { .name = "include", .letter = 'i', .arg = "FILTER", TEXT(include),
      .letter_set = set_include_letter, .commands = FOR_NODES | FOR_ROLE, DEEPSPEED,
      .help = "only these hosts and slots: te1@te2:0,2" },
    { .name = "exclude", .letter = 'e', .arg = "FILTER", TEXT(exclude),
      .commands = (FOR_NODES & ~(FOR(BCAST) | FOR(COLLECT))) | FOR_ROLE, DEEPSPEED,
      .help = "all but these hosts and slots" },
    { .name = "exclude-host", .arg = "FILTER", TEXT(exclude),
      .commands = FOR(BCAST) | FOR(COLLECT), .flags = OPTION_ARGV_ONLY,
      .help = "all but these hosts" },
    { .name = "num_nodes", .arg = "N", .initial = "-1", INTEGER(num_nodes, -1, OPTION_NUMBER_MAX),
      .commands = FOR_NODES, DEEPSPEED, .help = "only the first N hosts" },
    { .name = "nnodes", .arg = "MIN[:MAX]", .set = set_node_range, FIELD(num_nodes), .min = 1,
      .max = OPTION_NUMBER_MAX, .commands = FOR_NODES, RARE,
      .help = "run on MIN to MAX hosts, like torchrun" },
    { .name = "spares", .arg = "N", INTEGER(members.spares, 0, OPTION_NUMBER_MAX),
      .commands = FOR(RUN), RARE, .help = "N more hosts wait to take a lost node's place" },
    { .name = "min-np", .arg = "N", INTEGER(members.min_ranks, 1, OPTION_NUMBER_MAX),
      .commands = FOR(RUN), RARE, .help = "run on at least N ranks" },
    { .name = "max-np", .arg = "N", INTEGER(members.max_ranks, 1, OPTION_NUMBER_MAX),
      .commands = FOR(RUN), RARE, .help = "... and at most N" },
    { .name = "horovod", FLAG(horovod), .commands = FOR(RUN) | FOR_ROLE, RARE,
      .help = "let hvd.init() find the other ranks" },
    { .name = "worlds", .arg = "LIST", .set = set_worlds, FIELD(members.worlds),
      .commands = FOR(RUN), RARE, .help = "only these numbers of ranks: 16,12,8" },
    { .name = "elastic_training", FLAG(members.is_elastic), .commands = FOR(RUN), DEEPSPEED_RARE,
      .help = "like --recovery=elastic" },
    { .name = "min_elastic_nodes", .arg = "N", INTEGER(members.min_nodes, -1, OPTION_NUMBER_MAX),
      .commands = FOR(RUN), DEEPSPEED_RARE, .help = "like --nnodes N:..." },
    { .name = "max_elastic_nodes", .arg = "N", INTEGER(members.max_nodes, -1, OPTION_NUMBER_MAX),
      .commands = FOR(RUN), DEEPSPEED_RARE, .help = "like --nnodes ...:N" },
    { .name = "num_gpus", .arg = "N", .initial = "-1", INTEGER(num_gpus, -1, OPTION_NUMBER_MAX),
      .commands = FOR_WORLD, DEEPSPEED,
      .help = "slots 0 to N-1 per host (or --num_accelerators)" },
    { .name = "num_accelerators", .arg = "N", INTEGER(num_gpus, -1, OPTION_NUMBER_MAX),
      .commands = FOR_WORLD, DEEPSPEED },
    { .name = "np", .arg = "N", INTEGER(num_ranks, 1, OPTION_NUMBER_MAX), .commands = FOR_WORLD,
      .help = "start N ranks, on the first N slots (or -np N)" },
    { .name = "per-node", FLAG(per_node), .commands = FOR(RUN) | FOR_ROLE,
      .help = "one rank per node, for torchrun, accelerate or JAX" },
    { .name = "no_ssh", FLAG(no_ssh), .commands = FOR_WORLD, DEEPSPEED_RARE,
      .help = "start only the ranks of --node_rank, here" },
    { .name = "node_rank", .arg = "N", .initial = "-1", INTEGER(node_rank, -1, OPTION_NUMBER_MAX),
      .commands = FOR_WORLD, DEEPSPEED_RARE,
      .help = "number of this machine, with --no_ssh" },

    { .group = "Connections", .name = "force_multi", FLAG(force_multi), .commands = FOR_NODES,
      DEEPSPEED_RARE, .help = "use SSH even for this machine" },
    { .name = "ssh_port", .arg = "PORT", INTEGER(ssh_port, 1, 65535), .commands = FOR_NODES,
      DEEPSPEED_RARE, .help = "SSH port, instead of the one in ssh_config" },
    { .name = "ssh_user", .arg = "NAME", TEXT(ssh_user), .commands = FOR_NODES, RARE,
      .help = "login, instead of the one in ssh_config" },
    { .name = "ssh-config", .arg = "FILE", TEXT(ssh_config), .commands = FOR_NODES, RARE,
      .help = "read FILE instead of ~/.ssh/config" },
    { .name = "sudo", FLAG(sudo), .commands = FOR_ROOT, .flags = OPTION_ARGV_ONLY | OPTION_RARE,
      .help = "as root on each node, by sudo" },
    { .name = "sudo-password-fd", .arg = "N", .initial = "-1", INTEGER(sudo_password_fd, -1, 1023),
      .commands = FOR_ROOT, .flags = OPTION_ARGV_ONLY | OPTION_RARE,
      .help = "read sudo's password from descriptor N" },
    { .name = "connect-timeout", .arg = "TIME", .initial = "10",
      SECONDS(connect_timeout_s, 0.1, 3600), .commands = FOR_NODES, RARE,
      .help = "limit for each step of a connection" },
    { .name = "fanout", .arg = "N", .initial = "64", INTEGER(fanout, 1, FANOUT_MAX),
      .commands = FOR_NODES, RARE,
      .help = "maximum concurrent SSH handshakes" },
    { .name = "transport", .arg = "KIND", .initial = "auto", .set = set_word,
      FIELD(transport), .words = transport_words, .commands = FOR_NODES, RARE,
      .help = "auto, ssh, openssh, or exec: no SSH" },
    { .name = "agent", .arg = "FILE", TEXT(agent), .commands = FOR_NODES, RARE,
      .help = "send this muster-agent, not the installed one" },
    { .name = "no_ssh_check", FLAG(no_ssh_check), .commands = FOR_NODES, DEEPSPEED_RARE,
      .help = "accepted: muster checks by connecting" },
    { .name = "launcher", .arg = "pdsh|ssh|muster", .set = set_launcher, .commands = FOR_NODES,
      DEEPSPEED_RARE, .help = "accepted: all mean muster's SSH client" },
    { .name = "launcher_args", .arg = "WORDS", .set = set_launcher_args, .commands = FOR_NODES,
      DEEPSPEED_RARE, .help = "pdsh's -f N, -t SECONDS and -p PORT" },

    { .group = "What to start", .name = "module", FLAG(module),
      .commands = FOR(RUN) | FOR(DOCTOR) | FOR_ROLE,
      .flags = OPTION_DEEPSPEED | OPTION_RARE_IN_RUN,
      .help = "SCRIPT is a Python module, like python -m" },
    { .name = "no_python", FLAG(no_python),
      .commands = FOR(RUN) | FOR(DOCTOR) | FOR_ROLE, DEEPSPEED_RARE,
      .help = "run SCRIPT itself, even if it is a *.py file" },
    { .name = "no_local_rank", FLAG(no_local_rank),
      .commands = FOR(RUN) | FOR_ROLE, DEEPSPEED_RARE,
      .help = "do not pass --local_rank=N to SCRIPT" },
    { .name = "python", .arg = "FILE", TEXT(python),
      .commands = FOR(RUN) | FOR(CHECK) | FOR(DOCTOR) | FOR_ROLE, RARE,
      .help = "Python interpreter for SCRIPT" },
    { .name = "venv_script", .arg = "FILE", TEXT(venv_script), .commands = FOR_RANKS | FOR_ROLE,
      DEEPSPEED_RARE, .help = "file on each node that bash sources first" },
    { .name = "cwd", .arg = "DIR", TEXT(cwd), .commands = FOR_RANKS | FOR(DOCTOR) | FOR_ROLE,
      RARE, .help = "directory to start in" },
    { .name = "env", .arg = "NAME[=VALUE]", .set = set_env,
      .commands = FOR_RANKS | FOR(DOCTOR) | FOR_ROLE,
      .help = "set this variable; may be repeated" },
    { .name = "env-file", .arg = "FILE", .set = set_env_file,
      .commands = FOR_RANKS | FOR_ROLE, RARE,
      .help = "set variables from NAME=VALUE lines" },
    { .name = "accelerate", .arg = "FILE", .set = set_accelerate_config,
      .commands = FOR(RUN), .flags = OPTION_ARGV_ONLY | OPTION_RARE,
      .help = "read FILE as accelerate launch --config_file does" },
    { .name = "push", .arg = "PATH", .set = set_push, .commands = FOR(RUN) | FOR(EXEC),
      .flags = OPTION_ARGV_ONLY | OPTION_RARE,
      .help = "copy PATH to the nodes first, as muster bcast does; may be repeated" },
    { .name = "push-exclude", .arg = "PATTERN", .set = set_exclude_path,
      .commands = FOR(RUN) | FOR(EXEC), .flags = OPTION_ARGV_ONLY | OPTION_RARE,
      .help = "push no path like .git, *.pyc, /data or cache/; may be repeated" },
    { .name = "stdin", .arg = "RANK|all|none", .initial = "auto", .set = set_input_to,
      FIELD(input_to), .max = OPTION_NUMBER_MAX, .commands = FOR(RUN) | FOR(EXEC),
      .flags = OPTION_ARGV_ONLY | OPTION_RARE, .help = "who gets standard input" },
    { .name = "pty", FLAG(pty), .commands = FOR(RUN) | FOR(EXEC),
      .flags = OPTION_ARGV_ONLY | OPTION_RARE,
      .help = "that rank gets a terminal, as with ssh -t" },
    { .name = "role", .arg = "NAME:N", .set = set_role, FIELD(role_name),
      .commands = FOR(RUN) | FOR_ROLE, .flags = OPTION_ARGV_ONLY | OPTION_RARE,
      .help = "N ranks that are a world of their own; see muster-roles(7)" },
    { .name = "service", FLAG(service), .commands = FOR(RUN) | FOR_ROLE,
      .flags = OPTION_ARGV_ONLY | OPTION_RARE,
      .help = "this role ends once all others have ended" },
    { .name = "roles", .arg = "FILE", TEXT(roles_file), .commands = FOR(RUN),
      .flags = OPTION_ARGV_ONLY | OPTION_RARE, .help = "roles, one per line" },
    { .name = "allow-open-mpi", FLAG(allow_open_mpi), .commands = FOR_WORLD, RARE,
      .help = "start Open MPI programs; each rank runs alone" },
    { .name = "name", .arg = "NAME", .set = set_name, FIELD(name), .commands = FOR_WORLD,
      .flags = OPTION_ARGV_ONLY | OPTION_RARE,
      .help = "name the run; refuse a second run with that name" },
    { .name = "replace", FLAG(replace), .commands = FOR_WORLD,
      .flags = OPTION_ARGV_ONLY | OPTION_RARE,
      .help = "with --name: first stop the run of that name" },
    { .name = "detach", FLAG(detach), .commands = FOR_WORLD, .flags = OPTION_ARGV_ONLY,
      .help = "return once every rank has started; see attach" },

    { .group = "Ranks, GPUs, cores", .name = "master_addr", .arg = "ADDR",
      .set = set_master_addr, FIELD(master_addr),
      .commands = FOR_WORLD | FOR_ROLE, DEEPSPEED_RARE,
      .help = "address of node 0 that the ranks connect to" },
    { .name = "master_port", .arg = "PORT", INTEGER(master_port, 0, 65535),
      .commands = FOR_WORLD | FOR(DOCTOR) | FOR_ROLE, DEEPSPEED_RARE,
      .help = "its port, instead of 29500 or a free one" },
    { .name = "pmix", FLAG(pmix), .commands = FOR(RUN) | FOR_ROLE, RARE,
      .help = "start PMIx servers, for programs of Open MPI" },
    { .name = "one-gpu-per-rank", FLAG(one_gpu_per_rank),
      .commands = FOR_WORLD | FOR_ROLE, RARE,
      .help = "CUDA_VISIBLE_DEVICES has only the rank's own GPU" },
    { .name = "bind_cores_to_rank", FLAG(bind_cores), .commands = FOR_WORLD, DEEPSPEED_RARE,
      .help = "divide the cores of a node among its ranks" },
    { .name = "bind_core_list", .arg = "RANGES", .set = set_ranges, FIELD(bind_core_list),
      .commands = FOR_WORLD, DEEPSPEED_RARE, .help = "only these cores: 0,2-4" },
    { .name = "require-idle-gpus", FLAG(require_idle_gpus), .commands = FOR_WORLD, RARE,
      .help = "refuse nodes whose GPUs are in use" },
    { .name = "local-rank-by", .arg = "modulo|index", .initial = "modulo", .set = set_word,
      FIELD(local_rank_by), .words = local_rank_words, .commands = FOR_WORLD, RARE,
      .help = "how LOCAL_RANK is counted" },

    { .group = "Output", .name = "fold", .letter = 'b', FLAG(fold),
      .commands = FOR(RUN) | FOR(EXEC), .flags = OPTION_RARE_IN_RUN,
      .help = "show identical output once, with all its ranks" },
    { .name = "largest-status", .letter = 'S', FLAG(largest_status), .commands = FOR(EXEC),
      .help = "exit with the largest status of all commands" },
    { .name = "label", .arg = "host|rank|none", .initial = "default", .set = set_word,
      FIELD(label), .words = label_words, .commands = FOR_RANKS, RARE,
      .help = "what each line begins with" },
    { .name = "timestamps", FLAG(timestamps), .commands = FOR_RANKS, RARE,
      .help = "put the time before each line" },
    { .name = "show-ranks", .arg = "RANGES", .set = set_ranges, FIELD(show_ranks),
      .commands = FOR_RANKS, RARE, .help = "print only the output of these ranks: 0,3-5" },
    { .name = "log-dir", .arg = "DIR", TEXT(log_dir), .commands = FOR_RANKS | FOR(DOCTOR),
      .help = "on each node, also write each rank's output to DIR" },
    { .name = "enable_each_rank_log", .arg = "DIR", .set = set_each_rank_log,
      FIELD(each_rank_log), .commands = FOR_RANKS, DEEPSPEED_RARE,
      .help = "write it only to DIR, print nothing" },
    { .name = "json", .arg = "FILE", TEXT(json), .commands = FOR_NODES | FOR(STATUS) | FOR(STACKS),
      .help = "write the result as JSON (- is standard output)" },
    { .name = "dry-run", FLAG(dry_run), .commands = FOR_NODES, .flags = OPTION_ARGV_ONLY,
      .help = "print the plan, connect to no node" },
    { .name = "flight-recorder", FLAG(flight_recorder), .commands = FOR(RUN), RARE,
      .help = "keep PyTorch's last collectives; show where ranks differ" },
    { .name = "on-event", .arg = "PROGRAM", TEXT(on_event), .commands = FOR(RUN), RARE,
      .help = "program that gets what happens to the run" },
    { .name = "metrics", .arg = "FILE", TEXT(metrics), .commands = FOR(RUN), RARE,
      .help = "keep figures of the run in FILE, for Prometheus" },
    { .name = "metrics-listen", .arg = "[ADDRESS:]PORT", .set = set_listen_place,
      FIELD(metrics_listen), .commands = FOR(RUN), RARE,
      .help = "serve them at this port, or this path of a socket" },
    { .name = "save_pid", FLAG(save_pid), .commands = FOR_RANKS, DEEPSPEED_RARE,
      .help = "keep the agent's PID in /tmp/PID.deepspeed" },
    { .name = "log_level", .arg = "LEVEL", .initial = "warning", .set = set_log_level,
      .commands = FOR_ANY, DEEPSPEED_RARE,
      .help = "debug, info, warning (default), error, critical" },
    { .name = "verbose", .letter = 'v', .set = set_verbose, .commands = FOR_ANY,
      .help = "the same as --log_level=info; -vv is debug" },
    { .name = "quiet", .letter = 'q', .set = set_quiet, .commands = FOR_ANY, DEEPSPEED_RARE,
      .help = "the same as --log_level=error" },

    { .group = "Containment", .name = "strict-containment", FLAG(strict_containment),
      .commands = FOR_WORLD, RARE,
      .help = "refuse nodes with neither PID namespace nor cgroup" },
    { .name = "no-pidns", FLAG(no_pidns), .commands = FOR_WORLD, RARE,
      .help = "start the ranks without a PID namespace" },

    { .name = "health-check", .arg = "PROGRAM", .set = set_health_check, FIELD(health_check),
      .commands = FOR(RUN), RARE, .help = "program on each node: 0 if it is fit for ranks" },

    { .group = "Timing", .name = "grace", .arg = "TIME", .initial = "30",
      SECONDS(grace_s, 0, 86400), .commands = FOR_RANKS | FOR(CLEAN), RARE,
      .help = "time between TERM and KILL" },
    { .name = "timeout", .arg = "TIME", SECONDS(timeout_s, 0, 1e9), .commands = FOR_RANKS,
      .help = "stop after TIME (90, 1.5m, 2h) and exit with 124" },
    { .name = "hang-timeout", .arg = "TIME|auto", .set = set_seconds_or_auto,
      FIELD(hang_timeout_s), .min = 0, .max = 86400, .commands = FOR_WORLD,
      .help = "stop if no rank does anything, or no step" },
    { .name = "progress", .arg = "REGEX", .set = set_progress, FIELD(progress),
      .commands = FOR(RUN), RARE, .help = "lines of output that name a step of the training" },
    { .name = "stack-signal", .arg = "SIGNAL|none", .initial = "none", .set = set_stack_signal,
      FIELD(stack_signal), .commands = FOR(RUN), RARE,
      .help = "lets Python show its stacks (faulthandler.register)" },
    { .name = "max-restarts", .arg = "N", INTEGER(max_restarts, 0, OPTION_NUMBER_MAX),
      .commands = FOR(RUN), .help = "if a rank fails, restart all, at most N times" },
    { .name = "max-no-progress", .arg = "N", .initial = "3",
      INTEGER(max_no_progress, 0, OPTION_NUMBER_MAX), .commands = FOR(RUN), RARE,
      .help = "end after N failures without a new step; 0: never" },
    { .name = "restart", .arg = "run|role", .initial = "run", .set = set_word, FIELD(restart),
      .words = restart_words, .commands = FOR(RUN), .flags = OPTION_ARGV_ONLY | OPTION_RARE,
      .help = "if a rank fails, restart all roles, or its own" },
    { .name = "restart-delay", .arg = "TIME|auto", .initial = "auto", .set = set_seconds_or_auto,
      FIELD(restart_delay_s), .min = 0, .max = 86400, .commands = FOR(RUN), RARE,
      .help = "wait before each restart" },
    { .name = "restart-on", .arg = "CODES", .set = set_restart_on, FIELD(restart_on),
      .commands = FOR(RUN), RARE, .help = "restart only for these: killed,1,200-210" },
    { .name = "leave-out", .arg = "evidence|N|never", .initial = "evidence",
      .set = set_leave_out, FIELD(leave_out), .commands = FOR(RUN), RARE,
      .help = "which nodes later generations do without" },
    { .name = "exclude-suspects", FLAG(exclude_suspects), .commands = FOR(RUN), RARE,
      .help = "use no host that an earlier run has left out" },
    { .name = "recovery", .arg = "auto|full|elastic", .initial = "auto", .set = set_word,
      FIELD(members.recovery), .words = recovery_words, .commands = FOR(RUN), RARE,
      .help = "after a loss: wait for a node, or continue without" },
    { .name = "max-wait", .arg = "TIME|auto", .initial = "auto", .set = set_seconds_or_auto,
      FIELD(members.max_wait_s), .min = 0, .max = 1e9, .commands = FOR(RUN), RARE,
      .help = "wait this long for nodes, then exit with 75" },
    { .name = "grow-interval", .arg = "TIME", .initial = "600",
      SECONDS(members.grow_s, 0, 1e9), .commands = FOR(RUN), RARE,
      .help = "minimum time between changes before a world grows" },
    { .name = "allow-batch-change", FLAG(members.allow_batch_change), .commands = FOR(RUN), RARE,
      .help = "allow worlds that cannot keep ds_config's batch" },
    { .name = "spot", .arg = "auto|off|CLOUD|URL", .initial = "auto", .set = set_spot, FIELD(spot),
      .commands = FOR(RUN), RARE, .help = "cloud that a node asks if it will be reclaimed" },
    { .name = "notice-signal", .arg = "SIGNAL|none", .initial = "USR1", .set = set_signal,
      FIELD(notice_signal), .commands = FOR(RUN), RARE,
      .help = "sent to ranks that catch it if a node will leave" },
    { .name = "ckpt-marker", .arg = "GLOB", TEXT(ckpt_marker), .commands = FOR(RUN),
      RARE, .help = "a new file of this name: a checkpoint is complete" },
    { .name = "shards-resume", .arg = "RUN", TEXT(shards_resume), .commands = FOR(RUN),
      .flags = OPTION_ARGV_ONLY | OPTION_RARE,
      .help = "read the shards that RUN has not read" },
    { .name = "heartbeat", .arg = "TIME", .initial = "2", SECONDS(heartbeat_s, 0.05, 600),
      .commands = FOR_NODES, RARE, .help = "time between heartbeats" },
    { .name = "dead-after", .arg = "TIME", .initial = "15", SECONDS(dead_after_s, 0.1, 3600),
      .commands = FOR_NODES, RARE, .help = "declare a silent node lost after TIME" },
    { .name = "reconnect", .arg = "TIME|auto", .initial = "auto", .set = set_seconds_or_auto,
      FIELD(reconnect_s), .min = 0, .max = 3600, .commands = FOR_NODES, RARE,
      .help = "how long a disconnected node waits" },
    { .group = "General", .name = "config", .arg = "FILE", .set = set_nothing,
      .commands = FOR_ANY, .flags = OPTION_ARGV_ONLY | OPTION_RARE,
      .help = "read FILE after the other settings files" },
    { .name = "help", .letter = 'h', .set = set_nothing, .commands = FOR_ANY,
      .flags = OPTION_ARGV_ONLY | OPTION_DEEPSPEED | OPTION_RARE, .help = "print this help" },
    { .name = "version", .set = set_nothing, .commands = FOR_ANY,
      .flags = OPTION_ARGV_ONLY | OPTION_RARE,
      .help = "print the versions of muster and its libraries" },
    { .name = "list-options", .set = set_nothing, .commands = FOR_ANY,
      .flags = OPTION_ARGV_ONLY | OPTION_HIDDEN },

    { .name = "autotuning", .arg = "tune|run", NO,
      .help = "this is a separate program of DeepSpeed; run it with deepspeed" },
};

const size_t option_rows = sizeof option_table / sizeof option_table[0];

static const struct option_row *find_prefix(const char *name, size_t length,
                                            unsigned flags);
static void   list_candidates(const char *name, size_t length, char *text, size_t size);
static bool   has_prefix(const char *name, const char *prefix, size_t length);
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

/* Returns the only row with this prefix among those that have flags, or NULL. */
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
    const struct other_option *other = other_launchers_find(name, length, COMMANDS);
    const char                *nearest = NULL;
    size_t                     i, distance, least = SIZE_MAX;

    text[0] = '\0';
    if (other != NULL && other->same != NULL) {
        snprintf(text, size, ": write %s", other->same);
        return;
    }
    if (other != NULL) {
        snprintf(text, size, ": it is %s", other->instead);
        return;
    }
    for (i = 0; i < option_rows; i++) {
        if (option_table[i].flags & OPTION_HIDDEN)
            continue;
        distance = nearby(name, length, option_table[i].name);
        if (distance < least) {
            least = distance;
            nearest = option_table[i].name;
        }
    }
    if (nearest != NULL)
        snprintf(text, size, " (did you mean --%s?)", nearest);
}

static char fold_char(char c)
{
    return c == '_' ? '-' : c;
}

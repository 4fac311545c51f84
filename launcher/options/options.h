/* options.h - every setting of muster, from one table
 *
 * Defaults < /etc/muster/muster.conf < ~/.config/muster/muster.conf < --config < environment
 * MUSTER_NAME < argv. The table in option_table.c drives the parser, the conf reader (conf.c),
 * --help and the test that compares them with the manual page.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_OPTIONS_H
#define MUSTER_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "err.h"
#include "log.h"
#include "options/command.h"
#include "strlist.h"

enum label { LABEL_DEFAULT, LABEL_HOST, LABEL_RANK, LABEL_NONE };
/* LOCAL_RANK is RANK % local size, as in DeepSpeed, or 0, 1, 2 ... Both give the same numbers
 * if all nodes have equally many ranks. */
/* What muster bcast and collect do with symbolic links. */
enum copied_links { LINKS_AUTO, LINKS_COPY, LINKS_FOLLOW, LINKS_SKIP };
enum local_rank_by { LOCAL_RANK_MODULO, LOCAL_RANK_INDEX };
enum transport { TRANSPORT_AUTO, TRANSPORT_SSH, TRANSPORT_OPENSSH, TRANSPORT_EXEC };
/* A disk restored from a snapshot: each node reads all of its own, or each reads a part for
 * all. */
enum warm_how { WARM_EACH, WARM_SWARM };

#define OPTION_AUTO (-1.0) /* a time that muster chooses */

/* Who gets muster's standard input, if not one rank. */
enum input_to { INPUT_TO_NONE = -1, INPUT_TO_ALL = -2, INPUT_TO_AUTO = -3 };

/* Which nodes may take part in a run that continues, and what it does when it loses a node. */
enum recovery { RECOVERY_AUTO, RECOVERY_FULL, RECOVERY_ELASTIC };
/* What starts again after a rank has failed. */
enum restart { RESTART_RUN, RESTART_ROLE };

struct options_members {
    int           spares;               /* hosts outside the world that wait connected */
    int           min_nodes, max_nodes; /* --nnodes MIN:MAX; 0: not given */
    int           min_ranks, max_ranks; /* 0: not given */
    int           start_ranks; /* -np of an elastic run: it starts with at least that many */
    char         *worlds;               /* NULL: any size */
    bool          is_elastic;           /* --elastic_training */
    enum recovery recovery;
    double        max_wait_s;  /* OPTION_AUTO: not given */
    double        grow_s;
    bool          allow_batch_change;
};

struct options {
    enum command command;
    enum command topic; /* the subcommand that help is about; COMMAND_HELP: none */

    /* which machines */
    char *hostfile;       /* default: /job/hostfile */
    bool  hostfile_given;
    char *discovery_script; /* NULL: none; otherwise no hostfile and no hosts are given */
    char *hosts;          /* -H te1:4,te2:4 */
    bool  hosts_added;    /* hosts comes from -w; another -w adds to it */
    bool  hosts_guessed;  /* -H NAME: NAME is no file, so perhaps a host */
    char *groups;         /* -g gpu,rack=1: only hosts of these; NULL: not given */
    char *exclude_groups; /* -X; options_parse() adds them to exclude */
    bool  all_hosts;      /* -a: those of all groups, unless hosts or a hostfile are given */
    char *include, *exclude;
    int   num_nodes, num_gpus; /* -1: not given */
    int   num_ranks;           /* 0: not given */
    int   processes;           /* the same, but an equal share on each node; 0: not given */
    bool  force_multi;
    bool  no_ssh;         /* start only the ranks of node_rank, on this machine */
    int   node_rank;      /* -1: not given */

    /* how to reach them */
    enum transport transport;
    int    ssh_port;      /* 0: ssh config decides */
    char  *ssh_user;      /* NULL: ssh config decides */
    char  *ssh_config;    /* NULL: ~/.ssh/config and the system's */
    bool   no_ssh_check;  /* accepted: muster checks by connecting */
    double connect_timeout_s;
    int    fanout;
    bool   sudo;          /* the agents are root, by sudo */
    int    sudo_password_fd; /* -1: not given */
    char  *agent;         /* NULL: the installed muster-agent */
    struct strlist host_words; /* of the command line: those that choose and reach hosts, for
                                  another command of muster (saved_options.h) */

    /* what runs */
    bool  module, no_python, no_local_rank;
    char *python;         /* NULL: muster finds it, see program.h */
    char *cwd;            /* NULL: this directory (run), the login directory (exec) */
    char *venv_script;
    struct strlist env;   /* --env NAME[=VALUE], in order */
    struct strlist env_files;
    struct strlist push;  /* paths to copy to the nodes first */
    bool  beside_agent;   /* bcast: into the agent's directory; set by push.c */
    const char *as;       /* bcast: the name of the copy; NULL: that of the path; set by push.c */
    char *script;         /* first positional word; check: NULL */
    struct strlist args;  /* all words after the script; check: options of muster-train check;
                             bcast, collect: paths; bootstrap: conf; with roles: all their words */

    /* several worlds in one run (roles.h) */
    bool            has_roles;
    char           *roles_file;
    struct options *role;  /* what each of them is, from these options and its own; NULL: none */
    size_t          roles;
    char           *role_name; /* these options are those of a role; NULL: of a run */
    int             role_ranks; /* 0: what is left */
    bool            service;    /* the role runs as long as others do */

    bool  check_quick, check_full; /* check, doctor; muster-train check receives these and html */
    char *check_json;

    /* ranks, devices, cores */
    char *master_addr;    /* NULL: muster chooses a reachable one */
    int   master_port;    /* 0: 29500 or a free one */
    bool  one_gpu_per_rank;
    bool  fills_in; /* %h, %n and %u in the words of exec's command mean host, number and user */
    int   input_to; /* --stdin: a rank, or enum input_to; not INPUT_TO_AUTO once parsed */
    bool  pty;      /* that rank has a terminal */
    bool  per_node; /* one rank per node, which sees all GPUs of the run there */
    bool  require_idle_gpus;
    bool  bind_cores;
    char *bind_core_list; /* NULL: all */
    enum local_rank_by local_rank_by;

    /* output */
    enum label label;
    bool  timestamps;
    char *show_ranks;     /* NULL: all; "0,3-5" */
    char *log_dir;        /* per-rank files, in addition to the console */
    char *each_rank_log;  /* per-rank files instead of the console */
    bool  fold;           /* -b */
    bool  largest_status; /* exec -S */
    char *json;           /* NULL; "-": stdout */
    bool  dry_run;
    bool  flight_recorder;
    char *health_check;   /* program on each node that must find it healthy; NULL: none */
    char *on_event;       /* program that gets each event; NULL: none */
    char *metrics;        /* file with the figures of the run; NULL: none */
    char *html;    /* status, check: a page; NULL: none */
    char *metrics_listen; /* where they are served (listen_place.h); NULL: nowhere */

    /* how it ends */
    double grace_s, timeout_s /* 0: none */, heartbeat_s, dead_after_s;
    double hang_timeout_s; /* 0: none; OPTION_AUTO: learnt from the steps */
    char  *progress;       /* matches the lines that name a step; NULL: known forms do */
    int    max_restarts;
    int    max_no_progress; /* 0: no limit */
    enum restart restart;
    double restart_delay_s; /* OPTION_AUTO: longer after each restart */
    char  *restart_on;      /* NULL: the table of elastic/exit_class.c */
    struct options_members members;
    int    leave_out;     /* elastic/leave_out.h */
    bool   exclude_suspects;
    struct strlist suspects; /* with exclude_suspects: the hosts that get no rank; main.c */
    int    stack_signal;  /* lets Python show its stacks (faulthandler.register()); 0: none */
    int    notice_signal; /* sent to ranks that catch it when a node will leave; 0: none */
    char  *spot;          /* metadata service to ask whether a node will leave; never NULL */
    char  *ckpt_marker;   /* NULL: the one of muster-train, for other scripts none */
    double reconnect_s; /* 0: a broken connection ends the run; OPTION_AUTO: see --reconnect */
    bool   allow_open_mpi;
    bool   pmix;    /* start muster-pmix, also if the program does not show that it needs it */
    bool   horovod; /* serve hvd.init(), also if the script does not show that it calls it */
    bool   save_pid, strict_containment, no_pidns;
    bool   detach;

    bool  kill; /* clean */
    bool  forget_suspects; /* clean */
    char *kill_gpu; /* clean: whose processes on GPUs to end (kill_gpu.h); NULL: none */
    char *name; /* name of the run; NULL: none */
    bool  replace; /* first stop the run that has this name */
    char *shards_resume; /* the run whose remaining shards this run reads; NULL: none */
    char *run;  /* clean, attach, status, stop, resume; NULL: each has its own default */

    /* for muster resume, saved in the run's directory */
    struct strlist given;   /* these options as words; see saved_options.h */
    char          *resumed; /* the id of the run that continues; NULL: a new run */
    int            first_generation; /* of the run that continues */
    struct json_t *last_world;       /* its previous world (run/run_status.h); NULL: unknown */

    int   tail; /* attach; -1: all */
    bool  cost; /* status */
    int   kill_signal; /* kill; 0: not given */
    double within_s; /* drain, scale */
    int    nodes;    /* scale; 0: not given */

    /* bcast, collect, --push */
    char             *to; /* NULL: the same path as here */
    enum copied_links links;
    struct strlist    exclude_paths; /* patterns (copy/path_pattern.h) */
    bool              gitignore;

    /* bootstrap */
    bool  plan_only, apply, undo, record; /* if none is set: plan */
    char *only, *skip; /* steps, separated by commas; NULL: not given */
    char *names;       /* te[1-4]; NULL: the names in the hostfile */
    bool  trust_first, mesh;
    enum warm_how warm;
    int   password_fd; /* -1: ask for a password on the terminal */

    enum log_level log_level;
};

enum options_result {
    OPTIONS_RUN,
    OPTIONS_HELP,    /* options_help(topic, stdout), exit 0 */
    OPTIONS_MANUAL,  /* command_help(topic) */
    OPTIONS_VERSION, /* options_version(stdout) */
    OPTIONS_LIST,    /* options_list(stdout) */
};

/* Fills options from defaults, conf files, environ and argv. Returns an options_result, or -1
 * with the reason in err. *exit_code is then 2, or 65 if a conf file is wrong. Call
 * options_clear() in both cases. */
int options_parse(struct options *options, int argc, char **argv, int *exit_code,
                  struct error *err);
/* Frees all strings. */
void options_clear(struct options *options);

/* Does the user say which hosts, other than by the default hostfile? */
bool options_name_hosts(const struct options *options);

/* Does the run continue when it loses a node? The number of nodes may change. */
bool options_go_on(const struct options *options);
/* May new hosts join the run? */
bool options_take_nodes(const struct options *options);
bool options_are_elastic(const struct options *options);
/* Returns how long the run waits for missing nodes. */
double options_max_wait_s(const struct options *options);

/* Sets one option by its full long name, as in muster.conf. An error begins with where
 * ("muster.conf:3"). */
int options_set(struct options *options, const char *name, const char *value,
                const char *where, struct error *err);

/* Prints the synopsis of a subcommand and its options, within 80 columns and 40 lines.
 * COMMAND_HELP: prints all subcommands and the usual options of a run. */
void options_help(enum command topic, FILE *out);
void options_version(FILE *out); /* with library versions and build options */

/* Prints all rows, for completion and the manual's test. Each line is "name letter arg default
 * subcommands", with "-" for an empty field and commas between subcommands. Refused options
 * have no subcommands. */
void options_list(FILE *out);

#endif

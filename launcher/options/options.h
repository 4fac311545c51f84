/* options.h - every setting of muster, from one table
 *
 * Defaults < /etc/muster/muster.conf < ~/.config/muster/muster.conf < --config
 * < environment MUSTER_NAME < argv. The table in option_table.c drives the parser,
 * the conf reader (conf.c), --help and the test that compares the manual page.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_OPTIONS_H
#define MUSTER_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "err.h"
#include "log.h"
#include "strlist.h"

enum command {
    COMMAND_RUN,   /* muster [run] [options] script [args]: one rank per slot */
    COMMAND_EXEC,  /* muster exec [options] -- command: one rank per node, independent */
    COMMAND_CHECK, /* muster check [options] [args of muster-train check] */
    COMMAND_CLEAN, /* muster clean [options]: what earlier runs left on the nodes */
    COMMAND_BCAST, /* muster bcast [options] path...: files to all nodes */
    COMMAND_COLLECT, /* muster collect [options] path...: files of all nodes to this machine */
    COMMAND_BOOTSTRAP, /* muster bootstrap [options] [conf]: fresh machines become nodes */
    COMMAND_DOCTOR, /* muster doctor [options] [script [args]]: what is wrong with the nodes */
    /* These look up a run in this machine's history; they start nothing. */
    COMMAND_ATTACH, /* muster attach [options] [run]: its output */
    COMMAND_STATUS, /* muster status [options] [run] */
    COMMAND_STOP,   /* muster stop [options] [run] */
    COMMAND_DRAIN,  /* muster drain [options] run host...: these nodes are to go */
    COMMAND_SCALE,  /* muster scale [options] run --nodes N: with another number of nodes */
    COMMAND_RESUME, /* muster resume run: start it again, where its launcher has ended */
    COMMAND_HELP,   /* muster help [subcommand] */
};
#define COMMANDS (COMMAND_HELP + 1)

extern const char *const command_names[COMMANDS];

/* Takes a run of the history as its argument? */
static inline bool command_takes_run(enum command command)
{
    return command == COMMAND_ATTACH || command == COMMAND_STATUS || command == COMMAND_STOP ||
           command == COMMAND_DRAIN || command == COMMAND_SCALE || command == COMMAND_RESUME;
}

enum label { LABEL_DEFAULT, LABEL_HOST, LABEL_RANK, LABEL_NONE };
/* RANK % local size as DeepSpeed (the same on even nodes), or 0, 1, 2 ... */
enum local_rank_by { LOCAL_RANK_MODULO, LOCAL_RANK_INDEX };
enum transport { TRANSPORT_AUTO, TRANSPORT_SSH, TRANSPORT_OPENSSH, TRANSPORT_EXEC };
/* A restored disk: each node reads its own, or all of them a part each. */
enum warm_how { WARM_EACH, WARM_SWARM };

/* Works on the nodes without starting ranks? See node/node_job.h. */
static inline bool command_is_node_job(enum command command)
{
    return command == COMMAND_CLEAN || command == COMMAND_BCAST || command == COMMAND_COLLECT ||
           command == COMMAND_BOOTSTRAP || command == COMMAND_DOCTOR;
}

#define OPTION_AUTO (-1.0) /* of a time: muster chooses it */

/* Who may take part in a run that goes on, and what a lost node means for it. */
enum recovery { RECOVERY_AUTO, RECOVERY_FULL, RECOVERY_ELASTIC };

struct options_members {
    int           spares;               /* hosts beyond the world that wait connected */
    int           min_nodes, max_nodes; /* --nnodes MIN:MAX; 0: not given */
    int           min_ranks, max_ranks; /* 0: not given */
    char         *worlds;               /* NULL: any size */
    bool          is_elastic;           /* --elastic_training */
    enum recovery recovery;
    double        max_wait_s;  /* OPTION_AUTO: not given */
    double        grow_s;
    bool          allow_batch_change;
};

struct options {
    enum command command;
    enum command topic; /* of help: the subcommand that argv names; COMMAND_HELP: none */

    /* which machines */
    char *hostfile;       /* default /job/hostfile */
    bool  hostfile_given;
    char *discovery_script; /* NULL: none; else neither a hostfile nor hosts are given */
    char *hosts;          /* -H te1:4,te2:4 */
    bool  hosts_added;    /* by -w, so that the next -w adds more */
    bool  hosts_guessed;  /* -H NAME: no file, so perhaps a host */
    char *include, *exclude;
    int   num_nodes, num_gpus; /* -1: not given */
    int   num_ranks;           /* 0: not given */
    bool  force_multi;
    bool  no_ssh;         /* with node_rank: only this node's part, started here */
    int   node_rank;      /* -1: not given */

    /* how to reach them */
    enum transport transport;
    int    ssh_port;      /* 0: ssh config decides */
    char  *ssh_user;      /* NULL: ssh config decides */
    char  *ssh_config;    /* NULL: ~/.ssh/config and the system's */
    bool   no_ssh_check;  /* accepted: muster checks by connecting */
    double connect_timeout_s;
    int    fanout;
    char  *agent;         /* NULL: the installed muster-agent */

    /* what runs */
    bool  module, no_python, no_local_rank;
    char *python;         /* NULL: found, see program.h */
    char *cwd;            /* NULL: this directory (run), the login's (exec) */
    char *venv_script;
    struct strlist env;   /* --env NAME[=VALUE], in order */
    struct strlist env_files;
    struct strlist push;  /* paths that the nodes get first */
    char *script;         /* first positional word; check: NULL */
    struct strlist args;  /* everything after it; check: for muster-train check; bcast,
                              collect: paths; bootstrap: conf */

    bool  check_quick, check_full; /* check, doctor; these four are for muster-train check */
    char *check_html, *check_json;

    /* ranks, devices, cores */
    char *master_addr;    /* NULL: chosen by reachability */
    int   master_port;    /* 0: 29500 or a free one */
    bool  one_gpu_per_rank;
    bool  require_idle_gpus;
    bool  bind_cores;
    char *bind_core_list; /* NULL: all */
    enum local_rank_by local_rank_by;

    /* output */
    enum label label;
    bool  timestamps;
    char *show_ranks;     /* NULL: all; "0,3-5" */
    char *log_dir;        /* per-rank files, besides the console */
    char *each_rank_log;  /* per-rank files instead of the console */
    bool  fold;           /* exec -b */
    bool  largest_status; /* exec -S */
    char *json;           /* NULL; "-": stdout */
    bool  dry_run;

    /* how it ends */
    double grace_s, timeout_s /* 0: none */, hang_timeout_s /* 0 */, heartbeat_s, dead_after_s;
    int    max_restarts;
    double restart_delay_s; /* OPTION_AUTO: longer each time */
    char  *restart_on;      /* NULL: the table of elastic/exit_class.c */
    struct options_members members;
    int    notice_signal; /* to ranks that catch it, when a node is to go; 0: none */
    char  *spot;          /* whom the nodes ask whether they are to go; never NULL */
    char  *ckpt_marker;   /* NULL: muster-train's, else none */
    double reconnect_s; /* 0: a broken connection ends the run; OPTION_AUTO: see --reconnect */
    bool   allow_open_mpi;
    bool   save_pid, strict_containment, no_pidns;
    bool   detach;

    bool  kill; /* clean */
    char *name; /* of the run; NULL: none */
    bool  replace; /* the run that has it */
    char *shards_resume; /* a run whose shards this one goes on with; NULL: none */
    char *run;  /* clean, attach, status, stop, resume; NULL: each has its own default */

    /* For muster resume, kept in the directory of the run. */
    struct strlist given; /* these options as words; see given.h */
    char          *resumed; /* the id of the run that goes on; NULL: it is a new one */
    int            first_generation; /* of what goes on */
    struct json_t *last_world; /* the world that it had (run/world.h); NULL: not known */

    int   tail; /* attach; -1: all */
    bool  cost; /* status */
    double within_s; /* drain, scale */
    int    nodes;    /* scale; 0: not given */

    /* bcast */
    char *to; /* NULL: where they are here */

    /* bootstrap */
    bool  plan_only, apply, undo, record; /* none: plan */
    char *only, *skip; /* steps, separated by commas; NULL: not given */
    char *names;       /* te[1-4]; NULL: those of the hostfile */
    bool  trust_first, mesh;
    enum warm_how warm;
    int   password_fd; /* -1: a password is asked on the terminal */

    enum log_level log_level;
};

enum options_result {
    OPTIONS_RUN,
    OPTIONS_HELP,    /* options_help(topic, stdout), exit 0 */
    OPTIONS_MANUAL,  /* command_help(topic) */
    OPTIONS_VERSION, /* options_version(stdout) */
    OPTIONS_LIST,    /* options_list(stdout) */
};

/* Fill options from defaults, conf files, environ and argv. Returns an
 * options_result, or -1 with what is wrong in err (exit status 2, or
 * *exit_code = 65 when a conf file is). options_clear() either way. */
int options_parse(struct options *options, int argc, char **argv, int *exit_code,
                  struct error *err);
/* Free all strings. */
void options_clear(struct options *options);

/* The loss of a node does not end the run; the number of nodes may change. */
bool options_go_on(const struct options *options);
/* New hosts may take part, too. */
bool options_take_nodes(const struct options *options);
bool options_are_elastic(const struct options *options);
/* For nodes that are missing. */
double options_max_wait_s(const struct options *options);

/* Set one option by its whole long name, as conf does; where is put in front of
 * the error ("muster.conf:3"). */
int options_set(struct options *options, const char *name, const char *value,
                const char *where, struct error *err);

/* The synopsis of a subcommand and the options it takes, within 80 columns and 40 lines;
 * COMMAND_HELP: all subcommands, and the usual options of a run. */
void options_help(enum command topic, FILE *out);
void options_version(FILE *out); /* with libraries and what was built in */

/* All rows, for completion and the manual's test: "name letter arg default subcommands" on
 * each line, "-" for what a row does not have, subcommands separated by commas (refused options
 * have none). */
void options_list(FILE *out);

#endif

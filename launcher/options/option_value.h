/* option_value.h - from text to a field of struct options
 *
 * There is one function per kind of setting; the rows of option_table.c name them. All return
 * 0, or -1 with a reason. The caller puts the option's name before the reason.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_OPTION_VALUE_H
#define MUSTER_OPTION_VALUE_H

#include "options/option_table.h"

#define OPTION_NUMBER_MAX (1 << 20) /* for ranks, cores and nodes */

/* For a field of type bool, char *, int, double, enum, or char * of the form "0,2-4". */
option_setter set_flag, set_text, set_integer, set_seconds, set_word, set_ranges, set_progress,
    set_leave_out;
/* For a double that may also be "auto" (OPTION_AUTO). */
option_setter set_seconds_or_auto;

option_setter set_env, set_env_all, set_env_file; /* option_env.c; "-NAME": not passed on */
option_setter set_push, set_exclude_path, set_accelerate_config;
option_setter set_processes; /* of the row of np */
option_setter set_master_addr, set_launcher, set_launcher_args, set_each_rank_log;
option_setter set_log_level, set_verbose, set_quiet, set_name, set_run, set_restart_on;
option_setter set_node_range, set_worlds, set_input_to, set_health_check;
option_setter set_role; /* "NAME" or "NAME:N" */
option_setter set_spot;
option_setter set_kill_gpu; /* kill_gpu.c */
option_setter set_listen_place; /* listen_place.c */
/* int: the number of "USR1", "SIGUSR1" or "10"; 0 for "none", which set_kill_signal() refuses. */
option_setter set_signal, set_kill_signal;
option_setter set_stack_signal; /* the same, of options->stack_signal */
/* Returns the number of "USR1", "SIGUSR1" or "10", or -1 for another word. */
int  signal_number(const char *word);

/* option_hosts.c */
option_setter set_hostfile, set_hosts, set_host_argument, set_discovery_script;
option_setter set_groups; /* char *: "a,b"; may be repeated */
option_setter set_include_letter, set_fanout_letter; /* refuse a file */
option_setter set_port_letter;                       /* refuses a partition of Slurm */

/* For options of other launchers: a number or "gpu"; a number or "N:N"; more hosts; hosts
 * separated by commas. */
option_setter set_ranks_per_node, set_processes_per_node, set_remote_command;
option_setter set_node_count, set_more_hosts, set_exclude_hosts;
/* mpirun's: what muster does anyway is taken, ppr:N:node is --num_gpus=N; all else is answered. */
option_setter set_map_by, set_rank_by, set_bind_to;

/* For options that options_parse() handles before it sets any field. */
option_setter set_nothing;

/* Adds the groups of -X to the filter of --exclude and -x: "a,b" is "@a@@b" there. */
void option_exclude_groups(struct options *options);
/* Finds the programs of --host-discovery-script and --on-event on PATH or here. -1: one cannot be
 * executed. */
int  option_find_programs(struct options *options, struct error *err);

/* Replaces a field of text by a copy of value; "" means that the option is not given: NULL. */
void option_replace_text(char **text, const char *value);

/* Refuses the option; the row's help says what to do instead. */
option_setter set_refused;

#endif

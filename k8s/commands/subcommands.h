/* subcommands.h - the subcommands of muster k8s
 *
 * Each gets the arguments after its name, prints its errors and returns the exit status, or
 * SUBCOMMAND_HELP if it has printed its options instead.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_SUBCOMMANDS_H
#define MUSTER_SUBCOMMANDS_H

#define SUBCOMMAND_HELP (-1)

struct subcommand {
    const char *name, *usage; /* usage: the arguments after the name */
    const char *summary;
    int (*run)(const struct subcommand *self, char *const *argv);
};

int command_submit(const struct subcommand *self, char *const *argv);
int command_get(const struct subcommand *self, char *const *argv);
int command_list(const struct subcommand *self, char *const *argv);
int command_logs(const struct subcommand *self, char *const *argv);
int command_attach(const struct subcommand *self, char *const *argv);
int command_shell(const struct subcommand *self, char *const *argv);
int command_top(const struct subcommand *self, char *const *argv);
int command_events(const struct subcommand *self, char *const *argv);
int command_tensorboard(const struct subcommand *self, char *const *argv);
int command_dashboard(const struct subcommand *self, char *const *argv);
int command_pause(const struct subcommand *self, char *const *argv);
int command_resume(const struct subcommand *self, char *const *argv);
int command_scale(const struct subcommand *self, char *const *argv);
int command_delete(const struct subcommand *self, char *const *argv);
int command_prune(const struct subcommand *self, char *const *argv);
int command_check(const struct subcommand *self, char *const *argv);
int command_controller(const struct subcommand *self, char *const *argv);

#endif

/* subcommands.h - the subcommands of muster k8s; each gets what follows its name, prints its errors
 * and returns the exit status
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_SUBCOMMANDS_H
#define MUSTER_SUBCOMMANDS_H

int command_submit(char *const *argv);
int command_get(char *const *argv);
int command_list(char *const *argv);
int command_logs(char *const *argv);
int command_attach(char *const *argv);
int command_shell(char *const *argv);
int command_top(char *const *argv);
int command_events(char *const *argv);
int command_tensorboard(char *const *argv);
int command_pause(char *const *argv);
int command_resume(char *const *argv);
int command_scale(char *const *argv);
int command_delete(char *const *argv);
int command_prune(char *const *argv);
int command_check(char *const *argv);
int command_controller(char *const *argv);

#endif

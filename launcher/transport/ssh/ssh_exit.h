/* ssh_exit.h - a channel's exit status, as libssh 0.9 to 0.11 give it
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_SSH_EXIT_H
#define MUSTER_SSH_EXIT_H

#include <stdint.h>

#include <libssh/libssh.h>

/* Returns -1 after an error, or if not yet known. Processes packets, also after end of file. */
static inline int ssh_exit_status(ssh_channel channel)
{
#if LIBSSH_VERSION_INT >= SSH_VERSION_INT(0, 11, 0)
    uint32_t status;

    return ssh_channel_get_exit_state(channel, &status, NULL, NULL) == SSH_OK ? (int)status : -1;
#else
    return ssh_channel_get_exit_status(channel);
#endif
}

#endif

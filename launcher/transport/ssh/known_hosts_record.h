/* known_hosts_record.h - add the key of a host that is not known yet (muster bootstrap)
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_KNOWN_HOSTS_RECORD_H
#define MUSTER_KNOWN_HOSTS_RECORD_H

#include <libssh/libssh.h>

#include "err.h"

/* Append "NAME TYPE KEY" to file, which is made (0600, and its directory 0700) if it is not there.
 * -1 with "file: why". */
int known_hosts_record(const char *file, const char *name, ssh_key key, struct error *err);

#endif

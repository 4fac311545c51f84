/* elf.h - reads the headers of an executable file
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_ELF_H
#define MUSTER_AGENT_ELF_H

#include <stdbool.h>

#include "strlist.h"

/* Adds the names of the libraries that the program is linked with ("libmpi.so.40") to needed.
 * False: it is a script, an executable for other machines, or damaged. */
bool elf_needed(const char *path, struct strlist *needed);

#endif

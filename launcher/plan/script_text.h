/* script_text.h - the beginning of a script, to see what it will do
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_SCRIPT_TEXT_H
#define MUSTER_SCRIPT_TEXT_H

#include <stdbool.h>

#define SCRIPT_TEXT_MAX (256 << 10) /* bytes */

/* Returns the first bytes of a file, which the caller frees; NULL if it is no regular file, cannot
 * be read, or is not text. cwd: directory of relative paths; NULL: unknown. */
char *script_text(const char *path, const char *cwd);

/* Returns the last part of a path. */
const char *script_base(const char *path);
/* Is a program of this name a Python interpreter: "/usr/bin/python3.11"? */
bool script_is_python(const char *name);

#endif

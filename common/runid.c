/* runid.c - see runid.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "runid.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "xalloc.h"

bool runid_is(const char *id)
{
    return strspn(id, "0123456789-abcdef") >= RUNID_BARE &&
           (id[RUNID_BARE] == '\0' ||
            (id[RUNID_BARE] == '-' && runid_is_name(id + RUNID_BARE + 1)));
}

/* Not "-x", which would look like an option on a command line. */
bool runid_is_name(const char *name)
{
    size_t length = strspn(name, RUNID_LETTERS);

    return isalnum((unsigned char)name[0]) && name[length] == '\0' && length <= RUNID_NAME_MAX;
}

bool runid_is_namesake(const char *id, const char *other)
{
    return runid_is(id) && runid_is(other) && strcmp(id, other) != 0 &&
           id[RUNID_BARE] != '\0' && strcmp(id + RUNID_BARE, other + RUNID_BARE) == 0;
}

char *runid_directory(void)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");

    if (state != NULL && state[0] == '/')
        return xasprintf("%s/muster/runs", state);
    if (home != NULL && home[0] == '/')
        return xasprintf("%s/.local/state/muster/runs", home);
    return NULL;
}

int runid_is_entry(const struct dirent *entry)
{
    return runid_is(entry->d_name);
}

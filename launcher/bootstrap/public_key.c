/* public_key.c - see public_key.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "bootstrap/public_key.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "file.h"
#include "xalloc.h"

#define KEY_MAX 65536

static char *in_home(const char *path);

json_t *public_key_read(const char *path, struct error *err)
{
    static const char *const defaults[] = { "~/.ssh/id_ed25519.pub", "~/.ssh/id_ecdsa.pub",
                                            "~/.ssh/id_rsa.pub" };
    json_t                  *keys = json_array();
    char                    *whole = NULL, *text;
    size_t                   i, size;

    for (i = 0; path == NULL && i < sizeof defaults / sizeof *defaults; i++) {
        whole = in_home(defaults[i]);
        if (access(whole, R_OK) == 0)
            break;
        free(whole);
        whole = NULL;
    }
    if (path != NULL)
        whole = in_home(path);
    if (whole == NULL)
        return keys;
    text = file_read(whole, KEY_MAX, &size, err);
    if (text != NULL)
        text[strcspn(text, "\r\n")] = '\0';
    if (text == NULL || !public_key_is(text)) {
        if (text != NULL)
            err_set(err, "%s: is not a public key (ssh-keygen -y -f KEY prints one)", whole);
        json_decref(keys);
        keys = NULL;
    } else {
        json_array_append_new(keys, json_string(text));
    }
    free(text);
    free(whole);
    return keys;
}

static char *in_home(const char *path)
{
    const char *home = getenv("HOME");

    return strncmp(path, "~/", 2) == 0 && home != NULL ? xasprintf("%s%s", home, path + 1)
                                                       : xstrdup(path);
}

bool public_key_is(const char *line)
{
    static const char *const types[] = { "ssh-", "ecdsa-", "sk-" };
    const char              *at;
    size_t                   i;
    bool                     has_type = false;

    for (i = 0; i < sizeof types / sizeof *types; i++)
        has_type = has_type || strncmp(line, types[i], strlen(types[i])) == 0;
    for (at = line; *at != '\0'; at++)
        if (*at < ' ' || *at > '~')
            return false;
    at = strchr(line, ' ');
    return has_type && at != NULL && strncmp(at + 1, "AAAA", 4) == 0;
}

/* public_key.c - see public_key.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "bootstrap/public_key.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ask/answer.h"
#include "file.h"
#include "xalloc.h"

#define KEY_MAX    65536
#define KEYS_MAX   (1 << 20) /* of an agent */
#define QUESTION_S 5         /* an agent may be on another machine */

static char *first_default(const char *suffix);
static char *read_file(const char *path, struct error *err);
static char *ask_private(const char *path);
static char *ask_agent(void);
static char *first_key(const char *const argv[]);
static bool  is_plain(const char *line);
static char *in_home(const char *path);

json_t *public_key_read(const char *path, struct error *err)
{
    char   *file = path != NULL ? in_home(path) : first_default(".pub"), *private, *line = NULL;
    json_t *keys = json_array();

    if (file != NULL) {
        line = read_file(file, err);
    } else {
        private = public_key_private();
        line = private != NULL ? ask_private(private) : NULL;
        free(private);
        if (line == NULL)
            line = ask_agent();
    }
    if (line != NULL)
        json_array_append_new(keys, json_string(line));
    else if (file != NULL) {
        json_decref(keys);
        keys = NULL;
    }
    free(line);
    free(file);
    return keys;
}

char *public_key_private(void)
{
    return first_default("");
}

static char *first_default(const char *suffix)
{
    static const char *const names[] = { "id_ed25519", "id_ecdsa", "id_rsa" };
    char                    *name, *path;
    size_t                   i;

    for (i = 0; i < sizeof names / sizeof *names; i++) {
        name = xasprintf("~/.ssh/%s%s", names[i], suffix);
        path = in_home(name);
        free(name);
        if (access(path, suffix[0] != '\0' ? R_OK : F_OK) == 0)
            return path;
        free(path);
    }
    return NULL;
}

static char *read_file(const char *path, struct error *err)
{
    size_t size;
    char  *text = file_read(path, KEY_MAX, &size, err);

    if (text == NULL)
        return NULL;
    text[strcspn(text, "\r\n")] = '\0';
    if (public_key_is(text))
        return text;
    err_set(err, "%s: is not a public key (ssh-keygen -y -f KEY prints one)", path);
    free(text);
    return NULL;
}

/* NULL: it has a passphrase, or others can read it. */
static char *ask_private(const char *path)
{
    const char *const argv[] = { "ssh-keygen", "-y", "-P", "", "-f", path, NULL };

    return first_key(argv);
}

static char *ask_agent(void)
{
    static const char *const argv[] = { "ssh-add", "-L", NULL };

    return getenv("SSH_AUTH_SOCK") != NULL ? first_key(argv) : NULL;
}

static char *first_key(const char *const argv[])
{
    struct error err;
    char        *text, *line, *next, *key = NULL;
    size_t       size;

    if (answer_ask(argv, QUESTION_S, KEYS_MAX, &text, &size, &err) != 0)
        return NULL;
    for (line = text; key == NULL && *line != '\0'; line = next) {
        next = line + strcspn(line, "\n");
        if (*next == '\n')
            *next++ = '\0';
        key = is_plain(line) ? xstrdup(line) : NULL;
    }
    free(text);
    return key;
}

/* An agent has certificates, too, which authorized_keys does not take. */
static bool is_plain(const char *line)
{
    const char *found = strstr(line, "-cert-v");

    return public_key_is(line) && (found == NULL || found > strchr(line, ' '));
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

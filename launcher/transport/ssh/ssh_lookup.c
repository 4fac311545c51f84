/* ssh_lookup.c - see ssh_lookup.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "transport/ssh/ssh_lookup.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exit_code.h"
#include "log.h"
#include "transport/ssh/ssh_agent.h"
#include "transport/ssh/ssh_keys.h"
#include "transport/ssh/ssh_query.h"
#include "transport/ssh/ssh_session.h"
#include "xalloc.h"

#define ATTEMPTS 6 /* sshd's default for MaxAuthTries */

struct ssh_lookup {
    struct event_base        *base;
    const struct conn_target *target;
    void (*done)(struct ssh_host *host, const struct conn_failure *why, void *arg);
    void             *arg;
    struct ssh_query *query;
    char             *doubt; /* why muster asks ssh */
};

static void  answered(const char *answer, const struct conn_failure *why, void *arg);
static void  finish(struct ssh_lookup *lookup, struct ssh_host *host);
static char *why_not_libssh(const struct ssh_host *host);
static char *why_not_key(const struct ssh_config *config, const char *path);
static bool  is_choice(const struct ssh_config *config, const char *path, bool has_public);
static bool  is_fido(const char *path);
static bool  may_try_all(const struct ssh_config *config);
static char *why_not_certificate(const struct ssh_config *config, const char *path);
static void  fail(struct ssh_lookup *lookup, struct ssh_host *host,
                  const struct conn_failure *why);

void ssh_host_free(struct ssh_host *host)
{
    if (host == NULL)
        return;
    known_hosts_clear(&host->known);
    ssh_config_clear(&host->config);
    free(host);
}

struct ssh_lookup *ssh_lookup_new(struct event_base *base, const struct conn_target *target,
                                  void (*done)(struct ssh_host *host,
                                               const struct conn_failure *why, void *arg),
                                  void *arg)
{
    struct ssh_lookup *lookup = xcalloc(1, sizeof *lookup);

    *lookup = (struct ssh_lookup){ .base = base, .target = target, .done = done, .arg = arg };
    return lookup;
}

void ssh_lookup_start(struct ssh_lookup *lookup)
{
    struct ssh_host    *host = xcalloc(1, sizeof *host);
    struct conn_failure why = { .stage = "config" };
    struct error        err;

    if (ssh_config_read(&host->config, lookup->target, &lookup->doubt, &err) < 0) {
        conn_failure_set(&why, EXIT_DATA, "%s", err.text);
        fail(lookup, host, &why);
    } else if (lookup->doubt != NULL) {
        log_debug("%s: asking ssh -G: %s", lookup->target->host, lookup->doubt);
        ssh_host_free(host);
        lookup->query = ssh_query_start(lookup->base, lookup->target, answered, lookup);
    } else {
        finish(lookup, host);
    }
}

void ssh_lookup_free(struct ssh_lookup *lookup)
{
    if (lookup == NULL)
        return;
    ssh_query_free(lookup->query);
    free(lookup->doubt);
    free(lookup);
}

static void answered(const char *answer, const struct conn_failure *why, void *arg)
{
    struct ssh_lookup  *lookup = arg;
    struct ssh_host    *host = xcalloc(1, sizeof *host);
    struct conn_failure said = { .stage = "config" };
    struct error        err;

    if (answer == NULL) {
        conn_failure_set(&said, why->exit_code, "%s", why->text);
        conn_failure_hint(&said, "muster asks ssh -G because of %s", lookup->doubt);
        fail(lookup, host, &said);
    } else if (ssh_config_answer(&host->config, answer, lookup->target, &err) < 0) {
        conn_failure_set(&said, EXIT_DATA, "%s", err.text);
        fail(lookup, host, &said);
    } else {
        finish(lookup, host);
    }
}

static void finish(struct ssh_lookup *lookup, struct ssh_host *host)
{
    known_hosts_find(&host->known, &host->config);
    if (host->config.needs_openssh == NULL)
        host->config.needs_openssh = why_not_libssh(host);
    lookup->done(host, NULL, lookup->arg); /* may free lookup */
}

/* Returns why libssh cannot make the connection; NULL if it can. */
static char *why_not_libssh(const struct ssh_host *host)
{
    const struct ssh_config *config = &host->config;
    struct error             err;
    char                    *why = NULL;
    size_t                   i;

    if (host->known.has_authority)
        return xasprintf("@cert-authority for %s", host->known.name);
    if (!ssh_session_can(config, &err))
        return xstrdup(err.text);
    for (i = 0; i < config->identity_files.count && why == NULL; i++)
        why = why_not_key(config, config->identity_files.item[i]);
    for (i = 0; i < config->certificate_files.count && why == NULL; i++)
        why = why_not_certificate(config, config->certificate_files.item[i]);
    return why;
}

/* Returns a reason if path is a named FIDO key, or a file with which ssh selects one of the
 * agent's keys. */
static char *why_not_key(const struct ssh_config *config, const char *path)
{
    const bool is_named = config->identities_named;
    char      *public = xasprintf("%s.pub", path);
    bool       has_public = access(public, R_OK) == 0, is_key_fido = is_named && is_fido(public);

    free(public);
    if (is_key_fido)
        return xasprintf("%s is a FIDO key", path);
    if (config->identity_agent[0] == '\0' || (!is_named && may_try_all(config)))
        return NULL;
    /* If a named file is enough, do not ask the agent, which may be dead. */
    if (is_choice(config, path, has_public) && !may_try_all(config))
        return xasprintf("%s selects a key of the agent", path);
    return NULL;
}

/* Does ssh use this file to find its key in the agent, or to prefer it there? */
static bool is_choice(const struct ssh_config *config, const char *path, bool has_public)
{
    size_t             length = strlen(path);
    enum ssh_key_state state;

    if (length > 4 && strcmp(path + length - 4, ".pub") == 0)
        return true;
    ssh_keys_take();
    ssh_keys_get(path, NULL, &state);
    ssh_keys_drop();
    if (state == SSH_KEY_USABLE) /* a named key is offered before the agent's keys */
        return !config->identities_named && !config->identities_only;
    return state == SSH_KEY_ENCRYPTED || (state == SSH_KEY_ABSENT && has_public);
}

/* Can all keys of the agent be tried before the server refuses more attempts? Named files are
 * tried before them. */
static bool may_try_all(const struct ssh_config *config)
{
    struct error err;
    int          first = config->identities_named ? (int)config->identity_files.count : 0;

    return !config->identities_only &&
           first + ssh_agent_count(config->identity_agent, &err) < ATTEMPTS;
}

/* Does the file begin like "sk-ssh-ed25519@openssh.com ..."? */
static bool is_fido(const char *path)
{
    FILE *file = fopen(path, "re");
    char  head[4] = "";

    if (file == NULL)
        return false;
    if (fgets(head, sizeof head, file) == NULL)
        head[0] = '\0';
    fclose(file);
    return strcmp(head, "sk-") == 0;
}

/* Returns a reason if path is a certificate for a key that only the ssh agent has: ssh can
 * combine the two. */
static char *why_not_certificate(const struct ssh_config *config, const char *path)
{
    const struct strlist *files = &config->identity_files;
    enum ssh_key_state    state;
    ssh_key               key = NULL;
    size_t                i;

    if (config->identity_agent[0] == '\0' || access(path, R_OK) < 0)
        return NULL;
    ssh_keys_take();
    for (i = 0; i < files->count && key == NULL; i++)
        key = ssh_keys_get(files->item[i], path, &state);
    ssh_keys_drop();
    return key == NULL ? xasprintf("%s does not match any key file", path) : NULL;
}

/* Makes the last call: the callee may free lookup. */
static void fail(struct ssh_lookup *lookup, struct ssh_host *host,
                 const struct conn_failure *why)
{
    ssh_host_free(host);
    lookup->done(NULL, why, lookup->arg);
}

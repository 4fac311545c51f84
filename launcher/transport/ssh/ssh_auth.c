/* ssh_auth.c - see ssh_auth.h
 *
 * libssh blocks while it talks to the ssh agent, a process of this user on this machine. The
 * agent answers within milliseconds, unless the user must confirm each use (ssh-add -c); then
 * every launcher waits for the user. muster must not wait forever on a dead socket, such as a
 * forwarded one whose far end is gone, so ssh_agent.c asks the agent first, with a deadline.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "transport/ssh/ssh_auth.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "buffer.h"
#include "exit_code.h"
#include "transport/login.h"
#include "transport/ssh/ssh_agent.h"
#include "transport/ssh/ssh_keys.h"
#include "transport/ssh/ssh_password.h"
#include "xalloc.h"

struct candidate {
    const char *path;        /* NULL: the ssh agent */
    char       *certificate; /* NULL: the bare key */
};

struct ssh_auth {
    ssh_session              session;
    const struct ssh_config *config;
    struct candidate        *candidate;
    size_t                   count, at;
    bool                     is_asked; /* the authentication service has answered */
    bool                     is_listed; /* the server has listed the methods that it accepts */
    bool                     has_agent;
    int                      agent_keys;
    struct buffer            tried;    /* "~/.ssh/id_rsa, agent: 2 keys" */
    struct buffer            skipped;  /* "~/.ssh/id_ecdsa does not exist" */
    char                    *encrypted; /* path of a key that only an agent could use */
    char                    *shared;    /* of a key that others can read */
    bool                     wants_password;
    struct ssh_password      password;
};

static void        add_files(struct ssh_auth *auth);
static void        add_candidate(struct ssh_auth *auth, const char *path,
                                 const char *certificate);
static int         offer(struct ssh_auth *auth);
static int         offer_agent(struct ssh_auth *auth);
static int         reach_agent(struct ssh_auth *auth);
static int         offer_key(struct ssh_auth *auth, const struct candidate *c);
static void        note(struct buffer *notes, const char *text, const char *more);
static int         ask_methods(struct ssh_auth *auth, struct conn_failure *why);
static int         refuse(struct ssh_auth *auth, struct conn_failure *why);
static int         give_up(struct ssh_auth *auth, struct conn_failure *why);
static void        advise(const struct ssh_auth *auth, int methods, struct conn_failure *why);
static void        list_methods(int methods, char *text, size_t size);
static const char *text_of(struct buffer *notes);

struct ssh_auth *ssh_auth_new(ssh_session session, const struct ssh_config *config,
                              const char *host)
{
    struct ssh_auth *auth = xcalloc(1, sizeof *auth);

    ssh_keys_take();
    auth->session = session;
    auth->config = config;
    auth->password.host = host;
    if (config->identities_named)
        add_files(auth);
    if (!config->identities_only)
        add_candidate(auth, NULL, NULL);
    if (!config->identities_named)
        add_files(auth);
    return auth;
}

void ssh_auth_free(struct ssh_auth *auth)
{
    size_t i;

    if (auth == NULL)
        return;
    for (i = 0; i < auth->count; i++)
        free(auth->candidate[i].certificate);
    free(auth->candidate);
    buffer_clear(&auth->tried);
    buffer_clear(&auth->skipped);
    free(auth->encrypted);
    free(auth->shared);
    free(auth);
    ssh_keys_drop();
}

int ssh_auth_step(struct ssh_auth *auth, struct conn_failure *why)
{
    int rc;

    /* Ask this before offering any key: only when the server has answered is it certain which
     * RSA signatures it accepts (EXT_INFO). */
    if (!auth->is_asked) {
        rc = ssh_service_request(auth->session, "ssh-userauth");
        if (rc != SSH_OK && (rc != SSH_AGAIN || !ssh_is_connected(auth->session)))
            return refuse(auth, why);
        if (rc == SSH_AGAIN)
            return 0;
        auth->is_asked = true;
    }
    if (auth->wants_password)
        return ssh_password_step(&auth->password, auth->session, auth->config->user, why);
    for (; auth->at < auth->count; auth->at++) {
        rc = offer(auth);
        if (rc == SSH_AUTH_SUCCESS)
            return 1;
        /* When the server disconnects, libssh has closed the socket but would still wait for an
         * answer. If the socket is open, an error means that the signature failed, for example
         * because the agent's owner did not confirm it. */
        if (!ssh_is_connected(auth->session))
            return refuse(auth, why);
        if (rc == SSH_AUTH_AGAIN)
            return 0;
        if (rc == SSH_AUTH_PARTIAL)
            break;
    }
    if (auth->at == auth->count && auth->tried.size == 0 && !auth->is_listed) {
        rc = ask_methods(auth, why);
        if (rc != 0 || !auth->is_listed)
            return rc;
    }
    if (!login_takes_password(LOGIN_BY_SSH))
        return give_up(auth, why);
    auth->wants_password = true;
    return 0;
}

bool ssh_auth_wants_password(const struct ssh_auth *auth)
{
    return auth->wants_password;
}

bool ssh_auth_refused_password(const struct ssh_auth *auth)
{
    return auth->password.is_refused;
}

/* ---- candidates ---- */

/* Certificates that the config names are tried with their keys. Only if it names none, ssh
 * looks for one next to each key. */
static void add_files(struct ssh_auth *auth)
{
    const struct strlist *files = &auth->config->identity_files;
    const struct strlist *certificates = &auth->config->certificate_files;
    char                 *beside;
    size_t                i, k;

    for (i = 0; i < files->count; i++) {
        for (k = 0; k < certificates->count; k++)
            add_candidate(auth, files->item[i], certificates->item[k]);
        beside = xasprintf("%s-cert.pub", files->item[i]);
        if (certificates->count == 0 && access(beside, R_OK) == 0)
            add_candidate(auth, files->item[i], beside);
        free(beside);
        add_candidate(auth, files->item[i], NULL);
    }
}

static void add_candidate(struct ssh_auth *auth, const char *path, const char *certificate)
{
    auth->candidate = xreallocarray(auth->candidate, auth->count + 1, sizeof *auth->candidate);
    auth->candidate[auth->count++] = (struct candidate){
        .path = path,
        .certificate = certificate != NULL ? xstrdup(certificate) : NULL,
    };
}

/* ---- offering ---- */

static int offer(struct ssh_auth *auth)
{
    const struct candidate *c = &auth->candidate[auth->at];

    return c->path == NULL ? offer_agent(auth) : offer_key(auth, c);
}

/* Offers the agent's keys. Called again until the server has decided. */
static int offer_agent(struct ssh_auth *auth)
{
    char keys[64];
    int  rc;

    if (!auth->has_agent && reach_agent(auth) < 0)
        return SSH_AUTH_DENIED;
    rc = ssh_userauth_agent(auth->session, NULL);
    if (rc == SSH_AUTH_DENIED || rc == SSH_AUTH_ERROR) {
        snprintf(keys, sizeof keys, "agent: %d key%s", auth->agent_keys,
                 auth->agent_keys == 1 ? "" : "s");
        note(&auth->tried, keys, "");
    }
    return rc;
}

/* Connects to the agent over our own socket, because libssh 0.9 does not know IdentityAgent.
 * The session closes the socket. */
static int reach_agent(struct ssh_auth *auth)
{
    struct error err = { "libssh cannot use it" };
    int          fd = -1;

    auth->agent_keys = ssh_agent_count(auth->config->identity_agent, &err);
    if (auth->agent_keys > 0)
        fd = ssh_agent_connect(auth->config->identity_agent, &err);
    if (fd >= 0 && ssh_set_agent_socket(auth->session, fd) == SSH_OK) {
        auth->has_agent = true;
        return 0;
    }
    note(&auth->skipped, "agent: ", auth->agent_keys == 0 ? "no keys" : err.text);
    return -1;
}

static int offer_key(struct ssh_auth *auth, const struct candidate *c)
{
    static const char *const reasons[] = {
        [SSH_KEY_ABSENT] = " cannot be opened",
        [SSH_KEY_ENCRYPTED] = " is encrypted",
        [SSH_KEY_SHARED] = " is readable by others (chmod 600)",
        [SSH_KEY_BAD] = " is not a readable private key",
    };
    enum ssh_key_state state;
    ssh_key            key = ssh_keys_get(c->path, c->certificate, &state);
    int                rc;

    if (key == NULL) {
        if (c->certificate == NULL)
            note(&auth->skipped, c->path, reasons[state]);
        if (state == SSH_KEY_ENCRYPTED && auth->encrypted == NULL)
            auth->encrypted = xstrdup(c->path);
        if (state == SSH_KEY_SHARED && auth->shared == NULL)
            auth->shared = xstrdup(c->path);
        return SSH_AUTH_DENIED;
    }
    rc = ssh_userauth_publickey(auth->session, NULL, key);
    if (rc == SSH_AUTH_DENIED || rc == SSH_AUTH_ERROR)
        note(&auth->tried, c->path, c->certificate != NULL ? " with its certificate" : "");
    return rc;
}

static void note(struct buffer *notes, const char *text, const char *more)
{
    if (notes->size > 0)
        buffer_add_text(notes, ", ");
    buffer_add_text(notes, text);
    buffer_add_text(notes, more);
}

/* The refusal of a key lists the methods that the server accepts. Without any key muster must
 * ask for the list, as ssh does first. */
static int ask_methods(struct ssh_auth *auth, struct conn_failure *why)
{
    int rc = ssh_userauth_none(auth->session, NULL);

    if (rc == SSH_AUTH_SUCCESS)
        return 1;
    if (!ssh_is_connected(auth->session))
        return refuse(auth, why);
    auth->is_listed = rc != SSH_AUTH_AGAIN;
    return 0;
}

/* ---- failing ---- */

/* The connection failed, for example after too many keys. */
static int refuse(struct ssh_auth *auth, struct conn_failure *why)
{
    conn_failure_set(why, EXIT_REFUSED, "the server closed the connection: %s (tried %s)",
                     ssh_get_error(auth->session),
                     auth->tried.size > 0 ? text_of(&auth->tried) : "no key yet");
    if (strstr(why->text, "Too many authentication failures") != NULL)
        conn_failure_hint(why, "name the key for this host in ~/.ssh/config (IdentityFile)");
    return -1;
}

static int give_up(struct ssh_auth *auth, struct conn_failure *why)
{
    int  methods = ssh_userauth_list(auth->session, NULL);
    char offered[128];

    list_methods(methods, offered, sizeof offered);
    if (auth->at < auth->count)
        conn_failure_set(why, EXIT_REFUSED, "the server accepted the key but also requires %s",
                         offered);
    else if (auth->tried.size == 0)
        conn_failure_set(why, EXIT_REFUSED, "no key to offer (%s; the server offers %s)",
                         text_of(&auth->skipped), offered);
    else
        conn_failure_set(why, EXIT_REFUSED, "publickey refused for user %s (tried %s; the server "
                         "offers %s)", auth->config->user, text_of(&auth->tried),
                         offered);
    advise(auth, methods, why);
    return -1;
}

/* ssh can log in with a Kerberos ticket; muster does not use libssh for that. */
static void advise(const struct ssh_auth *auth, int methods, struct conn_failure *why)
{
    static const char ticket[] = "with a Kerberos ticket (kinit), --transport openssh can log "
                                 "in if ~/.ssh/config has GSSAPIAuthentication yes";
    bool has_ticket = (methods & SSH_AUTH_METHOD_GSSAPI_MIC) != 0;

    if (auth->shared != NULL)
        conn_failure_hint(why, "ssh ignores a key that others can read: chmod 600 %s",
                          auth->shared);
    else if (auth->encrypted != NULL)
        conn_failure_hint(why, "%s is encrypted: add it to an ssh agent with ssh-add",
                          auth->encrypted);
    else if (methods != 0 && !(methods & SSH_AUTH_METHOD_PUBLICKEY))
        conn_failure_hint(why, "this server accepts no keys%s%s", has_ticket ? ": " : ", and "
                          "muster can only log in with keys", has_ticket ? ticket : "");
    else
        conn_failure_hint(why, "try: ssh-copy-id -p %d %s@%s%s%s", auth->config->port,
                          auth->config->user, auth->config->hostname, has_ticket ? "; or " : "",
                          has_ticket ? ticket : "");
}

static void list_methods(int methods, char *text, size_t size)
{
    static const struct {
        int         bit;
        const char *name;
    } names[] = {
        { SSH_AUTH_METHOD_PUBLICKEY, "publickey" },
        { SSH_AUTH_METHOD_PASSWORD, "password" },
        { SSH_AUTH_METHOD_INTERACTIVE, "keyboard-interactive" },
        { SSH_AUTH_METHOD_HOSTBASED, "hostbased" },
        { SSH_AUTH_METHOD_GSSAPI_MIC, "gssapi-with-mic" },
    };
    size_t i, put = 0;

    snprintf(text, size, "nothing");
    for (i = 0; i < sizeof names / sizeof names[0]; i++)
        if (methods & names[i].bit && put < size)
            put += (size_t)snprintf(text + put, size - put, "%s%s", put > 0 ? "," : "",
                                    names[i].name);
}

static const char *text_of(struct buffer *notes)
{
    if (notes->size == 0)
        return "IdentityFile none";
    buffer_add(notes, "", 1);
    return notes->bytes;
}

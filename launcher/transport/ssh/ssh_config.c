/* ssh_config.c - see ssh_config.h
 *
 * Tokens such as %h can only be expanded when all files have been read, so reading comes first
 * (ssh_settings.c).
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "transport/ssh/ssh_config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "buffer.h"
#include "number.h"
#include "transport/ssh/ssh_settings.h"
#include "xalloc.h"

#define SYSTEM_CONFIG SYSTEM_DIR "/ssh_config"

static int   settle(const struct ssh_settings *s, struct ssh_config *config,
                    struct error *err);
static int   settle_address(const struct ssh_settings *s, struct ssh_config *config,
                            struct error *err);
static int   settle_keys(const struct ssh_settings *s, struct ssh_config *config,
                         struct error *err);
static int   settle_known_hosts(const struct ssh_settings *s, struct ssh_config *config,
                                struct error *err);
static int   expand_list(const struct ssh_settings *s, const struct ssh_config *config,
                         enum keyword key, struct strlist *list, struct error *err);
static int   settle_proxy(const struct ssh_settings *s, struct ssh_config *config,
                          struct error *err);
static char *jump_command(const struct ssh_settings *s, struct error *err);
static char *copy_value(const struct ssh_settings *s, enum keyword key);
static char *expand(const struct ssh_settings *s, const struct ssh_config *config,
                    enum keyword key, const char *text, struct error *err);
static int   add_token(const struct ssh_settings *s, const struct ssh_config *config,
                       char token, struct buffer *made);

int ssh_config_read(struct ssh_config *config, const struct conn_target *target,
                    struct error *err)
{
    struct ssh_settings s;
    char               *own;
    int                 rc;

    *config = (struct ssh_config){ 0 };
    ssh_settings_init(&s, target);
    own = xasprintf("%s/.ssh/config", s.home);
    if (target->ssh_config != NULL) {
        rc = ssh_settings_read(&s, target->ssh_config, true, err);
    } else {
        rc = ssh_settings_read(&s, own, false, err);
        s.is_system = true;
        if (rc == 0)
            rc = ssh_settings_read(&s, SYSTEM_CONFIG, false, err);
    }
    if (rc == 0)
        rc = settle(&s, config, err);
    if (rc < 0)
        ssh_config_clear(config);
    free(own);
    ssh_settings_clear(&s);
    return rc;
}

int ssh_config_parse(struct ssh_config *config, const char *name, const char *text,
                     const struct conn_target *target, struct error *err)
{
    struct ssh_settings s;
    char               *copy = xstrdup(text);
    int                 rc;

    *config = (struct ssh_config){ 0 };
    ssh_settings_init(&s, target);
    s.depth = INCLUDE_DEPTH_MAX;
    rc = ssh_settings_parse(&s, name, copy, err);
    if (rc == 0)
        rc = settle(&s, config, err);
    if (rc < 0)
        ssh_config_clear(config);
    free(copy);
    ssh_settings_clear(&s);
    return rc;
}

void ssh_config_clear(struct ssh_config *config)
{
    free(config->hostname);
    free(config->user);
    strlist_clear(&config->identity_files);
    strlist_clear(&config->certificate_files);
    free(config->identity_agent);
    strlist_clear(&config->known_hosts);
    free(config->host_key_alias);
    free(config->proxy_command);
    free(config->ciphers);
    free(config->kex);
    free(config->macs);
    free(config->host_keys);
    free(config->key_types);
    *config = (struct ssh_config){ 0 };
}

static int settle(const struct ssh_settings *s, struct ssh_config *config, struct error *err)
{
    if (settle_address(s, config, err) < 0 || settle_known_hosts(s, config, err) < 0 ||
        settle_keys(s, config, err) < 0 || settle_proxy(s, config, err) < 0)
        return -1;
    config->ciphers = copy_value(s, KEY_CIPHERS);
    config->kex = copy_value(s, KEY_KEX);
    config->macs = copy_value(s, KEY_MACS);
    config->host_keys = copy_value(s, KEY_HOST_KEYS);
    config->key_types = copy_value(s, KEY_KEY_TYPES);
    return 0;
}

static int settle_address(const struct ssh_settings *s, struct ssh_config *config,
                          struct error *err)
{
    const char  *name = ssh_settings_get(s, KEY_HOSTNAME, s->target->addr, s->target->host);
    const char  *port = ssh_settings_get(s, KEY_PORT, NULL, "22");
    const char  *family = ssh_settings_get(s, KEY_ADDRESS_FAMILY, NULL, "any");
    struct error why;
    int64_t      number = s->target->port;
    char        *expanded;

    config->user = xstrdup(ssh_settings_get(s, KEY_USER, s->target->user, s->local_user));
    if (number == 0 && parse_number(port, 1, 65535, &number, &why) < 0)
        return err_set(err, "%s: Port: %s", s->place[KEY_PORT], why.text);
    config->port = (int)number;
    config->family = strcasecmp(family, "inet") == 0    ? AF_INET
                     : strcasecmp(family, "inet6") == 0 ? AF_INET6
                                                        : AF_UNSPEC;
    config->hostname = xstrdup(s->target->host); /* what %h is in HostName itself */
    expanded = s->target->addr == NULL && s->place[KEY_HOSTNAME] != NULL
                   ? expand(s, config, KEY_HOSTNAME, name, err)
                   : xstrdup(name);
    if (expanded == NULL)
        return -1;
    free(config->hostname);
    config->hostname = expanded;
    return 0;
}

static int settle_keys(const struct ssh_settings *s, struct ssh_config *config,
                       struct error *err)
{
    static const char *const defaults[] = { "id_ed25519", "id_ecdsa", "id_rsa" };
    const char *agent = ssh_settings_get(s, KEY_IDENTITY_AGENT, NULL, "SSH_AUTH_SOCK");
    size_t      i;

    if (expand_list(s, config, KEY_IDENTITY_FILE, &config->identity_files, err) < 0 ||
        expand_list(s, config, KEY_CERTIFICATE_FILE, &config->certificate_files, err) < 0)
        return -1;
    config->identities_named = s->place[KEY_IDENTITY_FILE] != NULL;
    for (i = 0; !config->identities_named && i < sizeof defaults / sizeof defaults[0]; i++)
        strlist_addf(&config->identity_files, "%s/.ssh/%s", s->home, defaults[i]);

    if (strcasecmp(agent, "none") == 0)
        agent = "";
    else if (strcmp(agent, "SSH_AUTH_SOCK") == 0)
        agent = getenv("SSH_AUTH_SOCK");
    else if (agent[0] == '$')
        agent = getenv(agent + 1);
    if (agent == NULL)
        agent = "";
    config->identity_agent = s->place[KEY_IDENTITY_AGENT] != NULL && agent[0] != '\0'
                                 ? expand(s, config, KEY_IDENTITY_AGENT, agent, err)
                                 : xstrdup(agent);
    return config->identity_agent != NULL ? 0 : -1;
}

static int settle_known_hosts(const struct ssh_settings *s, struct ssh_config *config,
                              struct error *err)
{
    const char *strict = ssh_settings_get(s, KEY_STRICT, NULL, "yes");

    config->host_key_alias = copy_value(s, KEY_HOST_KEY_ALIAS);
    config->accept_unknown = strcasecmp(strict, "no") == 0 || strcasecmp(strict, "off") == 0;
    if (s->place[KEY_USER_KNOWN_HOSTS] == NULL) {
        strlist_addf(&config->known_hosts, "%s/.ssh/known_hosts", s->home);
        strlist_addf(&config->known_hosts, "%s/.ssh/known_hosts2", s->home);
    }
    if (expand_list(s, config, KEY_USER_KNOWN_HOSTS, &config->known_hosts, err) < 0)
        return -1;
    if (s->place[KEY_GLOBAL_KNOWN_HOSTS] == NULL) {
        strlist_add(&config->known_hosts, SYSTEM_DIR "/ssh_known_hosts");
        strlist_add(&config->known_hosts, SYSTEM_DIR "/ssh_known_hosts2");
    }
    return expand_list(s, config, KEY_GLOBAL_KNOWN_HOSTS, &config->known_hosts, err);
}

static int expand_list(const struct ssh_settings *s, const struct ssh_config *config,
                       enum keyword key, struct strlist *list, struct error *err)
{
    const struct strlist *words = &s->value[key];
    char                 *path;
    size_t                i;

    for (i = 0; i < words->count; i++) {
        if (strcasecmp(words->item[i], "none") == 0)
            continue;
        path = expand(s, config, key, words->item[i], err);
        if (path == NULL)
            return -1;
        strlist_add(list, path);
        free(path);
    }
    return 0;
}

static int settle_proxy(const struct ssh_settings *s, struct ssh_config *config,
                        struct error *err)
{
    enum keyword key = s->place[KEY_PROXY_JUMP] != NULL ? KEY_PROXY_JUMP : KEY_PROXY_COMMAND;
    char        *command;

    if (s->place[key] == NULL || strcasecmp(s->value[key].item[0], "none") == 0)
        return 0;
    command = key == KEY_PROXY_JUMP ? jump_command(s, err) : copy_value(s, key);
    if (command == NULL)
        return -1;
    config->proxy_command = expand(s, config, key, command, err);
    free(command);
    return config->proxy_command != NULL ? 0 : -1;
}

/* The ssh command that ProxyJump stands for. BatchMode: a question would stop the start. */
static char *jump_command(const struct ssh_settings *s, struct error *err)
{
    const char   *jump = s->value[KEY_PROXY_JUMP].item[0];
    const char   *last = strrchr(jump, ',');
    struct buffer made = { 0 };
    const char   *c;

    if (jump[0] == '-' || jump[strspn(jump, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                            "0123456789@.,:_[]-/")] != '\0') {
        err_set(err, "%s: ProxyJump %s: not [user@]host[:port]", s->place[KEY_PROXY_JUMP], jump);
        return NULL;
    }
    buffer_add_text(&made, "ssh -o BatchMode=yes ");
    if (s->target->ssh_config != NULL) {
        buffer_add_text(&made, "-F '");
        for (c = s->target->ssh_config; *c != '\0'; c++)
            buffer_add(&made, *c == '\'' ? "'\\''" : c, *c == '\'' ? 4 : 1);
        buffer_add_text(&made, "' ");
    }
    if (last != NULL) {
        buffer_add_text(&made, "-J ");
        buffer_add(&made, jump, (size_t)(last - jump));
        buffer_add_text(&made, " ");
        jump = last + 1;
    }
    /* A URI is the only form of a destination that can contain a port. */
    buffer_add_text(&made, "-W '[%h]:%p' ");
    if (strncmp(jump, "ssh://", 6) != 0)
        buffer_add_text(&made, "ssh://");
    buffer_add_text(&made, jump);
    buffer_add(&made, "", 1);
    return made.bytes;
}

static char *copy_value(const struct ssh_settings *s, enum keyword key)
{
    return s->value[key].count > 0 ? xstrdup(s->value[key].item[0]) : NULL;
}

/* Text with ~ and %x replaced; caller frees. NULL with err, which names the place where that key
 * was set. */
static char *expand(const struct ssh_settings *s, const struct ssh_config *config,
                    enum keyword key, const char *text, struct error *err)
{
    struct buffer made = { 0 };

    if (strncmp(text, "~/", 2) == 0) {
        buffer_add_text(&made, s->home);
        text++;
    }
    for (; *text != '\0'; text++) {
        if (*text != '%') {
            buffer_add(&made, text, 1);
        } else if (add_token(s, config, *++text, &made) < 0) {
            err_set(err, "%s: %%%c is not a token that muster can expand", s->place[key], *text);
            buffer_clear(&made);
            return NULL;
        }
    }
    buffer_add(&made, "", 1);
    return made.bytes;
}

static int add_token(const struct ssh_settings *s, const struct ssh_config *config, char token,
                     struct buffer *made)
{
    char number[24];
    char name[256] = "";

    switch (token) {
    case '%': buffer_add(made, "%", 1); break;
    case 'd': buffer_add_text(made, s->home); break;
    case 'h': buffer_add_text(made, config->hostname); break;
    case 'n': buffer_add_text(made, s->target->host); break;
    case 'r': buffer_add_text(made, config->user); break;
    case 'u': buffer_add_text(made, s->local_user); break;
    case 'k':
        buffer_add_text(made, config->host_key_alias != NULL ? config->host_key_alias
                                                             : s->target->host);
        break;
    case 'p':
    case 'i':
        snprintf(number, sizeof number, "%d", token == 'p' ? config->port : (int)getuid());
        buffer_add_text(made, number);
        break;
    case 'l':
    case 'L':
        if (gethostname(name, sizeof name - 1) < 0)
            return -1;
        if (token == 'L')
            name[strcspn(name, ".")] = '\0';
        buffer_add_text(made, name);
        break;
    default:
        return -1;
    }
    return 0;
}

/* ssh_config.c - see ssh_config.h
 *
 * Tokens such as %h can only be expanded when all files have been read, so all files are read
 * first (ssh_settings.c).
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "transport/ssh/ssh_config.h"

#include <ctype.h>
#include <limits.h>
#include <stdarg.h>
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
#define PATH_TOKENS   "%dhikLlnpru" /* ssh also knows %C and %j in paths */
#define PROXY_TOKENS  "%hnpr"

#define DEFAULT_IDENTITIES 4 /* minimum: ssh 8.0 to 10 have five to seven */

static int   finish(struct ssh_settings *s, int rc, struct ssh_config *config, char **doubt,
                    struct error *err);
static bool  is_plain_host(const char *host);
static int   settle(const struct ssh_settings *s, struct ssh_config *config,
                    struct error *err);
static void  settle_needs(const struct ssh_settings *s, struct ssh_config *config);
static bool  is_listed(const char *word, const char *list);
static void  need(struct ssh_config *config, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static int   settle_address(const struct ssh_settings *s, struct ssh_config *config,
                            struct error *err);
static void  settle_keys(const struct ssh_settings *s, struct ssh_config *config);
static bool  names_identities(const struct ssh_settings *s);
static void  settle_known_hosts(const struct ssh_settings *s, struct ssh_config *config);
static void  expand_list(const struct ssh_settings *s, struct ssh_config *config,
                         enum keyword key, struct strlist *list);
static int   settle_proxy(const struct ssh_settings *s, struct ssh_config *config,
                          struct error *err);
static char *jump_command(const struct ssh_settings *s, struct error *err);
static char *copy_value(const struct ssh_settings *s, enum keyword key);
static char *expand(const struct ssh_settings *s, const struct ssh_config *config,
                    const char *text, const char *tokens);
static int   add_token(const struct ssh_settings *s, const struct ssh_config *config,
                       char token, struct buffer *made);

int ssh_config_read(struct ssh_config *config, const struct conn_target *target, char **doubt,
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
        s.is_users = true;
        rc = ssh_settings_read(&s, own, false, err);
        s.is_users = false;
        s.is_system = true;
        if (rc == 0)
            rc = ssh_settings_read(&s, SYSTEM_CONFIG, false, err);
    }
    free(own);
    return finish(&s, rc, config, doubt, err);
}

char *ssh_config_stamp(const struct conn_target *target)
{
    struct ssh_settings s;
    struct buffer       stamp = { 0 };
    char               *own;
    bool                is_certain;

    ssh_settings_init(&s, target);
    own = xasprintf("%s/.ssh/config", s.home);
    is_certain = ssh_settings_stamp(&s, target->ssh_config != NULL ? target->ssh_config : own,
                                    &stamp);
    s.is_system = true;
    if (is_certain && target->ssh_config == NULL)
        is_certain = ssh_settings_stamp(&s, SYSTEM_CONFIG, &stamp);
    free(own);
    ssh_settings_clear(&s);
    if (!is_certain) {
        buffer_clear(&stamp);
        return NULL;
    }
    buffer_add(&stamp, "", 1);
    return stamp.bytes;
}

int ssh_config_answer(struct ssh_config *config, const char *answer,
                      const struct conn_target *target, struct error *err)
{
    struct ssh_settings s;
    char               *copy = xstrdup(answer);
    int                 rc;

    *config = (struct ssh_config){ 0 };
    ssh_settings_init(&s, target);
    ssh_settings_take_answer(&s, copy);
    rc = settle(&s, config, err); /* an answer of ssh leaves no doubt */
    if (rc < 0)
        ssh_config_clear(config);
    ssh_settings_clear(&s);
    free(copy);
    return rc;
}

int ssh_config_parse(struct ssh_config *config, const char *name, const char *text,
                     const struct conn_target *target, char **doubt, struct error *err)
{
    struct ssh_settings s;
    char               *copy = xstrdup(text);
    int                 rc;

    *config = (struct ssh_config){ 0 };
    ssh_settings_init(&s, target);
    s.depth = INCLUDE_DEPTH_MAX;
    ssh_settings_parse(&s, name, copy);
    rc = finish(&s, 0, config, doubt, err);
    free(copy);
    return rc;
}

static int finish(struct ssh_settings *s, int rc, struct ssh_config *config, char **doubt,
                  struct error *err)
{
    *doubt = NULL;
    if (rc == 0 && s->doubt == NULL && !is_plain_host(s->target->host))
        s->doubt = xasprintf("%s: a name that ssh may read differently", s->target->host);
    if (rc == 0 && s->doubt != NULL) {
        *doubt = s->doubt;
        s->doubt = NULL;
    } else if (rc == 0) {
        rc = settle(s, config, err);
    }
    if (rc < 0)
        ssh_config_clear(config);
    ssh_settings_clear(s);
    return rc;
}

/* ssh converts names to lower case, but only for some of their uses. */
static bool is_plain_host(const char *host)
{
    return host[0] != '-' &&
           host[strspn(host, "abcdefghijklmnopqrstuvwxyz0123456789_-.:[]")] == '\0';
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
    free(config->proxy_name);
    free(config->ciphers);
    free(config->kex);
    free(config->macs);
    free(config->host_keys);
    free(config->key_types);
    free(config->needs_openssh);
    *config = (struct ssh_config){ 0 };
}

static int settle(const struct ssh_settings *s, struct ssh_config *config, struct error *err)
{
    struct error why;
    int64_t      bits;

    if (settle_address(s, config, err) < 0 || settle_proxy(s, config, err) < 0)
        return -1;
    settle_known_hosts(s, config);
    settle_keys(s, config);
    config->ciphers = copy_value(s, KEY_CIPHERS);
    config->kex = copy_value(s, KEY_KEX);
    config->macs = copy_value(s, KEY_MACS);
    config->host_keys = copy_value(s, KEY_HOST_KEYS);
    config->key_types = copy_value(s, KEY_KEY_TYPES);
    if (parse_number(ssh_settings_get(s, KEY_RSA_SIZE, NULL, "0"), 0, INT_MAX, &bits, &why) == 0)
        config->rsa_bits = (int)bits;
    settle_needs(s, config);
    return 0;
}

/* Finds settings that only OpenSSH can follow, unless they have one of these values. */
static void settle_needs(const struct ssh_settings *s, struct ssh_config *config)
{
    static const struct {
        enum keyword key;
        const char  *name, *fine;
    } rows[] = {
        { KEY_PUBKEY, "PubkeyAuthentication", ",yes,true,unbound,host-bound," },
        { KEY_KNOWN_HOSTS_COMMAND, "KnownHostsCommand", ",none," },
        { KEY_REVOKED, "RevokedHostKeys", ",none," },
        { KEY_DNS, "VerifyHostKeyDNS", ",no,false," },
        { KEY_PKCS11, "PKCS11Provider", ",none," },
        { KEY_BIND_ADDRESS, "BindAddress", ",none," },
        { KEY_BIND_INTERFACE, "BindInterface", ",none," },
        { KEY_CHECK_IP, "CheckHostIP", ",no,false," },
        { KEY_FDPASS, "ProxyUseFdpass", ",no," },
        { KEY_REKEY, "RekeyLimit", ",0 0," },
    };
    const char *preferred = ssh_settings_get(s, KEY_PREFERRED, NULL, "publickey");
    size_t      i;

    for (i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (s->value[rows[i].key].count > 0 &&
            !is_listed(s->value[rows[i].key].item[0], rows[i].fine))
            need(config, "%s %s", rows[i].name, s->value[rows[i].key].item[0]);
    if (!is_listed("publickey", preferred))
        need(config, "PreferredAuthentications %s", preferred);
}

/* Is word in list, whose words are separated by commas? */
static bool is_listed(const char *word, const char *list)
{
    size_t      size = strlen(word);
    const char *at;

    for (at = strstr(list, word); at != NULL; at = strstr(at + 1, word))
        if ((at == list || at[-1] == ',') && (at[size] == ',' || at[size] == '\0'))
            return true;
    return false;
}

/* Keeps the first reason. */
static void need(struct ssh_config *config, const char *format, ...)
{
    char    text[256];
    va_list ap;

    if (config->needs_openssh != NULL)
        return;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    config->needs_openssh = xstrdup(text);
}

static int settle_address(const struct ssh_settings *s, struct ssh_config *config,
                          struct error *err)
{
    const char  *name = ssh_settings_get(s, KEY_HOSTNAME, s->target->addr, s->target->host);
    const char  *port = ssh_settings_get(s, KEY_PORT, NULL, "22");
    const char  *family = ssh_settings_get(s, KEY_ADDRESS_FAMILY, NULL, "any");
    struct error why;
    int64_t      number = s->target->port;

    config->user = xstrdup(ssh_settings_get(s, KEY_USER, s->target->user, s->local_user));
    if (number == 0 && parse_number(port, 1, 65535, &number, &why) < 0)
        return err_set(err, "%s: Port: %s", s->place[KEY_PORT], why.text);
    config->port = (int)number;
    config->family = strcasecmp(family, "inet") == 0    ? AF_INET
                     : strcasecmp(family, "inet6") == 0 ? AF_INET6
                                                        : AF_UNSPEC;
    config->hostname = xstrdup(name); /* expanded by ssh -G; our reader accepts no % */
    return 0;
}

static void settle_keys(const struct ssh_settings *s, struct ssh_config *config)
{
    static const char *const defaults[] = { "id_ed25519", "id_ecdsa", "id_rsa" };
    const char *agent = ssh_settings_get(s, KEY_IDENTITY_AGENT, NULL, "SSH_AUTH_SOCK");
    const char *only = ssh_settings_get(s, KEY_IDENTITIES_ONLY, NULL, "no");
    size_t      i;

    expand_list(s, config, KEY_IDENTITY_FILE, &config->identity_files);
    expand_list(s, config, KEY_CERTIFICATE_FILE, &config->certificate_files);
    config->identities_named = names_identities(s);
    config->identities_only = strcasecmp(only, "yes") == 0 || strcasecmp(only, "true") == 0;
    if (s->place[KEY_IDENTITY_FILE] == NULL)
        for (i = 0; i < sizeof defaults / sizeof defaults[0]; i++)
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
                                 ? expand(s, config, agent, PATH_TOKENS)
                                 : xstrdup(agent);
    if (config->identity_agent == NULL) {
        need(config, "IdentityAgent %s", agent);
        config->identity_agent = xstrdup("");
    }
}

/* Does the config name identity files? An answer of ssh lists its default files like any
 * others, but always all of them. */
static bool names_identities(const struct ssh_settings *s)
{
    const struct strlist *files = &s->value[KEY_IDENTITY_FILE];
    size_t                i;

    for (i = 0; i < files->count; i++)
        if (files->count < DEFAULT_IDENTITIES ||
            strncmp(files->item[i], "~/.ssh/id_", strlen("~/.ssh/id_")) != 0)
            return true;
    return false;
}

static void settle_known_hosts(const struct ssh_settings *s, struct ssh_config *config)
{
    const char *strict = ssh_settings_get(s, KEY_STRICT, NULL, "yes");
    char       *c;

    config->host_key_alias = copy_value(s, KEY_HOST_KEY_ALIAS);
    for (c = config->host_key_alias; c != NULL && *c != '\0'; c++)
        *c = (char)tolower((unsigned char)*c); /* as ssh does */
    config->accept_unknown = strcasecmp(strict, "no") == 0 || strcasecmp(strict, "off") == 0 ||
                             strcasecmp(strict, "false") == 0;
    if (s->place[KEY_USER_KNOWN_HOSTS] == NULL) {
        strlist_addf(&config->known_hosts, "%s/.ssh/known_hosts", s->home);
        strlist_addf(&config->known_hosts, "%s/.ssh/known_hosts2", s->home);
    }
    expand_list(s, config, KEY_USER_KNOWN_HOSTS, &config->known_hosts);
    if (s->place[KEY_GLOBAL_KNOWN_HOSTS] == NULL) {
        strlist_add(&config->known_hosts, SYSTEM_DIR "/ssh_known_hosts");
        strlist_add(&config->known_hosts, SYSTEM_DIR "/ssh_known_hosts2");
    }
    expand_list(s, config, KEY_GLOBAL_KNOWN_HOSTS, &config->known_hosts);
}

static void expand_list(const struct ssh_settings *s, struct ssh_config *config,
                        enum keyword key, struct strlist *list)
{
    const struct strlist *words = &s->value[key];
    char                 *path;
    size_t                i;

    for (i = 0; i < words->count; i++) {
        if (strcasecmp(words->item[i], "none") == 0)
            continue;
        path = expand(s, config, words->item[i], PATH_TOKENS);
        if (path == NULL)
            need(config, "%s", words->item[i]);
        else if (!strlist_has(list, path))
            strlist_add(list, path);
        free(path);
    }
}

static int settle_proxy(const struct ssh_settings *s, struct ssh_config *config,
                        struct error *err)
{
    enum keyword key = s->place[KEY_PROXY_JUMP] != NULL ? KEY_PROXY_JUMP : KEY_PROXY_COMMAND;
    char        *command, *name;

    if (s->place[key] == NULL || strcasecmp(s->value[key].item[0], "none") == 0)
        return 0;
    command = key == KEY_PROXY_JUMP ? jump_command(s, err) : copy_value(s, key);
    if (command == NULL)
        return -1;
    config->proxy_command = expand(s, config, command, PROXY_TOKENS);
    name = copy_value(s, key);
    if (key == KEY_PROXY_JUMP && name != NULL) /* all connections pass the first of several */
        name[strcspn(name, ",")] = '\0';
    config->proxy_name = name;
    if (config->proxy_command == NULL)
        need(config, "%s", command);
    free(command);
    return 0;
}

/* Returns the ssh command that ProxyJump means. BatchMode: a prompt would block the start. */
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
    /* A URI is the only form of destination that can contain a port. */
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

/* Returns text with ~/ and %x expanded; the caller frees it. NULL if only ssh can expand it:
 * the home of another user, ${NAME}, a token that is not in tokens. */
static char *expand(const struct ssh_settings *s, const struct ssh_config *config,
                    const char *text, const char *tokens)
{
    struct buffer made = { 0 };

    if (strncmp(text, "~/", 2) == 0) {
        buffer_add_text(&made, s->home);
        text++;
    }
    for (; *text != '\0'; text++) {
        if ((*text == '~' && made.size == 0) || strncmp(text, "${", 2) == 0)
            goto unknown;
        if (*text != '%')
            buffer_add(&made, text, 1);
        else if (*++text == '\0' || strchr(tokens, *text) == NULL ||
                 add_token(s, config, *text, &made) < 0)
            goto unknown;
    }
    buffer_add(&made, "", 1);
    return made.bytes;
unknown:
    buffer_clear(&made);
    return NULL;
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

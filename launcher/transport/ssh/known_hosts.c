/* known_hosts.c - see known_hosts.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "transport/ssh/known_hosts.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "exit_code.h"
#include "file.h"
#include "log.h"
#include "xalloc.h"

#define ENTRIES_MAX    64 /* keys of one host; more is nonsense */
#define FILE_BYTES_MAX ((size_t)64 << 20)

static void        add_name(struct strlist *names, const char *host, int port);
static void        read_file(struct known_hosts *known, const char *file,
                             const struct strlist *names);
static void        read_line(struct known_hosts *known, char *text,
                             const struct strlist *names);
static bool        can_match(const char *text, const struct strlist *names);
static const char *algorithms(ssh_key key);
static void        add_algorithms(struct buffer *list, const char *more);
static bool        is_same(ssh_key one, ssh_key other);
static int         refuse_revoked(const struct known_host *entry, const char *got,
                                  struct conn_failure *why);
static int         refuse_changed(const struct known_hosts *known,
                                  const struct known_host *old, const char *got,
                                  struct conn_failure *why);
static char       *fingerprint(ssh_key key);
static int         refuse_unknown(const struct known_hosts *known, const char *got,
                                  struct conn_failure *why);
static void        hint_scan(const struct known_hosts *known, struct conn_failure *why);
static const char *main_file(const struct known_hosts *known);

/* ---- gathering ---- */

/* The first name is the one that ssh would use. The others are names of the same node that the
 * user has vouched for: without the port, which ssh also accepts, and the name in the hostfile if
 * addr= leads elsewhere. */
void known_hosts_find(struct known_hosts *known, const struct ssh_config *config,
                      const char *alias)
{
    struct strlist names = { 0 };
    size_t         i;

    *known = (struct known_hosts){ .config = config };
    if (config->host_key_alias != NULL)
        add_name(&names, config->host_key_alias, 22);
    add_name(&names, config->hostname, config->port);
    add_name(&names, config->hostname, 22);
    add_name(&names, alias, config->port);
    add_name(&names, alias, 22);
    known->name = xstrdup(names.item[0]);
    for (i = 0; i < config->known_hosts.count; i++)
        read_file(known, config->known_hosts.item[i], &names);
    strlist_clear(&names);
}

static void add_name(struct strlist *names, const char *host, int port)
{
    char  *name = port == 22 ? xstrdup(host) : xasprintf("[%s]:%d", host, port), *c;
    size_t i;

    for (c = name; *c != '\0'; c++)
        *c = (char)tolower((unsigned char)*c);
    for (i = 0; i < names->count && strcmp(names->item[i], name) != 0; i++)
        ;
    if (i == names->count)
        strlist_add(names, name);
    free(name);
}

void known_hosts_clear(struct known_hosts *known)
{
    size_t i;

    for (i = 0; i < known->count; i++) {
        ssh_key_free(known->entry[i].key);
        free(known->entry[i].file);
    }
    free(known->entry);
    free(known->name);
    *known = (struct known_hosts){ 0 };
}

/* A file that cannot be read contains no known host: the check then reports it. */
static void read_file(struct known_hosts *known, const char *file, const struct strlist *names)
{
    struct error why;
    size_t       size = 0, before;
    char        *text = file_read_at_once(file, FILE_BYTES_MAX, &size, &why), *at, *end;
    int          line = 0;

    if (text == NULL) {
        log_debug("%s", why.text);
        return;
    }
    for (at = text; at < text + size; at = end + 1) {
        end = memchr(at, '\n', (size_t)(text + size - at));
        end = end != NULL ? end : text + size;
        *end = '\0';
        line++;
        before = known->count;
        read_line(known, at, names);
        if (known->count > before) {
            known->entry[before].file = xstrdup(file);
            known->entry[before].line = line;
        }
    }
    free(text);
}

static void read_line(struct known_hosts *known, char *text, const struct strlist *names)
{
    struct ssh_knownhosts_entry *entry = NULL;
    struct known_host            host = { 0 };
    size_t                       i;

    text += strspn(text, " \t");
    text[strcspn(text, "\r\n")] = '\0';
    if (strncmp(text, "@revoked", 8) == 0) {
        host.is_revoked = true;
        text += 8 + strspn(text + 8, " \t");
    }
    /* @cert-authority: libssh does not support certificates of hosts. */
    if (*text == '\0' || *text == '#' || *text == '@' || known->count == ENTRIES_MAX ||
        !can_match(text, names))
        return;
    for (i = 0; i < names->count && entry == NULL; i++) {
        if (ssh_known_hosts_parse_line(names->item[i], text, &entry) != SSH_OK)
            entry = NULL; /* another host's, or malformed */
        host.is_exact = i == 0;
    }
    if (entry == NULL)
        return;
    host.key = entry->publickey;
    entry->publickey = NULL;
    ssh_knownhosts_entry_free(entry);
    known->entry = xreallocarray(known->entry, known->count + 1, sizeof *known->entry);
    known->entry[known->count++] = host;
}

/* Skip most lines of a long file without libssh, which copies and splits each one: only plain
 * names that do not contain ours are certain misses. */
static bool can_match(const char *text, const struct strlist *names)
{
    size_t size = strcspn(text, " \t"), i;

    if (strcspn(text, "|*?!ABCDEFGHIJKLMNOPQRSTUVWXYZ") < size)
        return true;
    for (i = 0; i < names->count; i++)
        if (memmem(text, size, names->item[i], strlen(names->item[i])) != NULL)
            return true;
    return false;
}

/* ---- choosing ---- */

void known_hosts_prefer(const struct known_hosts *known, ssh_session session)
{
    static const char *const all[] = {
        "ssh-ed25519", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521",
        "rsa-sha2-512,rsa-sha2-256",
    };
    struct buffer list = { 0 };
    bool          is_known[sizeof all / sizeof all[0]] = { false };
    size_t        i, k;

    for (i = 0; i < sizeof all / sizeof all[0]; i++)
        for (k = 0; k < known->count; k++)
            if (algorithms(known->entry[k].key) != NULL &&
                strcmp(all[i], algorithms(known->entry[k].key)) == 0)
                is_known[i] = true;
    for (i = 0; i < sizeof all / sizeof all[0]; i++)
        if (is_known[i])
            add_algorithms(&list, all[i]);
    for (i = 0; i < sizeof all / sizeof all[0]; i++)
        if (!is_known[i])
            add_algorithms(&list, all[i]);
    buffer_add(&list, "", 1);
    ssh_options_set(session, SSH_OPTIONS_HOSTKEYS, list.bytes);
    buffer_clear(&list);
}

/* The signature algorithms for a key, best first. */
static const char *algorithms(ssh_key key)
{
    switch (ssh_key_type(key)) {
    case SSH_KEYTYPE_RSA:
        return "rsa-sha2-512,rsa-sha2-256";
    case SSH_KEYTYPE_ECDSA_P256:
    case SSH_KEYTYPE_ECDSA_P384:
    case SSH_KEYTYPE_ECDSA_P521:
    case SSH_KEYTYPE_ECDSA:
        return ssh_pki_key_ecdsa_name(key);
    default:
        return ssh_key_type_to_char(ssh_key_type(key));
    }
}

static void add_algorithms(struct buffer *list, const char *more)
{
    if (more == NULL)
        return;
    if (list->size > 0)
        buffer_add_text(list, ",");
    buffer_add_text(list, more);
}

/* ---- checking ---- */

int known_hosts_check(const struct known_hosts *known, ssh_session session,
                      struct conn_failure *why)
{
    const struct known_host *entry, *same = NULL, *other = NULL, *revoked = NULL;
    ssh_key                  shown = NULL;
    char                    *got;
    size_t                   i;
    int                      rc = 0;

    if (ssh_get_server_publickey(session, &shown) != SSH_OK)
        return conn_failure_set(why, EXIT_PROTOCOL, "the server showed no host key: %s",
                                ssh_get_error(session));
    for (i = 0; i < known->count; i++) {
        entry = &known->entry[i];
        if (is_same(entry->key, shown)) {
            if (entry->is_revoked)
                revoked = entry;
            else
                same = entry;
        } else if (entry->is_exact && !entry->is_revoked && other == NULL &&
                   ssh_key_type(entry->key) == ssh_key_type(shown)) {
            other = entry;
        }
    }
    got = fingerprint(shown);
    if (revoked != NULL)
        rc = refuse_revoked(revoked, got, why);
    else if (same == NULL && other != NULL)
        rc = refuse_changed(known, other, got, why);
    else if (same == NULL && !known->config->accept_unknown)
        rc = refuse_unknown(known, got, why);
    else if (same == NULL)
        log_info("%s: accepted the unknown host key %s: StrictHostKeyChecking is off", known->name,
                 got);
    free(got);
    ssh_key_free(shown);
    return rc;
}

static bool is_same(ssh_key one, ssh_key other)
{
    return ssh_key_cmp(one, other, SSH_KEY_CMP_PUBLIC) == 0;
}

static int refuse_revoked(const struct known_host *entry, const char *got,
                          struct conn_failure *why)
{
    return conn_failure_set(why, EXIT_REFUSED, "the host key is revoked: %s in %s:%d", got,
                            entry->file, entry->line);
}

static int refuse_changed(const struct known_hosts *known, const struct known_host *old,
                          const char *got, struct conn_failure *why)
{
    char *was = fingerprint(old->key);

    conn_failure_set(why, EXIT_REFUSED, "the host key has changed: the server shows %s, but %s:%d "
                     "has %s for %s", got, old->file, old->line, was, known->name);
    conn_failure_hint(why, "if the node was set up anew: ssh-keygen -R '%s' -f %s, then "
                           "ssh-keyscan -p %d %s >> %s; if not, the connection may be intercepted",
                      known->name, old->file, known->config->port, known->config->hostname,
                      old->file);
    free(was);
    return -1;
}

static char *fingerprint(ssh_key key)
{
    unsigned char *hash = NULL;
    char          *text = NULL, *made;
    size_t         size;

    if (ssh_get_publickey_hash(key, SSH_PUBLICKEY_HASH_SHA256, &hash, &size) == 0)
        text = ssh_get_fingerprint_hash(SSH_PUBLICKEY_HASH_SHA256, hash, size);
    made = xasprintf("%s %s", ssh_key_type_to_char(ssh_key_type(key)),
                     text != NULL ? text : "(no fingerprint)");
    ssh_clean_pubkey_hash(&hash);
    ssh_string_free_char(text);
    return made;
}

static int refuse_unknown(const struct known_hosts *known, const char *got,
                          struct conn_failure *why)
{
    conn_failure_set(why, EXIT_REFUSED, "the host key is not known: the server shows %s; no "
                     "such key for %s in %s", got, known->name, main_file(known));
    hint_scan(known, why);
    return -1;
}

static void hint_scan(const struct known_hosts *known, struct conn_failure *why)
{
    conn_failure_hint(why, "connect once with ssh and compare the fingerprint, or: "
                           "ssh-keyscan -p %d %s >> %s",
                      known->config->port, known->config->hostname, main_file(known));
}

/* The file to add a key to. */
static const char *main_file(const struct known_hosts *known)
{
    const struct strlist *files = &known->config->known_hosts;

    return files->count > 0 && strcmp(files->item[0], "/dev/null") != 0 ? files->item[0]
                                                                        : "~/.ssh/known_hosts";
}

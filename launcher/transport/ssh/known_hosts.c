/* known_hosts.c - see known_hosts.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "transport/ssh/known_hosts.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "buffer.h"
#include "exit_code.h"
#include "fd.h"
#include "file.h"
#include "log.h"
#include "transport/login.h"
#include "transport/ssh/ssh_pattern.h"
#include "xalloc.h"

#define FILE_BYTES_MAX ((size_t)64 << 20)
#define HASH_BYTES     20 /* of SHA1 */
#define HASH_CHARS     28 /* in base64, with one '=' at the end */

static void        read_file(struct known_hosts *known, const char *file,
                             const struct strlist *names);
static void        read_line(struct known_hosts *known, char *text,
                             const struct strlist *names);
static char       *next_word(char **text);
static bool        is_named(const char *name, const char *line_names);
static char       *in_lower_case(const char *text);
static bool        is_hash_of(const char *name, const char *hashed);
static bool        decode(const char **at, char end, unsigned char bytes[HASH_BYTES]);
static bool        is_ordered_by_user(const char *host_keys);
static bool        is_first_known(const struct known_hosts *known);
static bool        is_allowed(const struct known_hosts *known, const char *algorithm);
static bool        is_known(const struct known_hosts *known, const char *algorithm);
static bool        is_revoked(const struct known_hosts *known, ssh_key key);
static const char *algorithms(ssh_key key);
static void        add_algorithm(struct buffer *list, const char *more);
static int         check_key(const struct known_hosts *known, ssh_key shown,
                             struct conn_failure *why);
static bool        is_nearer(const struct known_host *entry, const struct known_host *other,
                             ssh_key shown);
static bool        is_same(ssh_key one, ssh_key other);
static int         record(const struct known_hosts *known, ssh_key shown, const char *got,
                          struct conn_failure *why);
static int         add_line(const char *file, const char *name, ssh_key key, struct error *err);
static int         append(const char *file, const char *line, struct error *err);
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

void known_hosts_find(struct known_hosts *known, const struct ssh_config *config)
{
    struct strlist names = { 0 };
    size_t         i;

    *known = (struct known_hosts){ .config = config };
    if (config->host_key_alias != NULL) {
        strlist_add(&names, config->host_key_alias);
    } else {
        if (config->port != 22)
            strlist_addf(&names, "[%s]:%d", config->hostname, config->port);
        strlist_add(&names, config->hostname);
    }
    known->name = xstrdup(names.item[0]);
    for (i = 0; i < config->known_hosts.count; i++)
        read_file(known, config->known_hosts.item[i], &names);
    strlist_clear(&names);
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

/* A file that cannot be read contains no known host; known_hosts_check() then reports an
 * unknown key. */
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

/* Reads "[@marker] names type key [comment]". */
static void read_line(struct known_hosts *known, char *text, const struct strlist *names)
{
    struct known_host host = { 0 };
    char             *word = next_word(&text), *type;
    bool              is_authority = false;
    size_t            i;

    if (word != NULL && *word == '@') {
        host.is_revoked = strcmp(word, "@revoked") == 0;
        is_authority = strcmp(word, "@cert-authority") == 0;
        if (!host.is_revoked && !is_authority)
            return;
        word = next_word(&text);
    }
    if (word == NULL || *word == '#')
        return;
    for (i = 0; i < names->count && !is_named(names->item[i], word); i++)
        ;
    if (i == names->count)
        return;
    host.is_exact = i == 0;
    known->has_authority = known->has_authority || is_authority;
    type = next_word(&text);
    word = next_word(&text);
    if (is_authority || word == NULL ||
        ssh_pki_import_pubkey_base64(word, ssh_key_type_from_name(type), &host.key) != SSH_OK)
        return;
    known->entry = xreallocarray(known->entry, known->count + 1, sizeof *known->entry);
    known->entry[known->count++] = host;
}

/* Cuts off and returns the next word of a line; NULL at the end of the line. */
static char *next_word(char **text)
{
    char *word;

    do
        word = strsep(text, " \t\r");
    while (word != NULL && *word == '\0');
    return word;
}

/* Does the line name this host? Its names are patterns, or one hash. */
static bool is_named(const char *name, const char *line_names)
{
    char *lower, *lower_names;
    bool  is_match;

    if (line_names[0] == '|')
        return is_hash_of(name, line_names);
    lower = in_lower_case(name);
    lower_names = in_lower_case(line_names);
    is_match = ssh_pattern_list_matches(lower, lower_names);
    free(lower);
    free(lower_names);
    return is_match;
}

static char *in_lower_case(const char *text)
{
    char *copy = xstrdup(text), *c;

    for (c = copy; *c != '\0'; c++)
        *c = (char)tolower((unsigned char)*c);
    return copy;
}

/* Is hashed "|1|salt|hash" of this name? Both are in base64. The hash is the HMAC-SHA1 of the
 * name, with the salt as its key. */
static bool is_hash_of(const char *name, const char *hashed)
{
    unsigned char salt[HASH_BYTES], wanted[HASH_BYTES], made[EVP_MAX_MD_SIZE];
    unsigned      size = 0;
    const char   *at = hashed + 3;

    if (strncmp(hashed, "|1|", 3) != 0 || !decode(&at, '|', salt) || !decode(&at, '\0', wanted))
        return false;
    return HMAC(EVP_sha1(), salt, sizeof salt, (const unsigned char *)name, strlen(name), made,
                &size) != NULL &&
           size == sizeof wanted && memcmp(made, wanted, sizeof wanted) == 0;
}

/* Decodes HASH_BYTES from base64 text that ends with end, and moves *at past it. */
static bool decode(const char **at, char end, unsigned char bytes[HASH_BYTES])
{
    unsigned char whole[HASH_BYTES + 4];

    if (strcspn(*at, "|") < HASH_CHARS || (*at)[HASH_CHARS] != end ||
        EVP_DecodeBlock(whole, (const unsigned char *)*at, HASH_CHARS) != HASH_BYTES + 1)
        return false;
    memcpy(bytes, whole, HASH_BYTES);
    *at += HASH_CHARS + 1;
    return true;
}

/* ---- choosing ---- */

void known_hosts_prefer(const struct known_hosts *known, ssh_session session)
{
    static const char *const all[] = {
        "ssh-ed25519", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521",
        "rsa-sha2-512", "rsa-sha2-256",
    };
    const size_t  count = sizeof all / sizeof all[0];
    struct buffer list = { 0 };
    bool          is_as_is = is_first_known(known), is_later;
    size_t        i;

    if (is_ordered_by_user(known->config->host_keys))
        return;
    for (is_later = false;; is_later = true) {
        for (i = 0; i < count; i++)
            if (is_allowed(known, all[i]) && (is_as_is || is_known(known, all[i])) != is_later)
                add_algorithm(&list, all[i]);
        if (is_later)
            break;
    }
    buffer_add(&list, "", 1);
    if (list.bytes[0] != '\0')
        ssh_options_set(session, SSH_OPTIONS_HOSTKEYS, list.bytes);
    buffer_clear(&list);
}

/* Does HostKeyAlgorithms replace ssh's list, rather than extend or reduce it? Then ssh ignores
 * which keys are known. ssh's own list, which ssh -G prints, begins with certificates. */
static bool is_ordered_by_user(const char *host_keys)
{
    return host_keys != NULL &&
           memmem(host_keys, strcspn(host_keys, ","), "-cert-", strlen("-cert-")) == NULL;
}

/* Is a key known for the first algorithm of the list, even if that is the one for certificates?
 * Then ssh uses the list unchanged. */
static bool is_first_known(const struct known_hosts *known)
{
    char *first = xstrdup(known->config->host_keys != NULL ? known->config->host_keys
                                                           : "ssh-ed25519");
    char *end;
    bool  is_it;

    first[strcspn(first, ",")] = '\0';
    end = strstr(first, "-cert-");
    if (end != NULL)
        *end = '\0';
    is_it = is_known(known, first);
    free(first);
    return is_it;
}

static bool is_allowed(const struct known_hosts *known, const char *algorithm)
{
    return known->config->host_keys == NULL ||
           ssh_pattern_list_matches(algorithm, known->config->host_keys);
}

/* Is a key for algorithm known under the name itself? ssh tries the name without a port only
 * later, for revoked keys, too. As in ssh, the first key of its type decides: if it is revoked,
 * a later key is no reason to ask for the type. */
static bool is_known(const struct known_hosts *known, const char *algorithm)
{
    const char *of_key;
    size_t      i;

    for (i = 0; i < known->count; i++) {
        of_key = algorithms(known->entry[i].key);
        if (known->entry[i].is_exact && !known->entry[i].is_revoked && of_key != NULL &&
            ssh_pattern_list_matches(algorithm, of_key))
            return !is_revoked(known, known->entry[i].key);
    }
    return false;
}

static bool is_revoked(const struct known_hosts *known, ssh_key key)
{
    size_t i;

    for (i = 0; i < known->count; i++)
        if (known->entry[i].is_exact && known->entry[i].is_revoked &&
            is_same(known->entry[i].key, key))
            return true;
    return false;
}

/* Returns the signature algorithms for a key, best first. */
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

static void add_algorithm(struct buffer *list, const char *more)
{
    if (list->size > 0)
        buffer_add_text(list, ",");
    buffer_add_text(list, more);
}

/* ---- checking ---- */

int known_hosts_check(const struct known_hosts *known, ssh_session session,
                      struct conn_failure *why)
{
    ssh_key shown = NULL;
    int     rc;

    if (ssh_get_server_publickey(session, &shown) != SSH_OK)
        return conn_failure_set(why, EXIT_PROTOCOL, "the server showed no host key: %s",
                                ssh_get_error(session));
    rc = check_key(known, shown, why);
    ssh_key_free(shown);
    return rc;
}

static int check_key(const struct known_hosts *known, ssh_key shown, struct conn_failure *why)
{
    const struct known_host *entry, *same = NULL, *other = NULL, *revoked = NULL;
    char                    *got = fingerprint(shown);
    size_t                   i;
    int                      rc = 0;

    for (i = 0; i < known->count; i++) {
        entry = &known->entry[i];
        if (is_same(entry->key, shown)) {
            if (entry->is_revoked)
                revoked = entry;
            else if (same == NULL || entry->is_exact)
                same = entry;
        } else if (entry->is_exact && !entry->is_revoked && is_nearer(entry, other, shown)) {
            other = entry;
        }
    }
    if (same != NULL && !same->is_exact && other != NULL)
        same = NULL; /* ssh tries the name without a port only if the other has no key */
    if (revoked != NULL)
        rc = refuse_revoked(revoked, got, why);
    else if (other != NULL && same == NULL)
        rc = refuse_changed(known, other, got, why);
    else if (same == NULL && login_records_unknown())
        rc = record(known, shown, got, why);
    else if (same == NULL && !known->config->accept_unknown)
        rc = refuse_unknown(known, got, why);
    else if (same == NULL)
        log_info("%s: unknown host key %s accepted: StrictHostKeyChecking is off", known->name,
                 got);
    free(got);
    return rc;
}

/* Should a message about a changed key show entry rather than other? It shows the first key of
 * the same type, or else the first key. */
static bool is_nearer(const struct known_host *entry, const struct known_host *other, ssh_key shown)
{
    return other == NULL || (ssh_key_type(other->key) != ssh_key_type(shown) &&
                             ssh_key_type(entry->key) == ssh_key_type(shown));
}

static bool is_same(ssh_key one, ssh_key other)
{
    return ssh_key_cmp(one, other, SSH_KEY_CMP_PUBLIC) == 0;
}

static int record(const struct known_hosts *known, ssh_key shown, const char *got,
                  struct conn_failure *why)
{
    struct error err;

    if (add_line(main_file(known), known->name, shown, &err) < 0)
        return conn_failure_set(why, EXIT_CREATE, "%s", err.text);
    log_warn("%s: host key recorded in %s: %s", known->name, main_file(known), got);
    return 0;
}

/* Adds "NAME TYPE KEY". Creates the file if it does not exist. */
static int add_line(const char *file, const char *name, ssh_key key, struct error *err)
{
    const char *home = getenv("HOME");
    char       *whole = strncmp(file, "~/", 2) == 0 && home != NULL
                            ? xasprintf("%s%s", home, file + 1) : xstrdup(file);
    char       *base64 = NULL, *line;
    int         rc;

    if (ssh_pki_export_pubkey_base64(key, &base64) != SSH_OK) {
        free(whole);
        return err_set(err, "%s: the host key cannot be written", file);
    }
    line = xasprintf("%s %s %s\n", name, ssh_key_type(key) == SSH_KEYTYPE_RSA
                                             ? "ssh-rsa" : ssh_key_type_to_char(ssh_key_type(key)),
                     base64);
    rc = append(whole, line, err);
    free(line);
    ssh_string_free_char(base64);
    free(whole);
    return rc;
}

/* The last line of the file may lack a line end. */
static int append(const char *file, const char *line, struct error *err)
{
    const char *slash = strrchr(file, '/');
    char *dir = slash != NULL && slash != file ? xstrndup(file, (size_t)(slash - file)) : NULL;
    char        last = '\n';
    int         fd, rc = 0;
    off_t       size;

    if (dir != NULL)
        mkdir(dir, 0700);
    free(dir);
    fd = open(file, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0600);
    if (fd < 0)
        return err_set(err, "%s: %s", file, strerror(errno));
    size = lseek(fd, 0, SEEK_END);
    if (size > 0 && pread(fd, &last, 1, size - 1) != 1)
        last = '\n';
    if ((last != '\n' && fd_write_all(fd, "\n", 1) != 1) ||
        fd_write_all(fd, line, strlen(line)) != strlen(line) || fsync(fd) < 0)
        rc = err_set(err, "%s: %s", file, strerror(errno));
    close(fd);
    return rc;
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
    conn_failure_hint(why,
                      "if the node was reinstalled: ssh-keygen -R '%s' -f %s, then ssh-keyscan "
                      "-p %d %s >> %s; if not, the connection may be intercepted",
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
    conn_failure_set(why, EXIT_REFUSED,
                     "the host key is unknown: the server shows %s; no such key for %s in %s",
                     got, known->name, main_file(known));
    hint_scan(known, why);
    if (login_takes_password(LOGIN_BY_SSH))
        conn_failure_hint(why, "if the cloud's console shows the same fingerprint: add "
                               "--trust-first, which records it");
    return -1;
}

static void hint_scan(const struct known_hosts *known, struct conn_failure *why)
{
    conn_failure_hint(why, "connect once with ssh and compare the fingerprint, or: "
                           "ssh-keyscan -p %d %s >> %s",
                      known->config->port, known->config->hostname, main_file(known));
}

/* Returns the file to which keys are added. */
static const char *main_file(const struct known_hosts *known)
{
    const struct strlist *files = &known->config->known_hosts;

    return files->count > 0 && strcmp(files->item[0], "/dev/null") != 0 ? files->item[0]
                                                                        : "~/.ssh/known_hosts";
}

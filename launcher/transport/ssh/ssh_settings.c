/* ssh_settings.c - see ssh_settings.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "transport/ssh/ssh_settings.h"

#include <errno.h>
#include <glob.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file.h"
#include "transport/ssh/ssh_pattern.h"
#include "xalloc.h"

#define CONFIG_BYTES_MAX (1 << 20)

enum check {
    CHECK_WORD,     /* one word without characters that ssh would expand */
    CHECK_JUMP,     /* such a word without a port, because ssh refuses some ports */
    CHECK_PATHS,    /* several such words, which may begin with "~/" */
    CHECK_PATTERNS, /* several such words, with '*', '?' and a leading '!' */
    CHECK_NUMBER,   /* decimal, at least 1 */
    CHECK_CHOICE,   /* one of choices */
    CHECK_NEVER,    /* ask ssh */
};

#define YES_NO "yes,no,true,false"

/* muster asks ssh about keywords that are not here. */
static const struct {
    const char  *name;
    enum keyword key;
    enum check   check;
    const char  *choices;
} keywords[] = {
    { "host", KEY_HOST, CHECK_PATTERNS, NULL },
    { "include", KEY_INCLUDE, CHECK_PATTERNS, NULL },
    { "hostname", KEY_HOSTNAME, CHECK_WORD, NULL },
    { "port", KEY_PORT, CHECK_NUMBER, NULL },
    { "user", KEY_USER, CHECK_WORD, NULL },
    { "addressfamily", KEY_ADDRESS_FAMILY, CHECK_CHOICE, "any,inet,inet6" },
    { "identityagent", KEY_IDENTITY_AGENT, CHECK_PATHS, NULL },
    { "identityfile", KEY_IDENTITY_FILE, CHECK_PATHS, NULL },
    { "identitiesonly", KEY_IDENTITIES_ONLY, CHECK_CHOICE, YES_NO },
    { "hostkeyalias", KEY_HOST_KEY_ALIAS, CHECK_WORD, NULL },
    { "stricthostkeychecking", KEY_STRICT, CHECK_CHOICE, YES_NO ",ask,off,accept-new" },
    { "checkhostip", KEY_CHECK_IP, CHECK_CHOICE, YES_NO },
    { "userknownhostsfile", KEY_USER_KNOWN_HOSTS, CHECK_PATHS, NULL },
    { "globalknownhostsfile", KEY_GLOBAL_KNOWN_HOSTS, CHECK_PATHS, NULL },
    { "proxyjump", KEY_PROXY_JUMP, CHECK_JUMP, NULL },

    { "addkeystoagent", KEY_IGNORED, CHECK_CHOICE, YES_NO ",ask,confirm" },
    { "batchmode", KEY_IGNORED, CHECK_CHOICE, YES_NO },
    { "compression", KEY_IGNORED, CHECK_CHOICE, "yes,no" },
    { "connectionattempts", KEY_IGNORED, CHECK_NUMBER, NULL },
    { "connecttimeout", KEY_IGNORED, CHECK_NUMBER, NULL },
    { "controlmaster", KEY_IGNORED, CHECK_CHOICE, YES_NO ",ask,auto,autoask" },
    { "exitonforwardfailure", KEY_IGNORED, CHECK_CHOICE, YES_NO },
    { "forwardagent", KEY_IGNORED, CHECK_CHOICE, YES_NO },
    { "forwardx11", KEY_IGNORED, CHECK_CHOICE, YES_NO },
    { "forwardx11trusted", KEY_IGNORED, CHECK_CHOICE, YES_NO },
    { "gssapiauthentication", KEY_IGNORED, CHECK_CHOICE, YES_NO },
    { "gssapidelegatecredentials", KEY_IGNORED, CHECK_CHOICE, YES_NO },
    { "hashknownhosts", KEY_IGNORED, CHECK_CHOICE, YES_NO },
    { "kbdinteractiveauthentication", KEY_IGNORED, CHECK_CHOICE, YES_NO },
    { "loglevel", KEY_IGNORED, CHECK_CHOICE,
      "quiet,fatal,error,info,verbose,debug,debug1,debug2,debug3" },
    { "passwordauthentication", KEY_IGNORED, CHECK_CHOICE, YES_NO },
    { "requesttty", KEY_IGNORED, CHECK_CHOICE, YES_NO ",force,auto" },
    { "sendenv", KEY_IGNORED, CHECK_PATTERNS, NULL },
    { "serveralivecountmax", KEY_IGNORED, CHECK_NUMBER, NULL },
    { "serveraliveinterval", KEY_IGNORED, CHECK_NUMBER, NULL },
    { "tcpkeepalive", KEY_IGNORED, CHECK_CHOICE, YES_NO },
    { "visualhostkey", KEY_IGNORED, CHECK_CHOICE, YES_NO },

    { "proxycommand", KEY_PROXY_COMMAND, CHECK_NEVER, NULL },
    { "certificatefile", KEY_CERTIFICATE_FILE, CHECK_NEVER, NULL },
    { "ciphers", KEY_CIPHERS, CHECK_NEVER, NULL },
    { "kexalgorithms", KEY_KEX, CHECK_NEVER, NULL },
    { "macs", KEY_MACS, CHECK_NEVER, NULL },
    { "hostkeyalgorithms", KEY_HOST_KEYS, CHECK_NEVER, NULL },
    { "pubkeyacceptedalgorithms", KEY_KEY_TYPES, CHECK_NEVER, NULL },
    { "requiredrsasize", KEY_RSA_SIZE, CHECK_NEVER, NULL },
    { "pubkeyauthentication", KEY_PUBKEY, CHECK_NEVER, NULL },
    { "preferredauthentications", KEY_PREFERRED, CHECK_NEVER, NULL },
    { "knownhostscommand", KEY_KNOWN_HOSTS_COMMAND, CHECK_NEVER, NULL },
    { "revokedhostkeys", KEY_REVOKED, CHECK_NEVER, NULL },
    { "verifyhostkeydns", KEY_DNS, CHECK_NEVER, NULL },
    { "pkcs11provider", KEY_PKCS11, CHECK_NEVER, NULL },
    { "bindaddress", KEY_BIND_ADDRESS, CHECK_NEVER, NULL },
    { "bindinterface", KEY_BIND_INTERFACE, CHECK_NEVER, NULL },
    { "proxyusefdpass", KEY_FDPASS, CHECK_NEVER, NULL },
    { "rekeylimit", KEY_REKEY, CHECK_NEVER, NULL },
};
#define KEYWORDS (sizeof keywords / sizeof keywords[0])

static bool         is_there(const char *path);
static bool         is_safe(const char *path);
static void         read_line(struct ssh_settings *s, char *line);
static void         doubt(struct ssh_settings *s, const char *what);
static bool         is_understood(size_t row, const struct strlist *words);
static bool         is_plain(const char *word, const char *more);
static bool         is_choice(const char *word, const char *choices);
static void         include(struct ssh_settings *s, const struct strlist *words);
static char        *include_pattern(const struct ssh_settings *s, const char *word);
static bool         stamp_includes(struct ssh_settings *s, char *line, struct buffer *stamp);
static bool         stamp_found(struct ssh_settings *s, const char *word, struct buffer *stamp);
static void         keep_value(struct ssh_settings *s, enum keyword key,
                               const struct strlist *words);
static char        *cut_keyword(char *keyword);
static size_t       find_keyword(const char *name);
static void         split_words(char *text, struct strlist *words);
static bool         match_host_line(const char *host, const struct strlist *words);

/* The home directory is the one in the password file, not $HOME, as in ssh. */
void ssh_settings_init(struct ssh_settings *s, const struct conn_target *target)
{
    const struct passwd *me = getpwuid(getuid());

    *s = (struct ssh_settings){ .target = target, .name = "" };
    s->home = xstrdup(me != NULL ? me->pw_dir : getenv("HOME") != NULL ? getenv("HOME") : "/");
    s->local_user = me != NULL ? xstrdup(me->pw_name) : xasprintf("%u", (unsigned)getuid());
}

void ssh_settings_clear(struct ssh_settings *s)
{
    int i;

    for (i = 0; i < KEY_COUNT; i++) {
        strlist_clear(&s->value[i]);
        free(s->place[i]);
    }
    free(s->home);
    free(s->local_user);
    free(s->doubt);
}

int ssh_settings_read(struct ssh_settings *s, const char *path, bool must_exist,
                      struct error *err)
{
    char *text;

    if (!must_exist && !is_there(path))
        return 0;
    text = file_read_at_once(path, CONFIG_BYTES_MAX, &(size_t){ 0 }, err);
    if (text == NULL)
        return -1;
    s->name = path;
    s->line = 0;
    if (s->is_users && !is_safe(path))
        doubt(s, "its owner or mode");
    ssh_settings_parse(s, path, text);
    free(text);
    return 0;
}

/* A directory that Include finds is skipped, as in ssh. */
static bool is_there(const char *path)
{
    struct stat about;

    if (stat(path, &about) < 0)
        return errno != ENOENT && errno != ENOTDIR;
    return !S_ISDIR(about.st_mode);
}

/* As ssh requires: does the file belong to us or root, and can only its owner write to it? */
static bool is_safe(const char *path)
{
    struct stat about;

    return stat(path, &about) == 0 && (about.st_uid == 0 || about.st_uid == getuid()) &&
           (about.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

void ssh_settings_parse(struct ssh_settings *s, const char *name, char *text)
{
    char *line;

    s->name = name;
    s->line = 0;
    s->is_active = true;
    while ((line = strsep(&text, "\n")) != NULL) {
        s->line++;
        read_line(s, line);
    }
}

void ssh_settings_take_answer(struct ssh_settings *s, char *text)
{
    struct strlist words = { 0 };
    char          *line, *value;
    size_t         row;

    s->name = "ssh -G";
    s->line = 0;
    s->is_active = true;
    while ((line = strsep(&text, "\n")) != NULL) {
        s->line++;
        value = line + strcspn(line, " ");
        if (*value != '\0')
            *value++ = '\0';
        row = find_keyword(line);
        if (row == KEYWORDS || *value == '\0' || keywords[row].key <= KEY_INCLUDE)
            continue;
        /* Lists of files are on one line; everything else is one value, blanks included. */
        if (keywords[row].key == KEY_USER_KNOWN_HOSTS ||
            keywords[row].key == KEY_GLOBAL_KNOWN_HOSTS)
            split_words(value, &words);
        else
            strlist_add(&words, value);
        keep_value(s, keywords[row].key, &words);
        strlist_clear(&words);
    }
}

const char *ssh_settings_get(const struct ssh_settings *s, enum keyword key, const char *given,
                             const char *otherwise)
{
    if (given != NULL)
        return given;
    return s->value[key].count > 0 ? s->value[key].item[0] : otherwise;
}

static void read_line(struct ssh_settings *s, char *line)
{
    struct strlist words = { 0 };
    size_t         row;
    char          *value;

    line += strspn(line, " \t");
    if (*line == '\0' || *line == '#')
        return;
    value = cut_keyword(line);
    row = find_keyword(line);
    split_words(value, &words);
    if (row == KEYWORDS || !is_understood(row, &words))
        doubt(s, line);
    else if (keywords[row].key == KEY_HOST)
        s->is_active = match_host_line(s->target->host, &words);
    else if (keywords[row].key == KEY_INCLUDE)
        include(s, &words);
    else
        keep_value(s, keywords[row].key, &words);
    strlist_clear(&words);
}

/* Keeps the first doubt. */
static void doubt(struct ssh_settings *s, const char *what)
{
    if (s->doubt == NULL)
        s->doubt = xasprintf("%s:%d: %s", s->name, s->line, what);
}

static bool is_understood(size_t row, const struct strlist *words)
{
    enum check check = keywords[row].check;
    size_t     i;

    if (words->count == 0 || check == CHECK_NEVER ||
        (words->count > 1 && check != CHECK_PATHS && check != CHECK_PATTERNS) ||
        (words->count > 1 && keywords[row].key == KEY_IDENTITY_FILE))
        return false;
    for (i = 0; i < words->count; i++) {
        const char *word = words->item[i];

        if (check == CHECK_CHOICE  ? !is_choice(word, keywords[row].choices)
            : check == CHECK_NUMBER ? word[0] == '0' || strlen(word) > 5 ||
                                          word[strspn(word, "0123456789")] != '\0' ||
                                          (keywords[row].key == KEY_PORT && atoi(word) > 65535)
            : check == CHECK_JUMP     ? strpbrk(word, ":[]/+") != NULL || !is_plain(word, "")
            : check == CHECK_PATTERNS ? !is_plain(word + (word[0] == '!'), "*?~")
                                      : !is_plain(word, check == CHECK_PATHS ? "~" : ""))
            return false;
    }
    return true;
}

/* Does word contain only characters that have no meaning to ssh, or are in more? A '~' in more
 * allows "~/" only at the beginning. */
static bool is_plain(const char *word, const char *more)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-+./:,@[]";
    const char *at = word;

    if (strncmp(word, "~/", 2) == 0 && strchr(more, '~') != NULL)
        at++;
    while (*at != '\0' && (strchr(plain, *at) != NULL || (*at != '~' && strchr(more, *at) != NULL)))
        at++;
    return *at == '\0' && *word != '\0' && *word != '-';
}

static bool is_choice(const char *word, const char *choices)
{
    size_t size = strlen(word);

    for (; choices != NULL; choices = strchr(choices, ',')) {
        choices += *choices == ',';
        if (strncasecmp(choices, word, size) == 0 &&
            (choices[size] == ',' || choices[size] == '\0'))
            return true;
    }
    return false;
}

static void include(struct ssh_settings *s, const struct strlist *words)
{
    struct ssh_settings before = *s;
    struct error        why;
    glob_t              found;
    char               *pattern;
    size_t              i, k;

    /* ssh reads these files even if they do not apply, and may refuse their contents. */
    if (!s->is_active || s->depth >= INCLUDE_DEPTH_MAX) {
        doubt(s, "Include");
        return;
    }
    s->depth++;
    s->is_users = true;
    for (i = 0; i < words->count; i++) {
        pattern = include_pattern(s, words->item[i]);
        if (glob(pattern, 0, NULL, &found) == 0) {
            for (k = 0; k < found.gl_pathc; k++)
                if (ssh_settings_read(s, found.gl_pathv[k], false, &why) < 0)
                    doubt(s, why.text);
            globfree(&found);
        }
        free(pattern);
        s->name = before.name;
        s->line = before.line;
        s->is_active = before.is_active;
    }
    s->depth = before.depth;
    s->is_users = before.is_users;
}

static char *include_pattern(const struct ssh_settings *s, const char *word)
{
    if (word[0] == '/')
        return xstrdup(word);
    if (strncmp(word, "~/", 2) == 0)
        return xasprintf("%s/%s", s->home, word + 2);
    return s->is_system ? xasprintf(SYSTEM_DIR "/%s", word)
                        : xasprintf("%s/.ssh/%s", s->home, word);
}

/* Uses the inode's change time: a new owner, a new mode and a mv change it, too, and no program
 * can set it. */
bool ssh_settings_stamp(struct ssh_settings *s, const char *path, struct buffer *stamp)
{
    struct stat  about;
    struct error err;
    char         version[128];
    char        *text, *rest, *line;
    size_t       size;
    bool         is_certain = true;

    buffer_add_text(stamp, path);
    if (stat(path, &about) < 0) {
        snprintf(version, sizeof version, ": error %d\n", errno);
        buffer_add_text(stamp, version);
        return true;
    }
    snprintf(version, sizeof version, ": %ju %ju %jd.%09ld %jd\n", (uintmax_t)about.st_dev,
             (uintmax_t)about.st_ino, (intmax_t)about.st_ctim.tv_sec, about.st_ctim.tv_nsec,
             (intmax_t)about.st_size);
    buffer_add_text(stamp, version);
    if (S_ISDIR(about.st_mode))
        return true;
    text = rest = file_read_at_once(path, CONFIG_BYTES_MAX, &size, &err);
    if (text == NULL || strlen(text) != size) {
        free(text);
        return false;
    }
    while (is_certain && (line = strsep(&rest, "\n")) != NULL)
        is_certain = stamp_includes(s, line, stamp);
    free(text);
    return is_certain;
}

/* Includes under a Host or Match that does not apply count, too: ssh reads those files, and may
 * refuse them. */
static bool stamp_includes(struct ssh_settings *s, char *line, struct buffer *stamp)
{
    struct strlist words = { 0 };
    char          *value;
    bool           is_certain = true;
    size_t         i;

    line += strspn(line, " \t\r=");
    if (*line != '"' && strncasecmp(line, "include", 7) != 0)
        return true;
    if (line[strcspn(line, "\"'\\%$#\r\f\v")] != '\0')
        return false;
    value = cut_keyword(line);
    split_words(value, &words);
    for (i = 0; i < words.count && is_certain; i++)
        is_certain = stamp_found(s, words.item[i], stamp);
    strlist_clear(&words);
    return is_certain;
}

static bool stamp_found(struct ssh_settings *s, const char *word, struct buffer *stamp)
{
    glob_t found;
    char  *pattern;
    bool   is_certain = true;
    size_t i;

    if (s->depth >= INCLUDE_DEPTH_MAX || (word[0] == '~' && word[1] != '/'))
        return false;
    pattern = include_pattern(s, word);
    s->depth++;
    if (glob(pattern, 0, NULL, &found) == 0) {
        for (i = 0; i < found.gl_pathc && is_certain; i++)
            is_certain = ssh_settings_stamp(s, found.gl_pathv[i], stamp);
        globfree(&found);
    }
    s->depth--;
    free(pattern);
    return is_certain;
}

static void keep_value(struct ssh_settings *s, enum keyword key, const struct strlist *words)
{
    bool adds_up = key == KEY_IDENTITY_FILE || key == KEY_CERTIFICATE_FILE;

    if (!s->is_active || (s->place[key] != NULL && !adds_up))
        return;
    /* ProxyCommand and ProxyJump exclude each other: the first one wins. */
    if ((key == KEY_PROXY_COMMAND && s->place[KEY_PROXY_JUMP] != NULL) ||
        (key == KEY_PROXY_JUMP && s->place[KEY_PROXY_COMMAND] != NULL))
        return;
    strlist_append(&s->value[key], words);
    if (s->place[key] == NULL)
        s->place[key] = xasprintf("%s:%d", s->name, s->line);
}

/* Splits "Keyword value" or "Keyword=value": ends the keyword with NUL and returns the
 * value. */
static char *cut_keyword(char *keyword)
{
    char *end = keyword + strcspn(keyword, " \t="), *value = end + strspn(end, " \t");

    if (*value == '=')
        value++;
    value += strspn(value, " \t");
    *end = '\0';
    return value;
}

static size_t find_keyword(const char *name)
{
    size_t row = 0;

    while (row < KEYWORDS && strcasecmp(keywords[row].name, name) != 0)
        row++;
    return row;
}

/* Splits text at blanks. Quotes, comments and control characters stay in the words: no check
 * accepts them. */
static void split_words(char *text, struct strlist *words)
{
    char *word;

    while ((word = strsep(&text, " \t")) != NULL)
        if (*word != '\0')
            strlist_add(words, word);
}

static bool match_host_line(const char *host, const struct strlist *words)
{
    bool   is_match = false;
    size_t i;

    for (i = 0; i < words->count; i++) {
        enum ssh_pattern_result result = ssh_pattern_try(host, words->item[i]);

        if (result == SSH_PATTERN_EXCLUDED)
            return false;
        is_match = is_match || result == SSH_PATTERN_MATCHES;
    }
    return is_match;
}

/* ssh_settings.c - see ssh_settings.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "transport/ssh/ssh_settings.h"

#include <errno.h>
#include <glob.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file.h"
#include "xalloc.h"

#define CONFIG_BYTES_MAX (1 << 20)

static const struct {
    const char  *name;
    enum keyword key;
} keywords[] = {
    { "host", KEY_HOST },
    { "match", KEY_MATCH },
    { "include", KEY_INCLUDE },
    { "hostname", KEY_HOSTNAME },
    { "port", KEY_PORT },
    { "user", KEY_USER },
    { "addressfamily", KEY_ADDRESS_FAMILY },
    { "identityagent", KEY_IDENTITY_AGENT },
    { "hostkeyalias", KEY_HOST_KEY_ALIAS },
    { "stricthostkeychecking", KEY_STRICT },
    { "ciphers", KEY_CIPHERS },
    { "kexalgorithms", KEY_KEX },
    { "macs", KEY_MACS },
    { "hostkeyalgorithms", KEY_HOST_KEYS },
    { "pubkeyacceptedalgorithms", KEY_KEY_TYPES },
    { "pubkeyacceptedkeytypes", KEY_KEY_TYPES },
    { "proxycommand", KEY_PROXY_COMMAND },
    { "proxyjump", KEY_PROXY_JUMP },
    { "userknownhostsfile", KEY_USER_KNOWN_HOSTS },
    { "globalknownhostsfile", KEY_GLOBAL_KNOWN_HOSTS },
    { "identityfile", KEY_IDENTITY_FILE },
    { "certificatefile", KEY_CERTIFICATE_FILE },
};

static bool         is_there(const char *path);
static int          read_line(struct ssh_settings *s, char *line, struct error *err);
static int          include(struct ssh_settings *s, const struct strlist *words,
                            struct error *err);
static char        *include_pattern(const struct ssh_settings *s, const char *word);
static void         keep_value(struct ssh_settings *s, enum keyword key,
                               const struct strlist *words);
static char        *cut_keyword(char *keyword);
static enum keyword find_keyword(const char *name);
static int          split_words(const char *text, struct strlist *words);
static bool         match_host_line(const char *host, const struct strlist *words);
static bool         match_criteria(const struct ssh_settings *s,
                                   const struct strlist *words);
static bool         match_comma_list(const char *text, const char *list);
static bool         try_pattern(const char *text, const char *pattern, bool *is_match);
static bool         match_pattern(const char *text, const char *pattern);

/* The home directory is that of the password file, not $HOME, as for ssh. */
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
}

int ssh_settings_read(struct ssh_settings *s, const char *path, bool must_exist,
                      struct error *err)
{
    char *text;
    int   rc;

    if (!must_exist && !is_there(path))
        return 0;
    text = file_read_at_once(path, CONFIG_BYTES_MAX, &(size_t){ 0 }, err);
    if (text == NULL)
        return -1;
    rc = ssh_settings_parse(s, path, text, err);
    free(text);
    return rc;
}

/* A directory that Include finds is skipped, as by ssh. */
static bool is_there(const char *path)
{
    struct stat about;

    if (stat(path, &about) < 0)
        return errno != ENOENT && errno != ENOTDIR;
    return !S_ISDIR(about.st_mode);
}

int ssh_settings_parse(struct ssh_settings *s, const char *name, char *text,
                       struct error *err)
{
    char *line;
    int   rc = 0;

    s->name = name;
    s->line = 0;
    s->is_active = true;
    while (rc == 0 && (line = strsep(&text, "\n")) != NULL) {
        s->line++;
        rc = read_line(s, line, err);
    }
    return rc;
}

const char *ssh_settings_get(const struct ssh_settings *s, enum keyword key, const char *given,
                             const char *otherwise)
{
    if (given != NULL)
        return given;
    return s->value[key].count > 0 ? s->value[key].item[0] : otherwise;
}

static int read_line(struct ssh_settings *s, char *line, struct error *err)
{
    struct strlist words = { 0 };
    enum keyword   key;
    char          *value;
    int            rc = 0;

    line += strspn(line, " \t\r");
    if (*line == '\0' || *line == '#')
        return 0;
    value = cut_keyword(line);
    key = find_keyword(line);
    if (key == KEY_COUNT)
        return 0; /* a keyword that muster does not need */
    if (key == KEY_PROXY_COMMAND && *value != '\0')
        strlist_add(&words, value); /* for the shell, as it stands */
    else if (split_words(value, &words) < 0)
        rc = err_set(err, "%s:%d: a quote is not closed", s->name, s->line);
    if (rc == 0 && words.count == 0)
        rc = err_set(err, "%s:%d: %s has no value", s->name, s->line, line);
    if (rc < 0)
        goto out;
    if (key == KEY_HOST)
        s->is_active = match_host_line(s->target->host, &words);
    else if (key == KEY_MATCH)
        s->is_active = match_criteria(s, &words);
    else if (key == KEY_INCLUDE)
        rc = include(s, &words, err);
    else
        keep_value(s, key, &words);
out:
    strlist_clear(&words);
    return rc;
}

static int include(struct ssh_settings *s, const struct strlist *words, struct error *err)
{
    struct ssh_settings before = *s;
    glob_t              found;
    char               *pattern;
    size_t              i, k;
    int                 rc = 0;

    if (!s->is_active)
        return 0;
    if (s->depth >= INCLUDE_DEPTH_MAX)
        return err_set(err, "%s:%d: Include is nested too deep", s->name, s->line);
    s->depth++;
    for (i = 0; i < words->count && rc == 0; i++) {
        pattern = include_pattern(s, words->item[i]);
        if (glob(pattern, 0, NULL, &found) == 0) {
            for (k = 0; k < found.gl_pathc && rc == 0; k++)
                rc = ssh_settings_read(s, found.gl_pathv[k], false, err);
            globfree(&found);
        }
        free(pattern);
    }
    s->depth = before.depth;
    s->name = before.name;
    s->line = before.line;
    s->is_active = before.is_active;
    return rc;
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

static void keep_value(struct ssh_settings *s, enum keyword key, const struct strlist *words)
{
    bool adds_up = key == KEY_IDENTITY_FILE || key == KEY_CERTIFICATE_FILE;

    if (!s->is_active || (s->place[key] != NULL && !adds_up))
        return;
    /* ProxyCommand and ProxyJump exclude each other: the first of both wins. */
    if ((key == KEY_PROXY_COMMAND && s->place[KEY_PROXY_JUMP] != NULL) ||
        (key == KEY_PROXY_JUMP && s->place[KEY_PROXY_COMMAND] != NULL))
        return;
    strlist_append(&s->value[key], words);
    if (s->place[key] == NULL)
        s->place[key] = xasprintf("%s:%d", s->name, s->line);
}

/* Cut "Keyword value", "Keyword=value": the keyword's end becomes NUL, the
 * value is returned. */
static char *cut_keyword(char *keyword)
{
    char *end = keyword + strcspn(keyword, " \t\r="), *value = end + strspn(end, " \t\r");

    if (*value == '=')
        value++;
    value += strspn(value, " \t\r");
    *end = '\0';
    return value;
}

static enum keyword find_keyword(const char *name)
{
    size_t i;

    for (i = 0; i < sizeof keywords / sizeof keywords[0]; i++)
        if (strcasecmp(keywords[i].name, name) == 0)
            return keywords[i].key;
    return KEY_COUNT;
}

/* Words are separated by blanks; "..." is one word; '#' starts a comment. */
static int split_words(const char *text, struct strlist *words)
{
    const char *end;

    for (;;) {
        text += strspn(text, " \t\r");
        if (*text == '\0' || *text == '#')
            return 0;
        if (*text == '"') {
            end = strchr(++text, '"');
            if (end == NULL)
                return -1;
            strlist_add_bytes(words, text, (size_t)(end - text));
            text = end + 1;
        } else {
            end = text + strcspn(text, " \t\r");
            strlist_add_bytes(words, text, (size_t)(end - text));
            text = end;
        }
    }
}

static bool match_host_line(const char *host, const struct strlist *words)
{
    bool   is_match = false;
    size_t i;

    for (i = 0; i < words->count; i++)
        if (!try_pattern(host, words->item[i], &is_match))
            return false;
    return is_match;
}

static bool match_criteria(const struct ssh_settings *s, const struct strlist *words)
{
    const char *criterion, *text;
    bool        is_match = true, is_negated;
    size_t      i;

    for (i = 0; i < words->count; i++) {
        criterion = words->item[i];
        is_negated = criterion[0] == '!';
        criterion += is_negated;
        if (strcasecmp(criterion, "all") == 0) {
            is_match = is_match && !is_negated;
            continue;
        }
        if (strcasecmp(criterion, "host") == 0)
            text = ssh_settings_get(s, KEY_HOSTNAME, s->target->addr, s->target->host);
        else if (strcasecmp(criterion, "originalhost") == 0)
            text = s->target->host;
        else if (strcasecmp(criterion, "user") == 0)
            text = ssh_settings_get(s, KEY_USER, s->target->user, s->local_user);
        else if (strcasecmp(criterion, "localuser") == 0)
            text = s->local_user;
        else
            return false;
        if (++i == words->count)
            return false;
        is_match = is_match && match_comma_list(text, words->item[i]) != is_negated;
    }
    return is_match;
}

static bool match_comma_list(const char *text, const char *list)
{
    char *copy = xstrdup(list), *rest = copy, *pattern;
    bool  is_match = false, is_allowed = true;

    while (is_allowed && (pattern = strsep(&rest, ",")) != NULL)
        is_allowed = try_pattern(text, pattern, &is_match);
    free(copy);
    return is_match && is_allowed;
}

/* A pattern in a list: *is_match if it matches; false if its '!' excludes the whole list. */
static bool try_pattern(const char *text, const char *pattern, bool *is_match)
{
    if (pattern[0] == '!')
        return !match_pattern(text, pattern + 1);
    *is_match = *is_match || match_pattern(text, pattern);
    return true;
}

/* '*' and '?' only. */
static bool match_pattern(const char *text, const char *pattern)
{
    const char *star = NULL, *retry = NULL;

    while (*text != '\0') {
        if (*pattern == '*') {
            star = ++pattern;
            retry = text;
        } else if (*pattern == '?' || *pattern == *text) {
            pattern++;
            text++;
        } else if (star != NULL) {
            pattern = star;
            text = ++retry;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return *pattern == '\0';
}

/* bootstrap_conf.c - see bootstrap_conf.h
 *
 * As in options/conf.c, we check each line before inih gets it, for errors that inih does not
 * report (lines too long for it, continued lines, sections without keys).
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "bootstrap/bootstrap_conf.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <ini.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"
#include "number.h"
#include "xalloc.h"

#define BYTES_MAX (1 << 20)
#define SIZE_TO   (INT64_C(1) << 50)
#define SECONDS_MAX 86400.0

enum kind {
    TEXT,      /* anything in one line */
    WORD,      /* without blanks */
    PATH,      /* absolute */
    PATHS,     /* several, separated by blanks */
    IN_FOLDER, /* a path below another, without ".." */
    SIZE,      /* "64G" */
    NUMBER,
    LIMIT,     /* a number, or "unlimited" */
    YES_NO,
    NETWORK,   /* "10.0.0.0/8" */
    SECONDS,   /* "30m" */
    URL,       /* of git, without a password */
    REF,       /* a branch or a commit */
    USER,      /* the name of an account that useradd takes */
};

static const struct key {
    const char *section, *name;
    enum kind   kind;
    int64_t     low, high;
} keys[] = {
    { "access", "public_key", WORD, 0, 0 },
    { "access", "make_key", YES_NO, 0, 0 },
    { "hosts", "network", NETWORK, 0, 0 },
    { "data", "mount", PATH, 0, 0 },
    { "data", "label", TEXT, 0, 0 },
    { "data", "uuid", WORD, 0, 0 },
    { "data", "serial", WORD, 0, 0 },
    { "data", "size", SIZE, 0, 0 },
    { "data", "marker", IN_FOLDER, 0, 0 },
    { "data", "marker_text", TEXT, 0, 0 },
    { "data", "grow", YES_NO, 0, 0 },
    { "user", "name", USER, 0, 0 },
    { "user", "key", WORD, 0, 0 },
    { "user", "sudo", YES_NO, 0, 0 },
    { "shell", "path", PATH, 0, 0 },
    { "shell", "conda", PATH, 0, 0 },
    { "shell", "conda_env", WORD, 0, 0 },
    { "shell", "profile", WORD, 0, 0 },
    { "environment", "python", PATH, 0, 0 },
    { "environment", "import", TEXT, 0, 0 },
    { "python", "requirements", TEXT, 0, 0 },
    { "python", "directory", PATH, 0, 0 },
    { "python", "time_limit", SECONDS, 0, 0 },
    { "conda", "environment", TEXT, 0, 0 },
    { "conda", "directory", PATH, 0, 0 },
    { "conda", "time_limit", SECONDS, 0, 0 },
    { "project", "git", URL, 0, 0 },
    { "project", "push", TEXT, 0, 0 },
    { "project", "branch", REF, 0, 0 },
    { "project", "commit", REF, 0, 0 },
    { "project", "directory", PATH, 0, 0 },
    { "project", "time_limit", SECONDS, 0, 0 },
    { "limits", "nofile", LIMIT, 1, 1 << 30 },
    { "limits", "memlock", LIMIT, 0, INT64_C(1) << 50 },
    { "limits", "shm", SIZE, 0, 0 },
    { "limits", "sshd_max_startups", NUMBER, 1, 100000 },
    { "limits", "sshd_client_alive_s", NUMBER, 0, 86400 },
    { "packages", "install", TEXT, 0, 0 },
    { "driver", "nvidia", YES_NO, 0, 0 },
    { "driver", "version", NUMBER, 1, 9999 },
    { "driver", "time_limit", SECONDS, 0, 0 },
    { "gpus", "count", NUMBER, 0, 256 },
    { "gpus", "driver", WORD, 0, 0 },
    { "warm", "paths", PATHS, 0, 0 },
    { "warm", "list", PATH, 0, 0 },
    { "warm", "streams", NUMBER, 1, 256 },
};
#define KEYS (sizeof keys / sizeof *keys)

struct reader {
    const char   *name, *at; /* at: the next line in the text */
    int           line, failed_line; /* 0: err is not set */
    char          section[64];
    json_t       *conf;
    struct error *err;
};

static int   check_marker(const struct reader *reader);
static int   check_needed(const struct reader *reader);
static char *read_line(char *into, int room, void *arg);
static int   check_line(struct reader *reader, const char *line, size_t length, size_t most);
static int   enter_section(struct reader *reader, const char *line, size_t length);
static int   take_setting(void *arg, const char *section, const char *name, const char *value);
static int   refuse_name(const struct reader *reader, const char *name);
static int   set(struct reader *reader, const char *section, const char *name, const char *value);
static int   check_value(const struct key *key, const char *value, char *out, size_t size,
                         struct error *err);
static int   check_size(const char *value, char *out, size_t size, struct error *err);
static int   check_network(const char *value, struct error *err);
static int   check_url(const char *value, struct error *err);
static int   check_user_name(const char *value, struct error *err);
static bool  leaves_folder(const char *path);

json_t *bootstrap_conf_read(const char *path, struct error *err)
{
    size_t  size;
    char   *text = file_read(path, BYTES_MAX, &size, err);
    json_t *conf = NULL;

    if (text == NULL)
        return NULL;
    if (strlen(text) != size)
        err_set(err, "%s: contains a NUL byte; not a text file", path);
    else
        conf = bootstrap_conf_parse(path, text, err);
    free(text);
    return conf;
}

json_t *bootstrap_conf_parse(const char *name, const char *text, struct error *err)
{
    struct reader reader = { .name = name, .at = text, .conf = json_object(), .err = err };
    int           line = ini_parse_stream(read_line, &reader, take_setting, &reader);

    if (line < 0)
        xalloc_die();
    if (line > 0 && (reader.failed_line == 0 || line < reader.failed_line)) {
        err_set(err, "%s:%d: this is neither [section] nor 'name = value'", name, line);
        reader.failed_line = line;
    }
    if (reader.failed_line == 0 && check_marker(&reader) == 0 && check_needed(&reader) == 0)
        return reader.conf;
    json_decref(reader.conf);
    return NULL;
}

/* A folder has no text. */
static int check_marker(const struct reader *reader)
{
    const json_t *data = json_object_get(reader->conf, "data");
    const char   *marker = json_string_value(json_object_get(data, "marker"));

    if (marker == NULL || marker[strlen(marker) - 1] != '/' ||
        json_object_get(data, "marker_text") == NULL)
        return 0;
    return err_set(reader->err, "%s: [data] marker_text is for a file, but the marker %s is a "
                   "folder", reader->name, marker);
}

/* Without these the others of their section say nothing. */
static int check_needed(const struct reader *reader)
{
    static const char *const needed[][2] = {
        { "user", "name" }, { "python", "requirements" }, { "conda", "environment" },
        { "project", "git" }, { "driver", "nvidia" },
    };
    const json_t *section;
    size_t        i;

    for (i = 0; i < sizeof needed / sizeof *needed; i++) {
        section = json_object_get(reader->conf, needed[i][0]);
        if (json_object_size(section) > 0 && json_object_get(section, needed[i][1]) == NULL &&
            json_object_get(section, "push") == NULL)
            return err_set(reader->err, "%s: [%s] has settings, but no %s", reader->name,
                           needed[i][0], needed[i][1]);
    }
    section = json_object_get(reader->conf, "project");
    if (json_object_get(section, "branch") != NULL && json_object_get(section, "commit") != NULL)
        return err_set(reader->err, "%s: [project] has both branch and commit", reader->name);
    if (json_object_get(section, "push") != NULL &&
        (json_object_get(section, "branch") != NULL || json_object_get(section, "commit") != NULL))
        return err_set(reader->err, "%s: [project] branch and commit are for git, not for push",
                       reader->name);
    return 0;
}

/* --- lines ------------------------------------------------------------------ */

/* Reads lines for inih, like fgets: returns the next line without leading blanks. NULL at the
 * end and after an error. */
static char *read_line(char *into, int room, void *arg)
{
    struct reader *reader = arg;
    const char    *line = reader->at;
    size_t         length;

    if (*line == '\0' || reader->failed_line > 0)
        return NULL;
    reader->line++;
    reader->at += strcspn(line, "\n");
    while (line < reader->at && isspace((unsigned char)*line))
        line++;
    length = (size_t)(reader->at - line);
    if (*reader->at == '\n')
        reader->at++;
    if (length > 0 && (*line == '#' || *line == ';'))
        length = 0;
    if (check_line(reader, line, length, (size_t)room - 3) < 0) { /* inih needs these 3 bytes */
        reader->failed_line = reader->line;
        return NULL;
    }
    memcpy(into, line, length);
    memcpy(into + length, "\n", 2);
    return into;
}

static int check_line(struct reader *reader, const char *line, size_t length, size_t most)
{
    if (length > most)
        return err_set(reader->err, "%s:%d: the line has %zu bytes, but the installed inih reads "
                       "at most %zu", reader->name, reader->line, length, most);
    return length > 0 && *line == '[' ? enter_section(reader, line, length) : 0;
}

static int enter_section(struct reader *reader, const char *line, size_t length)
{
    size_t i, end = strcspn(line, "]\n");

    if (end < length && end > 1 && end < sizeof reader->section) {
        snprintf(reader->section, sizeof reader->section, "%.*s", (int)end - 1, line + 1);
        for (i = 0; i < KEYS; i++)
            if (strcmp(keys[i].section, reader->section) == 0) {
                if (json_object_get(reader->conf, reader->section) == NULL)
                    json_object_set_new(reader->conf, reader->section, json_object());
                return 0;
            }
    }
    return err_set(reader->err, "%s:%d: unknown section '%.*s'; there are: access, hosts, data, "
                   "user, shell, python, conda, project, environment, limits, packages, driver, "
                   "gpus, warm", reader->name, reader->line,
                   (int)(length < 80 ? length : 80), line);
}

/* inih's handler: 1 to continue, 0 to stop with an error. */
static int take_setting(void *arg, const char *section, const char *name, const char *value)
{
    struct reader *reader = arg;

    if (reader->failed_line > 0)
        return 0;
    if (set(reader, section, name, value) == 0)
        return 1;
    reader->failed_line = reader->line;
    return 0;
}

/* Users know their disk by a name of the kernel, which another may have after the next boot. */
static int refuse_name(const struct reader *reader, const char *name)
{
    char   known[400];
    size_t i, used = 0;

    if (strcmp(reader->section, "data") == 0 && strcmp(name, "device") == 0)
        return err_set(reader->err, "%s:%d: [data] has no setting 'device': names such as "
                       "/dev/vdb1 may change at each boot; write label or uuid, which lsblk -f "
                       "shows, or a marker", reader->name, reader->line);
    for (i = 0; i < KEYS; i++)
        if (strcmp(keys[i].section, reader->section) == 0 && used < sizeof known)
            used += (size_t)snprintf(known + used, sizeof known - used, "%s%s",
                                     used > 0 ? ", " : "", keys[i].name);
    return err_set(reader->err, "%s:%d: [%s] has no setting '%.80s'; there are: %s", reader->name,
                   reader->line, reader->section, name, known);
}

static int set(struct reader *reader, const char *section, const char *name, const char *value)
{
    json_t      *of = json_object_get(reader->conf, reader->section), *text;
    char         out[1024];
    struct error why;
    size_t       i;

    (void)section; /* inih truncates it to 50 bytes */
    if (of == NULL)
        return err_set(reader->err, "%s:%d: '%.80s' comes before the first [section]",
                       reader->name, reader->line, name);
    for (i = 0; i < KEYS; i++)
        if (strcmp(keys[i].section, reader->section) == 0 && strcmp(keys[i].name, name) == 0)
            break;
    if (i == KEYS)
        return refuse_name(reader, name);
    if (value == NULL || value[0] == '\0')
        return 0; /* an empty value is no setting, as in muster.conf */
    if (json_object_get(of, name) != NULL)
        return err_set(reader->err, "%s:%d: [%s] %s is set twice", reader->name, reader->line,
                       reader->section, name);
    if (strcmp(reader->section, "project") == 0 &&
        json_object_get(of, strcmp(name, "git") == 0    ? "push"
                            : strcmp(name, "push") == 0 ? "git"
                                                        : "") != NULL)
        return err_set(reader->err, "%s:%d: [project] has both git and push: it is cloned, or "
                       "copied from this machine", reader->name, reader->line);
    if (check_value(&keys[i], value, out, sizeof out, &why) < 0)
        return err_set(reader->err, "%s:%d: [%s] %s: %s", reader->name, reader->line,
                       reader->section, name, why.text);
    if ((text = json_string(out)) == NULL)
        return err_set(reader->err, "%s:%d: [%s] %s: is not UTF-8", reader->name, reader->line,
                       reader->section, name);
    json_object_set_new(of, name, text);
    return 0;
}

/* --- values ----------------------------------------------------------------- */

static int check_value(const struct key *key, const char *value, char *out, size_t size,
                       struct error *err)
{
    int64_t number;
    double  seconds;
    size_t  i;

    if ((size_t)snprintf(out, size, "%s", value) >= size)
        return err_set(err, "is longer than %zu bytes", size - 1);
    for (i = 0; value[i] != '\0'; i++)
        if (iscntrl((unsigned char)value[i]) && value[i] != '\t')
            return err_set(err, "contains a control character");
    switch (key->kind) {
    case TEXT:
        return 0;
    case WORD:
        return strpbrk(value, " \t") == NULL ? 0 : err_set(err, "'%s' contains a space", value);
    case PATHS:
    case PATH:
        if (value[0] != '/' || leaves_folder(value))
            return err_set(err, "'%s' is not an absolute path without '..'", value);
        if (key->kind == PATH && strpbrk(value, " \t") != NULL)
            return err_set(err, "'%s' contains a space", value);
        for (i = strlen(out); key->kind == PATH && i > 1 && out[i - 1] == '/'; i--)
            out[i - 1] = '\0'; /* mountinfo has /data, not /data/ */
        return 0;
    case IN_FOLDER:
        return value[0] != '/' && !leaves_folder(value) && value[strspn(value, "./")] != '\0'
                   ? 0 : err_set(err, "'%s' is not a path below the mount point", value);
    case SIZE:
        return check_size(value, out, size, err);
    case LIMIT:
        if (strcmp(value, "unlimited") == 0)
            return 0; /* otherwise it must be a number */
        return parse_number(value, key->low, key->high, &number, err);
    case NUMBER:
        return parse_number(value, key->low, key->high, &number, err);
    case NETWORK:
        return check_network(value, err);
    case SECONDS:
        return parse_seconds(value, 1, SECONDS_MAX, &seconds, err);
    case URL:
        return check_url(value, err);
    case REF:
        return value[0] != '-' && strpbrk(value, " \t~^:?*[\\") == NULL
                   ? 0 : err_set(err, "'%s' is not the name of a branch or commit", value);
    case USER:
        return check_user_name(value, err);
    default:
        return strcmp(value, "yes") == 0 || strcmp(value, "no") == 0
                   ? 0 : err_set(err, "'%s' is neither yes nor no", value);
    }
}

static int check_size(const char *value, char *out, size_t size, struct error *err)
{
    int64_t number;

    if (parse_bytes(value, 1, SIZE_TO, &number, err) < 0)
        return -1;
    snprintf(out, size, "%" PRId64, number);
    return 0;
}

static int check_network(const char *value, struct error *err)
{
    const char    *slash = strchr(value, '/');
    char           address[INET_ADDRSTRLEN];
    struct in_addr bytes;
    int64_t        bits;

    if (slash == NULL || (size_t)(slash - value) >= sizeof address)
        return err_set(err, "'%s' is not of the form 10.0.0.0/8", value);
    snprintf(address, sizeof address, "%.*s", (int)(slash - value), value);
    if (inet_pton(AF_INET, address, &bytes) != 1 || parse_number(slash + 1, 0, 32, &bits, err) < 0)
        return err_set(err, "'%s' is not of the form 10.0.0.0/8", value);
    return 0;
}

/* It comes into argument lists, which all users of a node can read. */
static int check_url(const char *value, struct error *err)
{
    const char *host = strstr(value, "://"), *at, *colon;

    if (value[0] == '-' || strpbrk(value, " \t") != NULL ||
        (value[0] != '/' && strchr(value, ':') == NULL))
        return err_set(err, "'%s' is neither a URL nor an absolute path", value);
    if (host == NULL)
        return 0;
    host += 3;
    at = memchr(host, '@', strcspn(host, "/"));
    colon = memchr(host, ':', strcspn(host, "/@"));
    if (at != NULL && (colon != NULL || strncmp(value, "http", 4) == 0))
        return err_set(err, "a password or token in the URL can be read by all users of a node; "
                       "use a key of ssh, or a credential helper of git there");
    return 0;
}

/* As account_name_is_valid() on the node. */
static int check_user_name(const char *value, struct error *err)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz_0123456789-";

    if (strcmp(value, "root") == 0)
        return err_set(err, "root exists on every node; the key of [access] is for it");
    if (strspn(value, allowed) != strlen(value) || strlen(value) > 32 ||
        strchr("-0123456789", value[0]) != NULL)
        return err_set(err, "'%s' is not a name of at most 32 small letters, digits, '-' and '_' "
                       "that begins with a letter or '_'", value);
    return 0;
}

static bool leaves_folder(const char *path)
{
    size_t length;

    for (; *path != '\0'; path += length + (path[length] == '/')) {
        length = strcspn(path, "/ \t");
        if (length == 2 && strncmp(path, "..", 2) == 0)
            return true;
        length += path[length] == ' ' || path[length] == '\t';
    }
    return false;
}

/* conf.c - see conf.h
 *
 * inih truncates long lines (at 200 bytes, a section's name at 50; both limits are fixed when
 * the library is built), reads an indented line as a continuation of the value above, and does
 * not report an unknown section that is empty. read_line() handles all three before inih sees a
 * line.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "options/conf.h"

#include <ctype.h>
#include <errno.h>
#include <ini.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "file.h"
#include "xalloc.h"

#define CONF_BYTES_MAX (1 << 20)
#define CONF_SECTION   "[muster]"

struct conf {
    const char     *name;
    const char     *at; /* the text from the next line on */
    int             line;
    int             failed_line; /* 0: err is not set */
    struct options *options;
    struct error   *err;
};

static char *read_line(char *into, int room, void *arg);
static bool  is_section(const char *line, size_t length);
static int   take_setting(void *arg, const char *section, const char *name,
                          const char *value);

int conf_read(const char *path, bool must_exist, struct options *options, struct error *err)
{
    size_t size;
    char  *text;
    int    rc;

    /* EACCES: su and setpriv may leave the home of another user in HOME. */
    if (!must_exist && access(path, F_OK) < 0 &&
        (errno == ENOENT || errno == ENOTDIR || errno == EACCES))
        return 0;
    text = must_exist ? file_read(path, CONF_BYTES_MAX, &size, err)
                      : file_read_at_once(path, CONF_BYTES_MAX, &size, err);
    if (text == NULL)
        return -1;
    rc = strlen(text) == size
             ? conf_parse(path, text, options, err)
             : err_set(err, "%s: contains a NUL byte; is this a text file?", path);
    free(text);
    return rc;
}

int conf_parse(const char *name, const char *text, struct options *options, struct error *err)
{
    struct conf conf = { .name = name, .at = text, .options = options, .err = err };
    int         line;

    if (strncmp(text, "\xef\xbb\xbf", 3) == 0) /* a UTF-8 byte order mark */
        conf.at += 3;
    line = ini_parse_stream(read_line, &conf, take_setting, &conf);
    if (line < 0)
        xalloc_die();
    /* inih could not read this line, and neither take_setting() nor read_line() failed earlier.
     */
    if (line > 0 && (conf.failed_line == 0 || line < conf.failed_line))
        return err_set(err, "%s:%d: this is neither " CONF_SECTION " nor 'name = value'", name,
                       line);
    return conf.failed_line > 0 ? -1 : 0;
}

/* inih's fgets: copies the next line without leading blanks. Returns NULL at the end of the
 * file and after an error. */
static char *read_line(char *into, int room, void *arg)
{
    struct conf *conf = arg;
    const char  *line = conf->at;
    size_t       length, most = (size_t)room - 3; /* inih needs three bytes */

    if (*line == '\0' || conf->failed_line > 0)
        return NULL;
    conf->line++;
    conf->at += strcspn(line, "\n");
    while (line < conf->at && isspace((unsigned char)*line))
        line++;
    length = (size_t)(conf->at - line);
    if (*conf->at == '\n')
        conf->at++;

    if (length > 0 && (*line == '#' || *line == ';'))
        length = 0;
    if (length > 0 && *line == '[' && !is_section(line, length)) {
        err_set(conf->err, "%s:%d: unknown section '%.*s': all settings are in " CONF_SECTION,
                conf->name, conf->line, (int)(length < 80 ? length : 80), line);
        conf->failed_line = conf->line;
        return NULL;
    }
    if (length > most) {
        err_set(conf->err, "%s:%d: the line has %zu bytes, but the installed inih reads at "
                "most %zu; put long variables into a file and name it with env-file",
                conf->name, conf->line, length, most);
        conf->failed_line = conf->line;
        return NULL;
    }
    memcpy(into, line, length);
    memcpy(into + length, "\n", 2);
    return into;
}

static bool is_section(const char *line, size_t length)
{
    size_t i = strlen(CONF_SECTION);

    if (length < i || strncmp(line, CONF_SECTION, i) != 0)
        return false;
    while (i < length && isspace((unsigned char)line[i]))
        i++;
    return i == length || line[i] == ';' || line[i] == '#';
}

/* inih's handler: 1 to continue, 0 to stop with an error. */
static int take_setting(void *arg, const char *section, const char *name, const char *value)
{
    struct conf *conf = arg;
    char        *where = xasprintf("%s:%d", conf->name, conf->line);
    int          rc;

    if (conf->failed_line > 0)
        rc = -1;
    else if (section[0] == '\0')
        rc = err_set(conf->err, "%s: '%s' comes before " CONF_SECTION, where, name);
    else if (value == NULL)
        rc = err_set(conf->err, "%s: '%s' has no value", where, name);
    else if (value[0] == '\0')
        rc = 0; /* not a setting, as in the environment */
    else
        rc = options_set(conf->options, name, value, where, conf->err);
    if (rc < 0 && conf->failed_line == 0)
        conf->failed_line = conf->line;
    free(where);
    return rc == 0;
}

/* apt_sources.c - see apt_sources.h; sources.list(5)
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "packages/apt_sources.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "buffer.h"
#include "file.h"
#include "strlist.h"
#include "xalloc.h"

#define FOLDER    "/etc/apt/sources.list.d"
#define OURS      FOLDER "/muster-driver"
#define BLANKS    " \t"
#define BYTES_MAX (1 << 20)

static void  add_line(struct buffer *all, const char *line, size_t length, const char *codename,
                      const char *components);
static void  add_stanza(struct buffer *all, const char *text, size_t length, const char *codename,
                        const char *components);
static char *field_of(const char *text, size_t length, const char *name);
static bool  is_of(const char *suites, const char *codename);
static char *lacking(const char *have, const char *components);
static void  split(const char *text, struct strlist *words);
static int   read_into(const char *path, bool is_stanzas, const char *codename,
                       const char *components, struct buffer *all, struct error *err);
static int   add_file(struct changes *changes, bool is_stanzas, const char *codename,
                      const char *components, const char *why, struct error *err);

char *apt_sources_with(const char *text, bool is_stanzas, const char *codename,
                       const char *components)
{
    struct buffer all = { 0 };
    const char   *end;
    char         *result;

    for (; *text != '\0'; text = end) {
        end = is_stanzas ? strstr(text, "\n\n") : strchr(text, '\n');
        end = end != NULL ? end + 1 : text + strlen(text);
        (is_stanzas ? add_stanza : add_line)(&all, text, (size_t)(end - text), codename,
                                             components);
    }
    result = xstrndup(all.bytes != NULL ? all.bytes : "", all.size);
    buffer_clear(&all);
    return result;
}

/* --- "deb [options] URI SUITE COMPONENT..." ---------------------------------- */

static void add_line(struct buffer *all, const char *line, size_t length, const char *codename,
                     const char *components)
{
    size_t         end = strcspn(line, "#\n");
    char          *text = xstrndup(line, end < length ? end : length), *more = NULL, *entry;
    char          *at = text + strspn(text, BLANKS), *rest;
    struct strlist words = { 0 }; /* the URI, the suite, and components */

    if (strncmp(at, "deb", 3) == 0 && (at[3] == ' ' || at[3] == '\t')) {
        at += 3 + strspn(at + 3, BLANKS);
        if (*at == '[' && strchr(at, ']') != NULL)
            at = strchr(at, ']') + 1;
        split(at, &words);
    }
    if (words.count > 2 && is_of(words.item[1], codename)) {
        rest = strstr(at, words.item[0]) + strlen(words.item[0]);
        rest = strstr(rest, words.item[1]) + strlen(words.item[1]);
        if ((more = lacking(rest, components)) != NULL) {
            entry = xasprintf("%.*s %s\n", (int)(rest - text), text, more);
            buffer_add_text(all, entry);
            free(entry);
        }
    }
    free(more);
    strlist_clear(&words);
    free(text);
}

/* --- "Field: words", one per line; the next ones of a field begin with a blank ----- */

static void add_stanza(struct buffer *all, const char *text, size_t length, const char *codename,
                       const char *components)
{
    char *types = field_of(text, length, "Types"), *suites = field_of(text, length, "Suites");
    char *have = field_of(text, length, "Components");
    char *enabled = field_of(text, length, "Enabled");
    char *more = have != NULL ? lacking(have, components) : NULL;
    const char *line, *end;
    bool        is_left_out = false;

    if (types != NULL && suites != NULL && more != NULL && is_of(types, "deb") &&
        is_of(suites, codename) && (enabled == NULL || strstr(enabled, "no") == NULL)) {
        for (line = text; line < text + length && *line != '\0'; line = end) {
            end = line + strcspn(line, "\n");
            end += *end == '\n';
            if (*line != ' ' && *line != '\t')
                is_left_out = *line == '#' || *line == '\n' ||
                              strncasecmp(line, "Components:", strlen("Components:")) == 0;
            if (!is_left_out)
                buffer_add(all, line, (size_t)(end - line));
        }
        if (all->size > 0 && all->bytes[all->size - 1] != '\n')
            buffer_add_text(all, "\n");
        buffer_add_text(all, "Components: ");
        buffer_add_text(all, more);
        buffer_add_text(all, "\n\n");
    }
    free(types);
    free(suites);
    free(have);
    free(enabled);
    free(more);
}

/* Returns the value with its next lines in one, which the caller frees; NULL: there is none. */
static char *field_of(const char *text, size_t length, const char *name)
{
    size_t        size = strlen(name);
    struct buffer value = { 0 };
    const char   *line, *end;
    char         *result;
    bool          is_it = false, has = false;

    for (line = text; line < text + length && *line != '\0'; line = end) {
        end = line + strcspn(line, "\n");
        if (*line != ' ' && *line != '\t' && *line != '#') {
            is_it = strncasecmp(line, name, size) == 0 && line[size] == ':';
            has |= is_it;
        }
        if (is_it && *line != '#') {
            line += *line != ' ' && *line != '\t' ? size + 1 : 0;
            buffer_add(&value, line, (size_t)(end - line));
            buffer_add_text(&value, " ");
        }
        end += *end == '\n';
    }
    result = has ? xstrndup(value.bytes, value.size) : NULL;
    buffer_clear(&value);
    return result;
}

/* --- words ------------------------------------------------------------------ */

/* Is one of the words this one, or this one's updates or security? */
static bool is_of(const char *suites, const char *codename)
{
    static const char *const ends[] = { "", "-updates", "-security", "/updates" };
    struct strlist           words = { 0 };
    size_t                   i, k, length = strlen(codename);
    bool                     is = false;

    split(suites, &words);
    for (i = 0; i < words.count; i++)
        for (k = 0; k < sizeof ends / sizeof *ends; k++)
            is |= strncmp(words.item[i], codename, length) == 0 &&
                  strcmp(words.item[i] + length, ends[k]) == 0;
    strlist_clear(&words);
    return is;
}

/* Returns those of components that the words of have are not; NULL: none, or main is not there. */
static char *lacking(const char *have, const char *components)
{
    struct strlist there = { 0 }, wanted = { 0 };
    char          *all = NULL, *more;
    size_t         i;

    split(have, &there);
    split(components, &wanted);
    for (i = 0; i < wanted.count && strlist_has(&there, "main"); i++)
        if (!strlist_has(&there, wanted.item[i])) {
            more = xasprintf("%s%s%s", all != NULL ? all : "", all != NULL ? " " : "",
                             wanted.item[i]);
            free(all);
            all = more;
        }
    strlist_clear(&there);
    strlist_clear(&wanted);
    return all;
}

static void split(const char *text, struct strlist *words)
{
    size_t length;

    for (text += strspn(text, BLANKS); *text != '\0'; text += strspn(text, BLANKS)) {
        length = strcspn(text, BLANKS);
        strlist_addf(words, "%.*s", (int)length, text);
        text += length;
    }
}

/* --- files ------------------------------------------------------------------ */

int apt_sources_add(struct changes *changes, const char *codename, const char *components,
                    const char *why, struct error *err)
{
    return add_file(changes, false, codename, components, why, err) < 0 ||
                   add_file(changes, true, codename, components, why, err) < 0
               ? -1 : 0;
}

static int add_file(struct changes *changes, bool is_stanzas, const char *codename,
                    const char *components, const char *why, struct error *err)
{
    const char   *ours = is_stanzas ? OURS ".sources" : OURS ".list";
    struct buffer all = { 0 };
    glob_t        found = { 0 };
    size_t        i;
    int           rc = 0;

    if (!is_stanzas)
        rc = read_into("/etc/apt/sources.list", false, codename, components, &all, err);
    if (glob(is_stanzas ? FOLDER "/*.sources" : FOLDER "/*.list", 0, NULL, &found) == 0)
        for (i = 0; i < found.gl_pathc && rc == 0; i++)
            if (strcmp(found.gl_pathv[i], ours) != 0)
                rc = read_into(found.gl_pathv[i], is_stanzas, codename, components, &all, err);
    globfree(&found);
    if (rc == 0 && all.size > 0) {
        buffer_add(&all, "", 1);
        rc = changes_add_file(changes, ours, all.bytes, 0644, why, err);
    }
    buffer_clear(&all);
    return rc;
}

/* The file may be a link, and may be missing. */
static int read_into(const char *path, bool is_stanzas, const char *codename,
                     const char *components, struct buffer *all, struct error *err)
{
    size_t size;
    char  *text, *more;

    if (access(path, F_OK) < 0)
        return 0;
    if ((text = file_read_at_once(path, BYTES_MAX, &size, err)) == NULL)
        return -1;
    more = apt_sources_with(text, is_stanzas, codename, components);
    buffer_add_text(all, more);
    free(more);
    free(text);
    return 0;
}

/* host_argument.c - hosts that are named on the command line: -H, -w, -g; see hostfile.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "file.h"
#include "frame.h"
#include "groups/host_group.h"
#include "hostrange.h"
#include "number.h"
#include "plan/host_parser.h"
#include "plan/hostfile.h"
#include "plan/hostword.h"
#include "xalloc.h"

#define BLANKS " \t"

static char *cut_word(char **rest);
static int  take_word(struct host_parser *p, char *word, int default_slots, struct error *err);
static int  add_file(struct host_parser *p, const char *path, struct error *err);
static int  add_group(struct host_parser *p, const char *name, struct error *err);
static int  add_names(struct host_parser *p, const char *source, const struct strlist *words,
                      struct error *err);
static int  add_member(struct host_parser *p, char *word, struct error *err);
static int  add_named(struct host_parser *p, char *word, int default_slots, struct error *err);
static const char *hint(const char *word, const char *wrong);
static bool is_listed_again(struct host_parser *p, const char *name, int slots, bool is_given);

int hostlist_from_argument(const char *text, int default_slots, struct hostlist *hosts,
                           struct error *err)
{
    char              *copy = xstrdup(text), *rest = copy;
    struct host_parser p = { .name = "-H", .line = copy, .size = strlen(text), .hosts = hosts };
    int                rc = 0;

    *hosts = (struct hostlist){ 0 };
    while (rc == 0 && rest != NULL)
        rc = take_word(&p, cut_word(&rest), default_slots, err);
    if (rc == 0 && hosts->count == 0) /* "^FILE" of an empty file */
        rc = err_set(err, "-H: no host in %s", text);
    rc = host_parser_finish(&p, rc);
    free(copy);
    return rc;
}

int hostlist_from_groups(const char *names, struct hostlist *hosts, struct error *err)
{
    char              *copy = names != NULL ? xstrdup(names) : NULL, *rest = copy;
    struct host_parser p = { .name = "-a", .hosts = hosts };
    struct strlist     words = { 0 };
    int                rc = 0;

    *hosts = (struct hostlist){ 0 };
    if (names == NULL)
        rc = host_group_all(&words, err) == 0 ? add_names(&p, "-a", &words, err) : -1;
    while (rc == 0 && rest != NULL)
        rc = add_group(&p, cut_word(&rest), err);
    rc = host_parser_finish(&p, rc);
    strlist_clear(&words);
    free(copy);
    return rc;
}

/* Returns the next word of a list without blanks around it, and NULL in *rest if it is the last. */
static char *cut_word(char **rest)
{
    char  *word = *rest + strspn(*rest, BLANKS), *at = word + hostrange_word(word);
    size_t size;

    *rest = *at != '\0' ? at + 1 : NULL;
    *at = '\0';
    for (size = strlen(word); size > 0 && strchr(BLANKS, word[size - 1]) != NULL; size--)
        word[size - 1] = '\0';
    return word;
}

static int take_word(struct host_parser *p, char *word, int default_slots, struct error *err)
{
    if (word[0] == '^')
        return add_file(p, word + 1, err);
    if (word[0] == '@')
        return add_group(p, word + 1, err);
    return add_named(p, word, default_slots, err);
}

/* Adds the hosts of "^FILE". */
static int add_file(struct host_parser *p, const char *path, struct error *err)
{
    struct host_parser outer = *p;
    size_t             size;
    char              *text = file_read(path, HOSTFILE_BYTES_MAX, &size, err);
    int                rc;

    if (text == NULL)
        return -1;
    p->name = path;
    rc = host_parser_read(p, text, size, err);
    free(text);
    p->name = outer.name;
    p->line = outer.line;
    p->size = outer.size;
    p->number = outer.number;
    return rc;
}

/* Adds the hosts of "@GROUP" that are not there yet. */
static int add_group(struct host_parser *p, const char *name, struct error *err)
{
    struct strlist words = { 0 };
    char          *source = xasprintf("group %s", name);
    int            rc = host_group_find(name, &words, err);

    if (rc == 0)
        rc = add_names(p, source, &words, err);
    strlist_clear(&words);
    free(source);
    return rc;
}

static int add_names(struct host_parser *p, const char *source, const struct strlist *words,
                     struct error *err)
{
    struct host_parser outer = *p;
    size_t             i;
    int                rc = 0;

    p->name = source;
    for (i = 0; i < words->count && rc == 0; i++) {
        p->line = words->item[i];
        rc = add_member(p, words->item[i], err);
    }
    p->name = outer.name;
    p->line = outer.line;
    return rc;
}

/* Without slots: groups of hosts know nothing of them. */
static int add_member(struct host_parser *p, char *word, struct error *err)
{
    struct hostline line = { 0 };
    struct hostword parts;
    struct strlist  names = { 0 };
    struct error    why;
    const char     *wrong;
    size_t          i;
    int             rc = 0;

    if (hostword_cut(word, &parts, &wrong, &why) < 0)
        return host_parser_refuse(p, wrong, err, "%s", why.text);
    if (parts.number != NULL)
        return host_parser_refuse(p, parts.number, err, "a group has only the names of hosts");
    if (hostrange_expand(parts.name, &names, &why) < 0)
        return host_parser_refuse(p, parts.name, err, "%s", why.text);
    line.user = parts.user;
    for (i = 0; i < names.count && rc == 0; i++) {
        line.name = names.item[i];
        if (host_parser_find(p, line.name) == NULL)
            rc = host_parser_add(p, &line, err);
    }
    strlist_clear(&names);
    return rc;
}

/* Adds the hosts of "te1", "te1:4" or "node[1-4]:4". */
static int add_named(struct host_parser *p, char *word, int default_slots, struct error *err)
{
    struct hostline line = { .slots = default_slots };
    struct hostword parts;
    struct error    why;
    const char     *wrong;
    int64_t         slots;

    if (hostword_cut(word, &parts, &wrong, &why) < 0)
        return host_parser_refuse(p, wrong, err, "%s%s", why.text, hint(word, wrong));
    if (parts.is_bare)
        return host_parser_refuse(p, word, err, "an IPv6 address needs brackets here: [%s]:4",
                                  parts.name);
    if (parts.number != NULL) {
        if (parse_number(parts.number, 1, FRAME_RANKS_MAX, &slots, &why) < 0)
            return host_parser_refuse(
                p, parts.number, err, "slots: %s%s", why.text,
                parse_number(parts.number, HOST_PORT_MIN, 65535, &slots, NULL) < 0
                    ? "" : "; for a port write --ssh_port, or port= in a hostfile");
        line.slots = (int)slots;
    }
    if (parts.user == NULL && is_listed_again(p, parts.name, line.slots, parts.number != NULL))
        return 0;
    line.name = parts.name;
    line.user = parts.user;
    return host_parser_add(p, &line, err);
}

/* What other programs mean by a word that is no host here. */
static const char *hint(const char *word, const char *wrong)
{
    if (word[0] == '-')
        return "; to leave a host out write --exclude=HOST";
    if (word[0] == '/' && access(word, F_OK) < 0)
        return "; to choose hosts by a regular expression write --include=/RE/ or --exclude=/RE/";
    if (wrong[0] == '/')
        return "; for a file of hosts write --hostfile=FILE";
    return wrong > word && strchr("!&^*", wrong[0]) != NULL
               ? "; ClusterShell's operators belong behind a group: @GROUP!te1" : "";
}

/* Was this name in the list before? Then the host gets more slots, as with mpirun; if it came with
 * a group, these are its slots. */
static bool is_listed_again(struct host_parser *p, const char *name, int slots, bool is_given)
{
    struct host *host = host_parser_find(p, name);

    if (host == NULL || host->line > 0)
        return false;
    if (!host->is_counted) {
        host->is_counted = is_given;
        host->slots = slots;
        return true;
    }
    if (is_given || host->slots + slots > FRAME_RANKS_MAX)
        return false;
    host->slots += slots;
    return true;
}

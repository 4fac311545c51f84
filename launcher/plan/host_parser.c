/* host_parser.c - see host_parser.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "plan/host_parser.h"

#include <search.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hostrange.h"
#include "log.h"
#include "number.h"
#include "plan/hostword.h"
#include "xalloc.h"

#define WARNINGS_MAX 10 /* a file in another format must not flood the terminal */
#define PORT_SSH     22

static bool is_repeated(struct host_parser *p, const char *line);
static int  parse_line(struct host_parser *p, char *line, struct error *err);
static int  take_slots(const struct host_parser *p, struct hostline *line, struct error *err);
static bool is_once_more(struct host_parser *p, const char *name, const struct hostline *line);
static int  expand_addr(struct host_parser *p, const struct hostline *line, size_t count,
                        struct strlist *addrs, struct error *err);
static int  check_room(struct host_parser *p, const struct hostline *line, size_t count,
                       struct error *err);
static int  check_new(struct host_parser *p, const char *name, const struct hostline *line,
                      struct error *err);
static int  compare_exact(const void *a, const void *b);
static int  compare_folded(const void *a, const void *b);
static void keep(void *name);
static void warn(struct host_parser *p, const char *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void place(const struct host_parser *p, const char *at, struct error *text,
                  const char *format, va_list ap);

/* Lines end at "\n", "\r\n" or "\r", as in Python's text files. */
int host_parser_read(struct host_parser *p, const char *text, size_t size, struct error *err)
{
    const char *end = text + size, *next;
    char       *line;
    int         rc = 0;

    if (size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        log_warn("%s: begins with a byte order mark, which is skipped", p->name);
        text += 3;
    }
    for (; rc == 0 && text < end; text = next) {
        for (next = text; next < end && *next != '\n' && *next != '\r';)
            next++;
        p->size = (size_t)(next - text);
        p->number++;
        p->line = line = xstrndup(text, p->size);
        if (p->size > HOSTFILE_LINE_MAX)
            rc = host_parser_refuse(p, line, err, "more than %d bytes in a line",
                                    HOSTFILE_LINE_MAX);
        else if (strlen(line) < p->size)
            rc = host_parser_refuse(p, line + strlen(line), err,
                                    "contains a NUL byte; is this a text file?");
        else if (!is_repeated(p, line))
            rc = parse_line(p, line, err);
        free(line);
        if (next < end)
            next += *next == '\r' && next + 1 < end && next[1] == '\n' ? 2 : 1;
    }
    return rc;
}

/* Has the script already printed this line? It may repeat lines, as with horovodrun. */
static bool is_repeated(struct host_parser *p, const char *line)
{
    char              *copy = p->is_found ? xstrdup(line) : NULL;
    const char *const *same = copy != NULL ? tsearch(copy, &p->lines, compare_exact) : NULL;

    if (copy == NULL)
        return false;
    if (same == NULL)
        xalloc_die();
    if (*same == copy)
        return false;
    free(copy);
    return true;
}

static int parse_line(struct host_parser *p, char *line, struct error *err)
{
    struct hostline parsed;
    struct error    why;
    const char     *at;
    int             rc;

    rc = hostline_parse(line, &parsed, &at, &why);
    if (rc < 0)
        host_parser_refuse(p, at, err, "%s", why.text);
    else if (parsed.name != NULL && (rc = take_slots(p, &parsed, err)) == 0)
        rc = host_parser_add(p, &parsed, err);
    if (rc == 0 && parsed.name != NULL && strchr(parsed.name, '#') != NULL)
        warn(p, parsed.name, "'%s' is read as a name: put a blank before '#' to begin a comment",
             parsed.name);
    if (rc == 0 && parsed.ignored != NULL)
        warn(p, parsed.ignored, "'%.*s' is not a hostfile word and is ignored",
             hostline_shown(parsed.ignored), parsed.ignored);
    hostline_clear(&parsed);
    return rc;
}

/* Reads "te1:4" as horovodrun does. */
static int take_slots(const struct host_parser *p, struct hostline *line, struct error *err)
{
    struct error why;
    int64_t      slots = p->default_slots;

    if (!p->is_found || line->slots > 0)
        return 0;
    if (line->port != NULL && parse_number(line->port, 1, HOST_SLOTS_MAX, &slots, &why) < 0)
        return host_parser_refuse(p, line->port, err, "slots: %s", why.text);
    line->slots = (int)slots;
    line->port = NULL;
    return 0;
}

int host_parser_add(struct host_parser *p, const struct hostline *line, struct error *err)
{
    struct strlist names = { 0 }, addrs = { 0 };
    struct error   why;
    struct host    host;
    int64_t        port = 0;
    size_t         i;
    int            rc = -1;

    if (line->port != NULL && parse_number(line->port, 1, 65535, &port, &why) < 0)
        return host_parser_refuse(p, line->port, err, "port: %s", why.text);
    if (hostrange_expand(line->name, &names, &why) < 0)
        return host_parser_refuse(p, line->name, err, "%s", why.text);
    if (expand_addr(p, line, names.count, &addrs, err) < 0 ||
        check_room(p, line, names.count, err) < 0)
        goto out;
    if (line->slots == 0 && port > 0 && port < HOST_PORT_MIN && port != PORT_SSH) {
        host_parser_refuse(p, line->port, err,
                           "%s would be a port here; for %s slots write \"%s slots=%s\"",
                           line->port, line->port, line->name, line->port);
        goto out;
    }
    for (i = 0; i < names.count; i++) {
        if (is_once_more(p, names.item[i], line))
            continue;
        host = (struct host){ .slots = line->slots > 0 ? line->slots : 1,
                              .is_counted = line->slots > 0, .port = (int)port,
                              .line = p->number };
        host.name = xstrdup(names.item[i]);
        host.user = line->user != NULL ? xstrdup(line->user) : NULL;
        host.addr = addrs.count > 0 ? xstrdup(addrs.item[i]) : NULL;
        host.iface = line->iface != NULL ? xstrdup(line->iface) : NULL;
        host.python = line->python != NULL ? xstrdup(line->python) : NULL;
        host.cwd = line->cwd != NULL ? xstrdup(line->cwd) : NULL;
        host.class = hostline_class(line);
        host.price = hostline_price(line->price);
        host.on_demand_price = hostline_price(line->on_demand_price);
        strlist_append(&host.env, &line->env);
        hostlist_take(p->hosts, &host);
        if (check_new(p, host.name, line, err) < 0)
            goto out;
    }
    rc = 0;
out:
    strlist_clear(&names);
    strlist_clear(&addrs);
    return rc;
}

struct host *host_parser_find(const struct host_parser *p, const char *name)
{
    struct host *host = p->hosts->host;

    if (tfind(name, &p->names, compare_exact) == NULL)
        return NULL;
    while (strcmp(host->name, name) != 0)
        host++;
    return host;
}

/* Is the line only a name, and was it there before? Then the host gets one more slot, as in
 * PBS's and mpirun's files. Such lines are adjacent or cycle through all hosts. */
static bool is_once_more(struct host_parser *p, const char *name, const struct hostline *line)
{
    struct host *host;
    const char  *rest[] = { line->user, line->port, line->addr, line->iface, line->python,
                            line->cwd, line->class, line->price, line->on_demand_price };
    size_t       i;

    for (i = 0; i < sizeof rest / sizeof *rest; i++)
        if (rest[i] != NULL)
            return false;
    if (line->slots > 0 || line->env.count > 0 || tfind(name, &p->names, compare_exact) == NULL)
        return false;
    while (strcmp(p->hosts->host[p->again].name, name) != 0)
        p->again = (p->again + 1) % p->hosts->count;
    host = &p->hosts->host[p->again];
    if (host->is_counted || host->slots == HOST_SLOTS_MAX)
        return false;
    host->slots++;
    return true;
}

/* addr= may be a range too, with an address for each name. */
static int expand_addr(struct host_parser *p, const struct hostline *line, size_t count,
                       struct strlist *addrs, struct error *err)
{
    struct hostword parts;
    struct error    why;
    const char     *wrong;

    if (line->addr == NULL)
        return 0;
    if (hostword_cut(line->addr, &parts, &wrong, &why) < 0)
        return host_parser_refuse(p, wrong, err, "addr: %s", why.text);
    if (parts.user != NULL || parts.number != NULL)
        return host_parser_refuse(p, line->addr, err,
                                  "addr= takes only an address; write user= and port= for "
                                  "the rest");
    if (hostrange_expand(parts.name, addrs, &why) < 0)
        return host_parser_refuse(p, parts.name, err, "addr: %s", why.text);
    if (addrs->count != count)
        return host_parser_refuse(p, line->addr, err, "addr= names %zu addresses for %zu hosts",
                                  addrs->count, count);
    return 0;
}

/* A short line may expand to many hosts, each of which has its own copy of the words. */
static int check_room(struct host_parser *p, const struct hostline *line, size_t count,
                      struct error *err)
{
    if (count > HOSTFILE_HOSTS_MAX - p->hosts->count)
        return host_parser_refuse(p, line->name, err, "more than %d hosts", HOSTFILE_HOSTS_MAX);
    p->spread += count * p->size;
    if (p->number > 0 && p->spread > HOSTFILE_SPREAD_MAX)
        return host_parser_refuse(p, line->name, err,
                                  "the lines up to here expand to more than %u MiB",
                                  HOSTFILE_SPREAD_MAX >> 20);
    return 0;
}

/* name belongs to the host just added; the trees point to it. */
static int check_new(struct host_parser *p, const char *name, const struct hostline *line,
                     struct error *err)
{
    const char *const *same = tsearch(name, &p->names, compare_exact);
    const char *const *alike = tsearch(name, &p->folded, compare_folded);
    size_t             i;

    if (same == NULL || alike == NULL)
        xalloc_die();
    if (*same != name) {
        for (i = 0; p->hosts->host[i].name != *same;)
            i++;
        if (p->hosts->host[i].line == 0)
            return host_parser_refuse(p, line->name, err,
                                      "%s is named twice; write the sum of its slots once: %s:N",
                                      name, name);
        return host_parser_refuse(
            p, line->name, err,
            "%s is already on line %d (to use one machine twice, give it two names and addr=)",
            name, p->hosts->host[i].line);
    }
    if (*alike != name)
        warn(p, line->name, "%s and %s differ only in case: are they the same machine?", name,
             *alike);
    return 0;
}

static int compare_exact(const void *a, const void *b)
{
    return strcmp(a, b);
}

static int compare_folded(const void *a, const void *b)
{
    return strcasecmp(a, b);
}

int host_parser_finish(struct host_parser *p, int rc)
{
    if (rc == 0 && p->warnings > WARNINGS_MAX)
        log_warn("%s: %d more warnings not shown", p->name, p->warnings - WARNINGS_MAX);
    tdestroy(p->names, keep);
    tdestroy(p->folded, keep);
    if (rc < 0)
        hostlist_clear(p->hosts);
    return rc;
}

static void keep(void *name)
{
    (void)name; /* belongs to its host */
}

int host_parser_refuse(const struct host_parser *p, const char *at, struct error *err,
                       const char *format, ...)
{
    struct error text;
    va_list      ap;

    va_start(ap, format);
    place(p, at, &text, format, ap);
    va_end(ap);
    return err_set(err, "%s", text.text);
}

static void warn(struct host_parser *p, const char *at, const char *format, ...)
{
    struct error text;
    va_list      ap;

    if (++p->warnings > WARNINGS_MAX)
        return;
    va_start(ap, format);
    place(p, at, &text, format, ap);
    va_end(ap);
    log_warn("%s", text.text);
}

/* "hosts:3:7: text" */
static void place(const struct host_parser *p, const char *at, struct error *text,
                  const char *format, va_list ap)
{
    struct error what;

    vsnprintf(what.text, sizeof what.text, format, ap);
    if (p->number > 0)
        err_set(text, "%s:%d:%td: %s", p->name, p->number, at - p->line + 1, what.text);
    else
        err_set(text, "%s:%td: %s", p->name, at - p->line + 1, what.text);
}

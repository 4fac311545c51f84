/* hostfile.c - see hostfile.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "plan/hostfile.h"

#include <search.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"
#include "frame.h"
#include "hostrange.h"
#include "log.h"
#include "number.h"
#include "plan/hostline.h"
#include "plan/hostword.h"
#include "xalloc.h"

#define WARNINGS_MAX 10 /* a file in another format must not flood the terminal */
#define BLANKS       " \t"
#define PORT_SSH     22
#define PORT_MIN     1024 /* below, sshd listens only on 22 */

struct parser {
    const char      *name;   /* the file's name in messages */
    const char      *line;   /* the current line: columns count from here */
    size_t           size;   /* of that line */
    int              number; /* of that line; 0: -H has none */
    int              warnings;
    size_t           spread; /* sum over lines of bytes times hosts */
    void            *names;  /* tsearch() trees of the hosts' names, as they */
    void            *folded; /* are and without regard to case */
    struct hostlist *hosts;
    size_t           again; /* index of the last host that was named again */
    bool             is_found; /* from a discovery script: "te1:4" is te1 with 4 slots */
    int              default_slots; /* if is_found: slots of a line without them; 0: unknown */
    void            *lines;         /* if is_found: a tree of the lines read */
};

static int  parse_text(struct parser *p, const char *text, size_t size,
                       struct error *err);
static bool is_repeated(struct parser *p, const char *line);
static int  parse_line(struct parser *p, char *line, struct error *err);
static int  take_slots(const struct parser *p, struct hostline *line, struct error *err);
static void cut_blanks(char *word);
static int  parse_listed(struct parser *p, const char *path, struct error *err);
static int  parse_argument(struct parser *p, char *word, int default_slots,
                           struct error *err);
static bool is_listed_again(struct parser *p, const char *name, int slots);
static int  add_hosts(struct parser *p, const struct hostline *line, struct error *err);
static bool is_once_more(struct parser *p, const char *name, const struct hostline *line);
static int  expand_addr(struct parser *p, const struct hostline *line, size_t count,
                        struct strlist *addrs, struct error *err);
static int  check_room(struct parser *p, const struct hostline *line, size_t count,
                       struct error *err);
static int  check_new(struct parser *p, const char *name, const struct hostline *line,
                      struct error *err);
static int  compare_exact(const void *a, const void *b);
static int  compare_folded(const void *a, const void *b);
static void add_host(struct hostlist *hosts, const struct host *host);
static char *dup_or_null(const char *text);
static int  finish(struct parser *p, int rc);
static void keep(void *name);
static int  refuse(const struct parser *p, const char *at, struct error *err,
                   const char *format, ...) __attribute__((format(printf, 4, 5)));
static void warn(struct parser *p, const char *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void place(const struct parser *p, const char *at, struct error *text,
                  const char *format, va_list ap);

int hostfile_read(const char *path, struct hostlist *hosts, struct error *err)
{
    size_t size;
    char  *text = file_read(path, HOSTFILE_BYTES_MAX, &size, err);
    int    rc;

    *hosts = (struct hostlist){ 0 };
    if (text == NULL)
        return -1;
    rc = hostfile_parse(strcmp(path, "-") == 0 ? "stdin" : path, text, size, hosts, err);
    free(text);
    return rc;
}

int hostfile_parse(const char *name, const char *text, size_t size, struct hostlist *hosts,
                   struct error *err)
{
    struct parser p = { .name = name, .hosts = hosts };
    int           rc;

    *hosts = (struct hostlist){ 0 };
    rc = parse_text(&p, text, size, err);
    if (rc == 0 && hosts->count == 0)
        rc = err_set(err, "%s: contains no host; a line looks like \"te1 slots=4\"", name);
    if (p.warnings > WARNINGS_MAX)
        log_warn("%s: %d more warnings not shown", name, p.warnings - WARNINGS_MAX);
    return finish(&p, rc);
}

int hostlist_from_discovery(const char *name, const char *text, size_t size, int default_slots,
                            struct hostlist *hosts, struct error *err)
{
    struct parser p = { .name = name, .hosts = hosts, .is_found = true,
                        .default_slots = default_slots };
    int           rc;

    *hosts = (struct hostlist){ 0 };
    rc = parse_text(&p, text, size, err);
    if (rc == 0 && hosts->count == 0)
        rc = err_set(err, "%s: prints no host; a line looks like \"te1:4\"", name);
    tdestroy(p.lines, free);
    return finish(&p, rc);
}

int hostlist_from_argument(const char *text, int default_slots, struct hostlist *hosts,
                           struct error *err)
{
    char         *copy = xstrdup(text), *at = copy, *word;
    struct parser p = { .name = "-H", .line = copy, .size = strlen(text), .hosts = hosts };
    int           rc = 0, is_last = 0;

    *hosts = (struct hostlist){ 0 };
    while (rc == 0 && !is_last) {
        word = at += strspn(at, BLANKS);
        at += strcspn(at, ",[");
        while (*at == '[') { /* a comma in brackets does not separate hosts */
            at += strcspn(at, "]");
            at += strcspn(at, ",[");
        }
        is_last = *at == '\0';
        *at++ = '\0';
        cut_blanks(word);
        rc = word[0] == '^' ? parse_listed(&p, word + 1, err)
                            : parse_argument(&p, word, default_slots, err);
    }
    if (rc == 0 && hosts->count == 0) /* "^FILE" of an empty file */
        rc = err_set(err, "-H: no host in %s", text);
    rc = finish(&p, rc);
    free(copy);
    return rc;
}

void hostlist_add(struct hostlist *hosts, const char *name, int slots)
{
    struct host host = { .name = xstrdup(name), .slots = slots, .is_counted = true };

    add_host(hosts, &host);
}

bool hostlist_is_uncounted(const struct hostlist *hosts)
{
    size_t i;
    bool   is_uncounted = false;

    for (i = 0; i < hosts->count; i++) {
        if (!hosts->host[i].is_counted && hosts->host[i].slots > 1)
            return false;
        is_uncounted = is_uncounted || !hosts->host[i].is_counted;
    }
    return is_uncounted;
}

int hostlist_set_user(struct hostlist *hosts, const char *user, struct error *err)
{
    const char *at;
    size_t      i;

    if (hostword_check_user(user, &at, err) < 0)
        return -1;
    for (i = 0; i < hosts->count; i++)
        if (hosts->host[i].user == NULL)
            hosts->host[i].user = xstrdup(user);
    return 0;
}

void hostlist_clear(struct hostlist *hosts)
{
    size_t i;

    for (i = 0; i < hosts->count; i++)
        host_clear(&hosts->host[i]);
    free(hosts->host);
    *hosts = (struct hostlist){ 0 };
}

/* Lines end at "\n", "\r\n" or "\r", as in Python's text files. */
static int parse_text(struct parser *p, const char *text, size_t size, struct error *err)
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
            rc = refuse(p, line, err, "more than %d bytes in a line", HOSTFILE_LINE_MAX);
        else if (strlen(line) < p->size)
            rc = refuse(p, line + strlen(line), err,
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
static bool is_repeated(struct parser *p, const char *line)
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

static int parse_line(struct parser *p, char *line, struct error *err)
{
    struct hostline parsed;
    struct error    why;
    const char     *at;
    int             rc;

    rc = hostline_parse(line, &parsed, &at, &why);
    if (rc < 0)
        refuse(p, at, err, "%s", why.text);
    else if (parsed.name != NULL && (rc = take_slots(p, &parsed, err)) == 0)
        rc = add_hosts(p, &parsed, err);
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
static int take_slots(const struct parser *p, struct hostline *line, struct error *err)
{
    struct error why;
    int64_t      slots = p->default_slots;

    if (!p->is_found || line->slots > 0)
        return 0;
    if (line->port != NULL && parse_number(line->port, 1, HOST_SLOTS_MAX, &slots, &why) < 0)
        return refuse(p, line->port, err, "slots: %s", why.text);
    line->slots = (int)slots;
    line->port = NULL;
    return 0;
}

static void cut_blanks(char *word)
{
    size_t size = strlen(word);

    while (size > 0 && strchr(BLANKS, word[size - 1]) != NULL)
        word[--size] = '\0';
}

/* Replaces "^FILE" in a list by the hosts in the file. */
static int parse_listed(struct parser *p, const char *path, struct error *err)
{
    struct parser outer = *p;
    size_t        size;
    char         *text = file_read(path, HOSTFILE_BYTES_MAX, &size, err);
    int           rc;

    if (text == NULL)
        return -1;
    p->name = path;
    rc = parse_text(p, text, size, err);
    free(text);
    p->name = outer.name;
    p->line = outer.line;
    p->size = outer.size;
    p->number = outer.number;
    return rc;
}

/* Parses "te1", "te1:4" or "node[1-4]:4". */
static int parse_argument(struct parser *p, char *word, int default_slots, struct error *err)
{
    struct hostline line = { .slots = default_slots };
    struct hostword parts;
    struct error    why;
    const char     *wrong;
    int64_t         slots;

    if (hostword_cut(word, &parts, &wrong, &why) < 0)
        return refuse(p, wrong, err, "%s%s", why.text,
                      word[0] == '-'   ? "; to leave a host out write --exclude=HOST"
                      : wrong[0] == '/' ? "; for a file of hosts write --hostfile=FILE"
                                        : "");
    if (parts.is_bare)
        return refuse(p, word, err, "an IPv6 address needs brackets here: [%s]:4",
                      parts.name);
    if (parts.number != NULL) {
        if (parse_number(parts.number, 1, FRAME_RANKS_MAX, &slots, &why) < 0)
            return refuse(p, parts.number, err, "slots: %s%s", why.text,
                          parse_number(parts.number, PORT_MIN, 65535, &slots, NULL) < 0
                              ? "" : "; for a port write --ssh_port, or port= in a hostfile");
        line.slots = (int)slots;
    }
    if (parts.number == NULL && parts.user == NULL && is_listed_again(p, parts.name, default_slots))
        return 0;
    line.name = parts.name;
    line.user = parts.user;
    return add_hosts(p, &line, err);
}

/* Was this name in the list before? Then the host gets more slots, as with mpirun. */
static bool is_listed_again(struct parser *p, const char *name, int slots)
{
    struct host *host;

    if (tfind(name, &p->names, compare_exact) == NULL)
        return false;
    for (host = p->hosts->host; strcmp(host->name, name) != 0; host++)
        ;
    if (host->line > 0 || host->slots + slots > FRAME_RANKS_MAX)
        return false;
    host->slots += slots;
    return true;
}

/* Expands the names and adds a host for each. */
static int add_hosts(struct parser *p, const struct hostline *line, struct error *err)
{
    struct strlist names = { 0 }, addrs = { 0 };
    struct error   why;
    struct host    host;
    int64_t        port = 0;
    size_t         i;
    int            rc = -1;

    if (line->port != NULL && parse_number(line->port, 1, 65535, &port, &why) < 0)
        return refuse(p, line->port, err, "port: %s", why.text);
    if (hostrange_expand(line->name, &names, &why) < 0)
        return refuse(p, line->name, err, "%s", why.text);
    if (expand_addr(p, line, names.count, &addrs, err) < 0 ||
        check_room(p, line, names.count, err) < 0)
        goto out;
    if (line->slots == 0 && port > 0 && port < PORT_MIN && port != PORT_SSH) {
        refuse(p, line->port, err, "%s would be a port here; for %s slots write \"%s slots=%s\"",
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
        add_host(p->hosts, &host);
        if (check_new(p, host.name, line, err) < 0)
            goto out;
    }
    rc = 0;
out:
    strlist_clear(&names);
    strlist_clear(&addrs);
    return rc;
}

/* Is the line only a name, and was it there before? Then the host gets one more slot, as in
 * PBS's and mpirun's files. Such lines are adjacent or cycle through all hosts. */
static bool is_once_more(struct parser *p, const char *name, const struct hostline *line)
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
static int expand_addr(struct parser *p, const struct hostline *line, size_t count,
                       struct strlist *addrs, struct error *err)
{
    struct hostword parts;
    struct error    why;
    const char     *wrong;

    if (line->addr == NULL)
        return 0;
    if (hostword_cut(line->addr, &parts, &wrong, &why) < 0)
        return refuse(p, wrong, err, "addr: %s", why.text);
    if (parts.user != NULL || parts.number != NULL)
        return refuse(p, line->addr, err,
                      "addr= takes only an address; write user= and port= for the rest");
    if (hostrange_expand(parts.name, addrs, &why) < 0)
        return refuse(p, parts.name, err, "addr: %s", why.text);
    if (addrs->count != count)
        return refuse(p, line->addr, err, "addr= names %zu addresses for %zu hosts",
                      addrs->count, count);
    return 0;
}

/* A short line may expand to many hosts, each of which has its own copy of the words. */
static int check_room(struct parser *p, const struct hostline *line, size_t count,
                      struct error *err)
{
    if (count > HOSTFILE_HOSTS_MAX - p->hosts->count)
        return refuse(p, line->name, err, "more than %d hosts", HOSTFILE_HOSTS_MAX);
    p->spread += count * p->size;
    if (p->number > 0 && p->spread > HOSTFILE_SPREAD_MAX)
        return refuse(p, line->name, err, "the lines up to here expand to more than %u MiB",
                      HOSTFILE_SPREAD_MAX >> 20);
    return 0;
}

/* name belongs to the host just added; the trees point to it. */
static int check_new(struct parser *p, const char *name, const struct hostline *line,
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
            return refuse(p, line->name, err,
                          "%s is named twice; write the sum of its slots once: %s:N", name,
                          name);
        return refuse(
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

/* The list has no field for its capacity, which is the next power of two. */
static void add_host(struct hostlist *hosts, const struct host *host)
{
    size_t count = hosts->count;

    if ((count & (count - 1)) == 0)
        hosts->host = xreallocarray(hosts->host, count > 0 ? 2 * count : 1, sizeof *host);
    hosts->host[hosts->count++] = *host;
}

void host_copy(struct host *copy, const struct host *host)
{
    *copy = *host;
    copy->name = dup_or_null(host->name);
    copy->user = dup_or_null(host->user);
    copy->addr = dup_or_null(host->addr);
    copy->iface = dup_or_null(host->iface);
    copy->python = dup_or_null(host->python);
    copy->cwd = dup_or_null(host->cwd);
    copy->env = (struct strlist){ 0 };
    strlist_append(&copy->env, &host->env);
}

static char *dup_or_null(const char *text)
{
    return text != NULL ? xstrdup(text) : NULL;
}

void host_clear(struct host *host)
{
    free(host->name);
    free(host->user);
    free(host->addr);
    free(host->iface);
    free(host->python);
    free(host->cwd);
    strlist_clear(&host->env);
}

/* Frees the parser's trees, and the hostlist after an error. */
static int finish(struct parser *p, int rc)
{
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

static int refuse(const struct parser *p, const char *at, struct error *err, const char *format,
                  ...)
{
    struct error text;
    va_list      ap;

    va_start(ap, format);
    place(p, at, &text, format, ap);
    va_end(ap);
    return err_set(err, "%s", text.text);
}

static void warn(struct parser *p, const char *at, const char *format, ...)
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
static void place(const struct parser *p, const char *at, struct error *text,
                  const char *format, va_list ap)
{
    struct error what;

    vsnprintf(what.text, sizeof what.text, format, ap);
    if (p->number > 0)
        err_set(text, "%s:%d:%td: %s", p->name, p->number, at - p->line + 1, what.text);
    else
        err_set(text, "%s:%td: %s", p->name, at - p->line + 1, what.text);
}

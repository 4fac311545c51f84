/* select.c - see select.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "plan/select.h"

#include <regex.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "hostrange.h"
#include "number.h"
#include "options/address.h"
#include "xalloc.h"

/* One host in a filter. All mentions of the host are merged: if any of them names slots, the
 * filter means only those slots, otherwise the whole host. */
struct mention {
    bool  is_named, has_slots;
    bool *slot; /* per slot of the host; NULL until has_slots */
};

struct filter {
    const struct hostlist *hosts;
    struct mention        *mention; /* by host */
    bool                   is_partial;
};

static bool  is_given(const char *filter);
static int   read_filter(const char *text, struct filter *filter, struct error *err);
static char *cut_word(char **rest);
static int   read_word(char *word, struct filter *filter, struct error *err);
static int   read_names(const char *range, const char *slots, struct filter *filter,
                        struct error *err);
static int   read_list(const char *list, const char *slots, struct filter *filter,
                       struct error *err);
static int   read_regex(char *word, struct filter *filter, struct error *err);
static size_t find_host(const struct filter *filter, const char *name, size_t from);
static int   mention_host(size_t at, const char *slots, struct filter *filter,
                          struct error *err);
static char *cut_group_slots(char *name);
static char *cut_slots(char *node, char **slots);
static int   read_slot(char *text, const struct host *host, struct mention *mention,
                       struct error *err);
static const struct host *host_after_comma(const char *filter,
                                            const struct hostlist *hosts);
static void  take_slots(const struct hostlist *hosts, const struct mention *mention,
                        const struct select_rules *rules, struct selection *selection);
static void  number_slots(struct selection *selection, int count);
static int   limit_ranks(struct selection *selection, int count, struct error *err);
static void  limit_nodes(struct selection *selection, size_t count);

struct select_rules select_rules_of(const struct options *options)
{
    return (struct select_rules){
        .include = options->include,
        .exclude = options->exclude,
        .suspects = &options->suspects,
        .num_nodes = options->num_nodes,
        .num_gpus = options->num_gpus,
        .num_ranks = options->num_ranks,
        .per_node = options->per_node,
    };
}

int select_slots(const struct hostlist *hosts, const struct select_rules *rules,
                 struct selection *selection, struct error *err)
{
    bool               is_include = is_given(rules->include);
    struct error       why;
    const char        *filter = is_include ? rules->include : rules->exclude;
    const struct host *host;
    struct mention    *mention = NULL;
    struct filter      all;
    size_t             i;
    int                rc = -1;

    *selection = (struct selection){ 0 };
    if (select_check(rules, err) < 0)
        return -1;
    if (hosts->count == 0)
        return err_set(err, "there is no host to run on");
    mention = xcalloc(hosts->count, sizeof *mention);
    all = (struct filter){ hosts, mention, rules->is_partial };
    if (is_given(filter) && read_filter(filter, &all, &why) < 0) {
        host = host_after_comma(filter, hosts);
        err_set(err, "--%s: %s%s%s", is_include ? "include" : "exclude", why.text,
                host != NULL ? "; hosts are separated by '@': ...@" : "",
                host != NULL ? host->name : "");
        goto out;
    }
    take_slots(hosts, mention, rules, selection);
    if (selection->count == 0 && rules->suspects != NULL && rules->suspects->count > 0) {
        err_set(err, "--exclude-suspects leaves no slot to run on; muster clean --suspects "
                     "forgets the suspects");
        goto out;
    }
    if (selection->count == 0) {
        err_set(err, "--%s %.256s leaves no slot to run on", is_include ? "include" : "exclude",
                filter);
        goto out;
    }
    if (rules->num_nodes > 0 && (size_t)rules->num_nodes > selection->count) {
        err_set(err, "--num_nodes %d: there %s only %zu", rules->num_nodes,
                selection->count == 1 ? "is" : "are", selection->count);
        goto out;
    }
    if (rules->num_nodes > 0 && !rules->takes_all)
        limit_nodes(selection, (size_t)rules->num_nodes);
    if (rules->num_gpus > 0)
        number_slots(selection, rules->num_gpus);
    if (rules->num_ranks > 0 && limit_ranks(selection, rules->num_ranks, err) < 0)
        goto out;
    for (i = 0; i < selection->count && rules->per_node; i++) {
        selection->node[i].more = selection->node[i].slots - 1;
        selection->node[i].slots = 1;
    }
    rc = 0;
out:
    for (i = 0; i < hosts->count; i++)
        free(mention[i].slot);
    free(mention);
    if (rc < 0)
        selection_clear(selection);
    return rc;
}

void selection_clear(struct selection *selection)
{
    size_t i;

    for (i = 0; i < selection->count; i++)
        free(selection->node[i].slot);
    free(selection->node);
    *selection = (struct selection){ 0 };
}

/* As in DeepSpeed, even --num_nodes 0, which changes nothing, counts as given. */
int select_check(const struct select_rules *rules, struct error *err)
{
    bool is_filtered = is_given(rules->include) || is_given(rules->exclude);

    if (is_given(rules->include) && is_given(rules->exclude))
        return err_set(err, "--include and --exclude cannot be used together");
    if (is_filtered && (rules->num_nodes >= 0 || rules->num_gpus >= 0))
        return err_set(err, "--%s cannot be used together with --%s",
                       is_given(rules->include) ? "include" : "exclude",
                       rules->num_nodes >= 0 ? "num_nodes" : "num_gpus");
    if (rules->num_nodes == 0 || rules->num_gpus == 0)
        return err_set(err, "--%s 0 leaves nothing to run on",
                       rules->num_nodes == 0 ? "num_nodes" : "num_gpus");
    if (rules->num_gpus > HOST_SLOTS_MAX)
        return err_set(err, "--num_gpus %d: the limit is %d", rules->num_gpus, HOST_SLOTS_MAX);
    return 0;
}

static bool is_given(const char *filter)
{
    return filter != NULL && *filter != '\0';
}

/* Reads "WORD[@WORD...]". */
static int read_filter(const char *text, struct filter *filter, struct error *err)
{
    char *copy = xstrdup(text), *rest = copy;
    int   rc = 0;

    while (rc == 0 && rest != NULL)
        rc = read_word(cut_word(&rest), filter, err);
    free(copy);
    return rc;
}

/* Returns the next word, and NULL in *rest if it is the last. An '@' that begins a word means a
 * group: "te1@@gpu" is te1 and the group gpu. A regular expression in slashes may contain '@'. */
static char *cut_word(char **rest)
{
    char *word = *rest, *from = word + (word[0] == '@');

    if (word[0] == '/' && strchr(word + 1, '/') != NULL)
        from = strchr(word + 1, '/');
    from = strchr(from, '@');
    *rest = from != NULL ? from + 1 : NULL;
    if (from != NULL)
        *from = '\0';
    return word;
}

/* Reads "NAME:SLOTS", "@GROUP:SLOTS", "/REGEX/:SLOTS" or "^FILE". */
static int read_word(char *word, struct filter *filter, struct error *err)
{
    char *slots = NULL;

    if (word[0] == '/')
        return read_regex(word + 1, filter, err);
    if (word[0] == '@')
        slots = cut_group_slots(word);
    if (word[0] == '@' || word[0] == '^')
        return read_list(word, slots, filter, err);
    word = cut_slots(word, &slots);
    return read_names(word, slots, filter, err);
}

/* Reads "NAME" or a range of names, which are usually adjacent in the hostfile. */
static int read_names(const char *range, const char *slots, struct filter *filter,
                      struct error *err)
{
    struct strlist names = { 0 };
    size_t         i, at = 0;
    int            rc = hostrange_expand(range, &names, err);

    for (i = 0; i < names.count && rc == 0; i++) {
        at = find_host(filter, names.item[i], at);
        if (at < filter->hosts->count)
            rc = mention_host(at, slots, filter, err);
        else if (!filter->is_partial)
            rc = err_set(err, "no host '%.256s' in the hostfile%s", names.item[i],
                         strchr(names.item[i], ':') == NULL
                             ? "" : "; slots of an IPv6 address: [NAME]:0,1");
    }
    strlist_clear(&names);
    return rc;
}

/* Reads "@GROUP" or "^FILE", which may have hosts that this run does not. */
static int read_list(const char *list, const char *slots, struct filter *filter,
                     struct error *err)
{
    struct hostlist members;
    size_t          i, at = 0;
    int             rc = hostlist_from_argument(list, 1, &members, err);

    for (i = 0; rc == 0 && i < members.count; i++) {
        at = find_host(filter, members.host[i].name, at);
        if (at < filter->hosts->count)
            rc = mention_host(at, slots, filter, err);
    }
    hostlist_clear(&members);
    return rc;
}

/* Reads "RE/:SLOTS", "RE/" or "RE", an extended regular expression, as in pdsh. */
static int read_regex(char *word, struct filter *filter, struct error *err)
{
    char   *end = strchr(word, '/'), *slots = NULL, why[128];
    regex_t regex;
    size_t  i, matches = 0;
    int     rc = 0, code;

    if (end != NULL) {
        *end++ = '\0';
        slots = *end == ':' ? end + 1 : NULL;
        if (*end != '\0' && slots == NULL)
            return err_set(err, "'%.64s' follows /%.64s/; slots are written /RE/:0,1", end, word);
    }
    code = regcomp(&regex, word, REG_EXTENDED | REG_NOSUB);
    if (code != 0) {
        regerror(code, &regex, why, sizeof why);
        return err_set(err, "/%.256s/: %s", word, why);
    }
    for (i = 0; i < filter->hosts->count && rc == 0; i++) {
        if (regexec(&regex, filter->hosts->host[i].name, 0, NULL, 0) != 0)
            continue;
        matches++;
        rc = mention_host(i, slots, filter, err);
    }
    regfree(&regex);
    if (matches == 0 && !filter->is_partial)
        return err_set(err, "no host matches /%.256s/", word);
    return rc;
}

/* Returns the host's index, or the number of hosts. The search begins at `from`, since the names
 * of a range or a group are usually adjacent. */
static size_t find_host(const struct filter *filter, const char *name, size_t from)
{
    const struct hostlist *hosts = filter->hosts;
    size_t                 i, at;

    for (i = 0; i < hosts->count; i++) {
        at = (from + i) % hosts->count;
        if (strcmp(hosts->host[at].name, name) == 0)
            return at;
    }
    return hosts->count;
}

static int mention_host(size_t at, const char *slots, struct filter *filter, struct error *err)
{
    struct mention *mention = &filter->mention[at];
    char           *copy, *rest, *slot;
    int             rc = 0;

    mention->is_named = true;
    copy = rest = slots != NULL ? xstrdup(slots) : NULL;
    while (rc == 0 && (slot = strsep(&rest, ",")) != NULL)
        rc = read_slot(slot, &filter->hosts->host[at], mention, err);
    free(copy);
    return rc;
}

/* Cuts "@GROUP:0,1"; "@SOURCE:GROUP" is a group of ClusterShell. */
static char *cut_group_slots(char *word)
{
    char *colon = strrchr(word, ':');

    if (colon == NULL || colon[1] == '\0' || colon[1 + strspn(colon + 1, "0123456789, ")] != '\0')
        return NULL;
    *colon = '\0';
    return colon + 1;
}

/* Returns the name, without the brackets that an IPv6 address must have here if slots follow;
 * *slots is NULL if there are none. */
static char *cut_slots(char *node, char **slots)
{
    char *close = node[0] == '[' ? strchr(node, ']') : NULL;
    char *colon = strchr(close != NULL ? close : node, ':');

    if (close == NULL && address_is_ipv6(node))
        colon = NULL;
    if (colon != NULL)
        *colon = '\0';
    *slots = colon != NULL ? colon + 1 : NULL;
    if (close == NULL || close[1] != '\0')
        return node;
    *close = '\0';
    return node + 1;
}

/* Blanks around the number are allowed, as in Python's int(). */
static int read_slot(char *text, const struct host *host, struct mention *mention,
                     struct error *err)
{
    int64_t number;
    size_t  size;

    text += strspn(text, " \t");
    for (size = strlen(text); size > 0 && strchr(" \t", text[size - 1]) != NULL; size--)
        text[size - 1] = '\0';
    if (parse_number(text, INT64_MIN, INT64_MAX, &number, NULL) < 0)
        return err_set(err,
                       "'%.64s' is not a slot of host %s: write NAME:0,1 (an IPv6 "
                       "address as [NAME]:0,1)",
                       text, host->name);
    if (number < 0 || number >= host->slots)
        return err_set(err, "host %s has no slot %lld: it has 0 to %d", host->name,
                       (long long)number, host->slots - 1);
    if (mention->slot == NULL)
        mention->slot = xcalloc((size_t)host->slots, sizeof *mention->slot);
    mention->slot[number] = mention->has_slots = true;
    return 0;
}

/* Returns the host after the comma in "a,b", which should be "a@b" (most programs separate
 * hosts by commas), or NULL. */
static const struct host *host_after_comma(const char *filter, const struct hostlist *hosts)
{
    const char *comma, *name;
    size_t      i, length;

    for (comma = strchr(filter, ','); comma != NULL; comma = strchr(name, ',')) {
        name = comma + 1;
        length = strcspn(name, ",:@");
        for (i = 0; i < hosts->count; i++)
            if (strncmp(hosts->host[i].name, name, length) == 0 &&
                hosts->host[i].name[length] == '\0')
                return &hosts->host[i];
    }
    return NULL;
}

/* Without a filter no host is mentioned, and excluding no host takes them all. */
static void take_slots(const struct hostlist *hosts, const struct mention *mention,
                       const struct select_rules *rules, struct selection *selection)
{
    const bool         is_include = is_given(rules->include);
    const struct host *host;
    struct selected   *node;
    size_t             i;
    int                slot;
    bool               is_meant;

    selection->node = xcalloc(hosts->count, sizeof *selection->node);
    for (i = 0; i < hosts->count; i++) {
        host = &hosts->host[i];
        if (rules->suspects != NULL && strlist_has(rules->suspects, host->name))
            continue;
        node = &selection->node[selection->count];
        node->slot = xcalloc((size_t)host->slots, sizeof *node->slot);
        for (slot = 0; slot < host->slots; slot++) {
            is_meant = mention[i].is_named && (!mention[i].has_slots || mention[i].slot[slot]);
            if (is_meant == is_include)
                node->slot[node->slots++] = slot;
        }
        if (node->slots > 0) {
            node->host = host;
            selection->count++;
        } else {
            free(node->slot);
        }
    }
}

/* Uses slots 0 to count - 1 on each node, whatever the hostfile says, as DeepSpeed does. */
static void number_slots(struct selection *selection, int count)
{
    struct selected *node;
    size_t           i;
    int              slot;

    for (i = 0; i < selection->count; i++) {
        node = &selection->node[i];
        node->slot = xreallocarray(node->slot, (size_t)count, sizeof *node->slot);
        for (slot = 0; slot < count; slot++)
            node->slot[slot] = slot;
        node->slots = count;
    }
}

static int limit_ranks(struct selection *selection, int count, struct error *err)
{
    size_t i;
    int    left = count;

    for (i = 0; i < selection->count && left > 0; i++) {
        if (selection->node[i].slots > left)
            selection->node[i].slots = left;
        left -= selection->node[i].slots;
    }
    if (left > 0)
        return err_set(err, "-np %d: there are only %d slots on %zu hosts", count, count - left,
                       selection->count);
    limit_nodes(selection, i);
    return 0;
}

static void limit_nodes(struct selection *selection, size_t count)
{
    while (selection->count > count)
        free(selection->node[--selection->count].slot);
}

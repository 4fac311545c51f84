/* host_watch.c - see host_watch.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "discovery/host_watch.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "discovery/host_changes.h"
#include "discovery/host_look.h"
#include "discovery/host_script.h"
#include "log.h"
#include "xalloc.h"
#include "xevent.h"

/* The text that was judged last, or that has not yet settled. */
struct text {
    char  *bytes; /* NULL: none */
    size_t size;
};

struct host_watch {
    const struct options *options;
    int                   slots;
    host_watch_changed   *changed;
    void                 *arg;
    struct host_look     *look;   /* NULL: it watches a script */
    struct host_script   *script; /* NULL: it watches a file */
    struct event         *next;
    bool                  is_urgent; /* SIGHUP: do not wait until it has settled */
    struct text           judged, settling;
    bool                  is_good; /* judged is a valid list of hosts */
    struct hostlist       hosts; /* the last valid list; count 0: none yet */
    char                 *complaint; /* the reported error, if it persists; NULL: none */
};

static bool is_file(const struct options *options);
static void next_cb(evutil_socket_t fd, short what, void *arg);
static void look_soon(void *arg);
static void has_read(const char *text, size_t size, const struct error *why, void *arg);
static void has_asked(const char *text, size_t size, const struct error *why, void *arg);
static void again_in(struct host_watch *watch, double seconds);
static bool has_settled(struct host_watch *watch, const char *text, size_t size);
static void judge(struct host_watch *watch, const char *text, size_t size);
static int  parse(const struct options *options, const char *text, size_t size, int slots,
                  struct hostlist *hosts, struct error *err);
static void count_slots(const struct host_watch *watch, struct hostlist *hosts);
static void take(struct host_watch *watch, struct hostlist *hosts);
static void complain(struct host_watch *watch, const struct error *why);
static bool is_text(const struct text *text, const char *bytes, size_t size);
static void set_text(struct text *text, const char *bytes, size_t size);
static const char *name_of(const struct options *options);

static const struct host_look_ops look_ops = { .read = has_read, .changed = look_soon };

bool host_watch_is_possible(const struct options *options)
{
    return options->discovery_script != NULL || is_file(options);
}

struct host_watch *host_watch_new(struct event_base *base, const struct options *options,
                                  int slots, host_watch_changed *changed, void *arg)
{
    struct host_watch *watch;

    if (!host_watch_is_possible(options))
        return NULL;
    watch = xcalloc(1, sizeof *watch);
    watch->options = options;
    watch->slots = slots;
    watch->changed = changed;
    watch->arg = arg;
    watch->next = evtimer_new(base, next_cb, watch);
    if (watch->next == NULL)
        xalloc_die();
    if (options->discovery_script != NULL)
        watch->script = host_script_new(base, options->discovery_script,
                                        slots > 0 ? "until then the hosts stay as they were"
                                                  : "the run has no hosts before that",
                                        has_asked, watch);
    else
        watch->look = host_look_new(base, options->hostfile, &look_ops, watch);
    again_in(watch, 0);
    return watch;
}

void host_watch_free(struct host_watch *watch)
{
    if (watch == NULL)
        return;
    event_free(watch->next);
    host_look_free(watch->look);
    host_script_free(watch->script);
    hostlist_clear(&watch->hosts);
    free(watch->judged.bytes);
    free(watch->settling.bytes);
    free(watch->complaint);
    free(watch);
}

void host_watch_look(struct host_watch *watch)
{
    if (watch == NULL)
        return;
    watch->is_urgent = true;
    again_in(watch, 0);
}

int host_watch_ask(const struct options *options, struct hostlist *hosts, struct error *err)
{
    struct error why;
    size_t       size;
    char        *text = host_script_read(options->discovery_script, &size, &why);
    int          rc = text == NULL ? -1 : parse(options, text, size, 0, hosts, &why);

    free(text);
    return rc < 0 ? err_set(err, "--host-discovery-script: %s", why.text) : 0;
}

/* Do the hosts come from a hostfile (as in hosts/host_source.c), and from it alone? A pipe does not
 * count: it can be read only once. */
static bool is_file(const struct options *options)
{
    return options->hosts == NULL && options->groups == NULL &&
           strcmp(options->hostfile, "-") != 0 &&
           (options->hostfile_given ||
            (!options->all_hosts && access(options->hostfile, F_OK) == 0));
}

static void next_cb(evutil_socket_t fd, short what, void *arg)
{
    struct host_watch *watch = arg;

    (void)fd, (void)what;
    if (watch->script != NULL) {
        host_script_start(watch->script);
        return;
    }
    host_look_start(watch->look);
    again_in(watch, HOST_WATCH_LOOK_S);
}

/* Also limits how often the file is read if its directory changes all the time. */
static void look_soon(void *arg)
{
    struct host_watch *watch = arg;

    again_in(watch, HOST_WATCH_SETTLE_S);
}

static void has_read(const char *text, size_t size, const struct error *why, void *arg)
{
    struct host_watch *watch = arg;

    if (text == NULL)
        complain(watch, why);
    else if (has_settled(watch, text, size))
        judge(watch, text, size);
    else
        again_in(watch, HOST_WATCH_SETTLE_S);
    watch->is_urgent = false;
}

static void has_asked(const char *text, size_t size, const struct error *why, void *arg)
{
    struct host_watch *watch = arg;

    again_in(watch, HOST_WATCH_ASK_S);
    if (text == NULL)
        complain(watch, why);
    else
        judge(watch, text, size);
}

/* Looks again in seconds, or sooner if a look is already due before. */
static void again_in(struct host_watch *watch, double seconds)
{
    struct timeval in = clock_interval(seconds), due, now, left;

    if (evtimer_pending(watch->next, &due)) {
        gettimeofday(&now, NULL);
        timersub(&due, &now, &left);
        if ((double)left.tv_sec + (double)left.tv_usec / 1e6 < seconds)
            return;
    }
    xevent_add(watch->next, &in);
}

/* Is the text the same as in the look before, or as the judged one? The first text need not
 * settle. */
static bool has_settled(struct host_watch *watch, const char *text, size_t size)
{
    bool has = watch->is_urgent || watch->judged.bytes == NULL ||
               is_text(&watch->judged, text, size) || is_text(&watch->settling, text, size);

    set_text(&watch->settling, has ? NULL : text, size);
    return has;
}

static void judge(struct host_watch *watch, const char *text, size_t size)
{
    struct hostlist hosts;
    struct error    why;
    bool            is_new = !is_text(&watch->judged, text, size);

    if (is_new) {
        set_text(&watch->judged, text, size);
        watch->is_good = parse(watch->options, text, size, watch->slots, &hosts, &why) == 0;
        if (!watch->is_good)
            complain(watch, &why);
    }
    if (!watch->is_good)
        return;
    if (watch->complaint != NULL)
        log_note("%s: can be read again", name_of(watch->options));
    free(watch->complaint);
    watch->complaint = NULL;
    if (!is_new)
        return;
    count_slots(watch, &hosts);
    take(watch, &hosts);
}

static int parse(const struct options *options, const char *text, size_t size, int slots,
                 struct hostlist *hosts, struct error *err)
{
    struct error why;

    if (options->num_gpus > 0)
        slots = options->num_gpus;
    if (options->discovery_script != NULL
            ? hostlist_from_discovery(name_of(options), text, size, slots, hosts, err) < 0
            : hostfile_parse(name_of(options), text, size, hosts, err) < 0)
        return -1;
    if (options->ssh_user == NULL || hostlist_set_user(hosts, options->ssh_user, &why) == 0)
        return 0;
    hostlist_clear(hosts);
    return err_set(err, "--ssh_user: %s", why.text);
}

/* Hosts without a number of slots get watch->slots, like the others. */
static void count_slots(const struct host_watch *watch, struct hostlist *hosts)
{
    size_t i;

    if (watch->slots == 0 || !hostlist_is_uncounted(hosts))
        return;
    for (i = 0; i < hosts->count; i++)
        if (!hosts->host[i].is_counted)
            hosts->host[i].slots = watch->slots;
}

/* Takes over hosts. */
static void take(struct host_watch *watch, struct hostlist *hosts)
{
    struct host_changes changes = { 0 };
    bool                is_first = watch->hosts.count == 0;
    char               *words;

    host_changes_find(&changes, &watch->hosts, hosts);
    hostlist_clear(&watch->hosts);
    watch->hosts = *hosts;
    if (host_changes_any(&changes)) {
        words = is_first ? NULL : host_changes_words(&changes);
        if (words != NULL)
            log_note("%s: %s", name_of(watch->options), words);
        watch->changed(&watch->hosts, words, watch->arg);
        free(words);
    }
    host_changes_clear(&changes);
}

/* Reports an error once, until it changes. */
static void complain(struct host_watch *watch, const struct error *why)
{
    if (watch->complaint != NULL && strcmp(watch->complaint, why->text) == 0)
        return;
    log_warn("%s; %s", why->text,
             watch->slots > 0 ? "the hosts stay as they were" : "muster waits for another answer");
    free(watch->complaint);
    watch->complaint = xstrdup(why->text);
}

static bool is_text(const struct text *text, const char *bytes, size_t size)
{
    return text->bytes != NULL && text->size == size && memcmp(text->bytes, bytes, size) == 0;
}

static void set_text(struct text *text, const char *bytes, size_t size)
{
    if (bytes != NULL && is_text(text, bytes, size))
        return;
    free(text->bytes);
    *text = (struct text){ 0 };
    if (bytes == NULL)
        return;
    text->bytes = xmalloc(size + 1);
    memcpy(text->bytes, bytes, size);
    text->size = size;
}

static const char *name_of(const struct options *options)
{
    return options->discovery_script != NULL ? options->discovery_script : options->hostfile;
}

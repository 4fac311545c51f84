/* lease.c - see lease.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "commands/lease.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "log.h"
#include "xalloc.h"

#define ROOT       "/apis/coordination.k8s.io/v1"
#define STAMP_SIZE 64

static int     look(struct lease *lease, json_t **document, struct error *err);
static int     write_lease(struct lease *lease, json_t *old, const char *holder,
                           struct error *err);
static json_t *make(const struct lease *lease, const json_t *old, const char *holder);
static void    stamp_now(char *text);
static void    keep(char *to, size_t room, const json_t *text);

void lease_begin(struct lease *lease, const struct place *place, const char *name,
                 const char *identity)
{
    char host[100] = "";

    *lease = (struct lease){ .place = place, .name = name };
    gethostname(host, sizeof host - 1);
    if (identity != NULL)
        snprintf(lease->identity, sizeof lease->identity, "%s", identity);
    else
        snprintf(lease->identity, sizeof lease->identity, "%s_%ld", host, (long)getpid());
}

int lease_step(struct lease *lease, struct error *err)
{
    json_t *document = NULL;
    int     rc;

    if (clock_now_ns() < lease->next_ns)
        return lease->is_held;
    rc = look(lease, &document, err);
    if (rc == 0 && lease_may_take(lease, document, clock_now_ns()))
        rc = write_lease(lease, document, lease->identity, err);
    else if (rc == 0) {
        if (lease->is_held)
            log_warn("another controller is active: %s", lease->holder);
        lease->is_held = false;
    }
    json_decref(document);
    lease->next_ns =
        clock_now_ns() + (lease->is_held ? LEASE_RENEW_S : LEASE_LOOK_S) * NS_PER_S;
    return rc < 0 ? -1 : lease->is_held;
}

void lease_end(struct lease *lease)
{
    json_t      *document = NULL;
    struct error harmless;

    if (!lease->is_held)
        return;
    if (look(lease, &document, &harmless) == 0 && document != NULL &&
        lease_may_take(lease, document, clock_now_ns()) &&
        strcmp(lease->holder, lease->identity) == 0)
        write_lease(lease, document, "", &harmless);
    json_decref(document);
    lease->is_held = false;
}

bool lease_may_take(struct lease *lease, const json_t *document, int64_t now_ns)
{
    const json_t *spec = json_object_get(document, "spec");
    int64_t       duration_s = json_integer_value(json_object_get(spec, "leaseDurationSeconds"));
    char          version[sizeof lease->version];

    if (document == NULL) /* there is no Lease yet */
        return true;
    keep(lease->holder, sizeof lease->holder, json_object_get(spec, "holderIdentity"));
    keep(version, sizeof version,
         json_object_get(json_object_get(document, "metadata"), "resourceVersion"));
    if (lease->changed_ns == 0 || strcmp(version, lease->version) != 0) {
        memcpy(lease->version, version, sizeof version);
        lease->changed_ns = now_ns;
    }
    if (duration_s < 1 || duration_s > 3600)
        duration_s = LEASE_S;
    return lease->holder[0] == '\0' || strcmp(lease->holder, lease->identity) == 0 ||
           now_ns - lease->changed_ns > duration_s * NS_PER_S;
}

/* *document stays NULL if there is no Lease. */
static int look(struct lease *lease, json_t **document, struct error *err)
{
    char   *path = xasprintf(ROOT "/namespaces/%s/leases/%s", lease->place->space, lease->name);
    json_t *reply = NULL;
    int     status = api_request(lease->place->api, "GET", path, NULL, &reply, err);

    free(path);
    if (status == 200)
        *document = reply;
    else
        json_decref(reply);
    return status < 0 ? -1 : 0;
}

/* If another controller was faster (409), it holds the Lease. If the Lease was deleted (404),
 * the next round creates it. */
static int write_lease(struct lease *lease, json_t *old, const char *holder, struct error *err)
{
    json_t *document = make(lease, old, holder);
    char   *path = old != NULL ? xasprintf(ROOT "/namespaces/%s/leases/%s", lease->place->space,
                                           lease->name)
                               : xasprintf(ROOT "/namespaces/%s/leases", lease->place->space);
    int status =
        api_request(lease->place->api, old != NULL ? "PUT" : "POST", path, document, NULL, err);

    free(path);
    json_decref(document);
    if (status == 404 && old == NULL)
        return err_set(err, "namespace %s does not exist", lease->place->space);
    lease->is_held = status == 200 || status == 201;
    return status < 0 ? -1 : 0;
}

static json_t *make(const struct lease *lease, const json_t *old, const char *holder)
{
    const json_t *spec = json_object_get(old, "spec");
    const char   *acquired = json_string_value(json_object_get(spec, "acquireTime"));
    json_int_t    transitions = json_integer_value(json_object_get(spec, "leaseTransitions"));
    bool          is_new = old == NULL || strcmp(lease->holder, holder) != 0;
    char          now[STAMP_SIZE];
    json_t       *document;

    stamp_now(now);
    document = json_pack(
        "{sssss{ssss}s{sssisssssI}}", "apiVersion", "coordination.k8s.io/v1", "kind", "Lease",
        "metadata", "name", lease->name, "namespace", lease->place->space, "spec",
        "holderIdentity", holder, "leaseDurationSeconds", LEASE_S, "acquireTime",
        is_new || acquired == NULL ? now : acquired, "renewTime", now, "leaseTransitions",
        transitions + (old != NULL && is_new));
    if (old != NULL)
        json_object_set_new(json_object_get(document, "metadata"), "resourceVersion",
                            json_string(lease->version));
    return document;
}

/* RFC 3339 with microseconds, which this API requires. */
static void stamp_now(char *text)
{
    struct timespec now;
    struct tm       tm;
    char            seconds[30];

    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &tm);
    strftime(seconds, sizeof seconds, "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(text, STAMP_SIZE, "%s.%06ldZ", seconds, now.tv_nsec / 1000);
}

static void keep(char *to, size_t room, const json_t *text)
{
    const char *from = json_string_value(text);

    snprintf(to, room, "%s", from != NULL ? from : "");
    text_make_harmless(to);
}

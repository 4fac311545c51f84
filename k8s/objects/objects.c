/* objects.c - see objects.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "objects/objects.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "job/job_document.h"
#include "job/node_class.h"
#include "objects/board.h"
#include "objects/group.h"
#include "objects/monitor.h"
#include "objects/pod.h"
#include "xalloc.h"

#define NO_KEY "(made when the job is submitted)"

const struct object_kind_row object_kinds[KINDS] = {
    [KIND_CONFIG_MAP] = { "ConfigMap", "v1", "/api/v1", "configmaps" },
    [KIND_SECRET] = { "Secret", "v1", "/api/v1", "secrets" },
    [KIND_VOLCANO_GROUP] = { "PodGroup", "scheduling.volcano.sh/v1beta1",
                             "/apis/scheduling.volcano.sh/v1beta1", "podgroups" },
    [KIND_PLUGINS_GROUP] = { "PodGroup", "scheduling.x-k8s.io/v1alpha1",
                             "/apis/scheduling.x-k8s.io/v1alpha1", "podgroups" },
    [KIND_T9K_GROUP] = { "PodGroup", "scheduler.tensorstack.dev/v1beta1",
                         "/apis/scheduler.tensorstack.dev/v1beta1", "podgroups" },
    [KIND_SERVICE] = { "Service", "v1", "/api/v1", "services" },
    [KIND_POLICY] = { "NetworkPolicy", "networking.k8s.io/v1", "/apis/networking.k8s.io/v1",
                      "networkpolicies" },
    [KIND_DEPLOYMENT] = { "Deployment", "apps/v1", "/apis/apps/v1", "deployments" },
    [KIND_MONITOR] = { "ServiceMonitor", "monitoring.coreos.com/v1",
                       "/apis/monitoring.coreos.com/v1", "servicemonitors" },
    [KIND_POD] = { "Pod", "v1", "/api/v1", "pods" },
    [KIND_RESOURCE] = { JOB_KIND, JOB_API_VERSION, "/apis/" JOB_API_VERSION, JOB_PLURAL },
};

static json_t *with_head(json_t *object, const struct job *job, size_t number,
                         const struct object_for *what);
static void    set_owner(json_t *metadata, const struct object_kind_row *kind, const char *name,
                         const char *uid);
static int64_t hosts_of(const struct job *job, const struct object_for *what);
static const char *class_of(const json_t *nodes, int64_t worker);
static void    set_nodes(json_t *metadata, const json_t *nodes);
static void    set_label(json_t *labels, const char *name, int64_t number);
static json_t *anchor(const struct job *job);
static json_t *launcher_key(const struct job *job, const char *space, const struct keys *keys);
static json_t *worker_keys(const struct job *job, const struct keys *keys);
static json_t *hosts(const struct job *job, const struct object_for *what);
static json_t *service(const struct job *job);
static json_t *policy(const struct job *job);
static void    add_line(struct buffer *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

size_t objects_count(const struct job *job)
{
    return OBJECT_WORKERS + (size_t)job->workers;
}

bool object_is_wanted(const struct job *job, size_t number)
{
    if (number == OBJECT_GROUP)
        return job->gang != GANG_NONE;
    if (number == OBJECT_BOARD || number == OBJECT_BOARD_SERVICE)
        return job_has_board(job);
    if (number == OBJECT_METRICS_POLICY)
        return job->scrape != SCRAPE_NONE;
    if (number == OBJECT_METRICS_SERVICE || number == OBJECT_MONITOR)
        return job->scrape == SCRAPE_MONITOR;
    return number < objects_count(job) &&
           (number != OBJECT_LAUNCHER || job->launcher == LAUNCHER_POD);
}

size_t object_launcher(const struct job *job)
{
    return job->launcher == LAUNCHER_POD ? OBJECT_LAUNCHER : OBJECT_WORKERS;
}

size_t object_pods(const struct job *job)
{
    return (size_t)job->workers + (job->launcher == LAUNCHER_POD);
}

size_t object_pod(const struct job *job, size_t index)
{
    return index < (size_t)job->workers ? OBJECT_WORKERS + index : OBJECT_LAUNCHER;
}

struct object_name object_name(const struct job *job, size_t number)
{
    static const struct {
        enum object_kind kind;
        const char      *suffix;
    } first[OBJECT_PODS] = {
        [OBJECT_ANCHOR] = { KIND_CONFIG_MAP, "" },
        [OBJECT_LAUNCHER_KEY] = { KIND_SECRET, "-launcher-key" },
        [OBJECT_WORKER_KEYS] = { KIND_SECRET, "-worker-keys" },
        [OBJECT_HOSTS] = { KIND_CONFIG_MAP, "-hosts" },
        [OBJECT_GROUP] = { KIND_VOLCANO_GROUP, "" },
        [OBJECT_SERVICE] = { KIND_SERVICE, "" },
        [OBJECT_POLICY] = { KIND_POLICY, "" },
        [OBJECT_BOARD] = { KIND_DEPLOYMENT, "-tensorboard" },
        [OBJECT_BOARD_SERVICE] = { KIND_SERVICE, "-tensorboard" },
        [OBJECT_METRICS_POLICY] = { KIND_POLICY, "-metrics" },
        [OBJECT_METRICS_SERVICE] = { KIND_SERVICE, "-metrics" },
        [OBJECT_MONITOR] = { KIND_MONITOR, "-metrics" },
    };
    struct object_name name = { .kind = KIND_POD };

    if (number < OBJECT_PODS) {
        name.kind = number == OBJECT_GROUP ? group_kind(job) : first[number].kind;
        snprintf(name.text, sizeof name.text, "%s%s", job->name, first[number].suffix);
    } else if (number == OBJECT_LAUNCHER)
        snprintf(name.text, sizeof name.text, "%s-launcher", job->name);
    else
        snprintf(name.text, sizeof name.text, "%s-worker-%zu", job->name, number - OBJECT_WORKERS);
    return name;
}

json_t *object_make(const struct job *job, size_t number, const struct object_for *what)
{
    json_t *object;

    switch (number) {
    case OBJECT_ANCHOR:
        object = anchor(job);
        break;
    case OBJECT_LAUNCHER_KEY:
        object = launcher_key(job, what->space, what->keys);
        break;
    case OBJECT_WORKER_KEYS:
        object = worker_keys(job, what->keys);
        break;
    case OBJECT_HOSTS:
        object = hosts(job, what);
        break;
    case OBJECT_GROUP:
        object = group_make(job);
        break;
    case OBJECT_SERVICE:
        object = service(job);
        break;
    case OBJECT_POLICY:
        object = policy(job);
        break;
    case OBJECT_BOARD:
        object = board_deployment(job);
        break;
    case OBJECT_BOARD_SERVICE:
        object = board_service(job);
        break;
    case OBJECT_METRICS_POLICY:
        object = monitor_policy(job);
        break;
    case OBJECT_METRICS_SERVICE:
        object = monitor_service(job);
        break;
    case OBJECT_MONITOR:
        object = monitor_make(job);
        break;
    case OBJECT_LAUNCHER:
        object = pod_launcher(job, what);
        break;
    default:
        object = pod_worker(job, number - OBJECT_WORKERS, what);
    }
    return with_head(object, job, number, what);
}

/* Adds apiVersion, kind, and the metadata that all objects have. Takes the object. */
static json_t *with_head(json_t *object, const struct job *job, size_t number,
                         const struct object_for *what)
{
    struct object_name            name = object_name(job, number);
    const struct object_kind_row *kind = &object_kinds[name.kind];
    json_t *metadata = json_pack("{ssss}", "name", name.text, "namespace", what->space), *labels;
    json_t *whole = json_pack("{ssssso}", "apiVersion", kind->version, "kind", kind->name,
                              "metadata", metadata);

    json_object_update_missing(metadata, json_object_get(object, "metadata"));
    json_object_del(object, "metadata");
    json_object_update(whole, object);
    json_decref(object);
    if (json_object_get(metadata, "labels") == NULL)
        json_object_set_new(metadata, "labels", json_object());
    labels = json_object_get(metadata, "labels");
    json_object_set_new(labels, LABEL_JOB, json_string(job->name));
    json_object_set_new(labels, "app.kubernetes.io/managed-by", json_string("muster"));
    if (number == OBJECT_ANCHOR) {
        json_object_set_new(labels, LABEL_ROLE, json_string("anchor"));
        set_owner(metadata, &object_kinds[KIND_RESOURCE], job->name, what->resource);
    } else
        set_owner(metadata, &object_kinds[KIND_CONFIG_MAP], job->name, what->uid);
    if (number >= OBJECT_PODS)
        set_label(labels, LABEL_ATTEMPT, what->attempt);
    if (number >= OBJECT_PODS || (number >= OBJECT_LAUNCHER_KEY && number <= OBJECT_GROUP))
        set_label(labels, LABEL_WORKERS, job_keys(job));
    if (job_is_elastic(job) && (number == OBJECT_HOSTS || number == object_launcher(job)))
        set_label(labels, LABEL_HOSTS, hosts_of(job, what));
    if (job_is_elastic(job) && number == OBJECT_HOSTS) {
        set_label(labels, LABEL_LISTED,
                  what->listed > hosts_of(job, what) ? what->listed : hosts_of(job, what));
        json_object_set_new(metadata, "annotations", json_object());
        set_label(json_object_get(metadata, "annotations"), NOTE_SINCE, what->now_s);
    }
    if (number == OBJECT_HOSTS && what->nodes != NULL)
        set_nodes(metadata, what->nodes);
    return whole;
}

static void set_nodes(json_t *metadata, const json_t *nodes)
{
    char *text = json_dumps(nodes, JSON_COMPACT);

    if (json_object_get(metadata, "annotations") == NULL)
        json_object_set_new(metadata, "annotations", json_object());
    json_object_set_new(json_object_get(metadata, "annotations"), NOTE_NODES, json_string(text));
    free(text);
}

/* uid NULL: no owner. */
static void set_owner(json_t *metadata, const struct object_kind_row *kind, const char *name,
                      const char *uid)
{
    if (uid != NULL)
        json_object_set_new(metadata, "ownerReferences",
                            json_pack("[{sssssssssbsb}]", "apiVersion", kind->version, "kind",
                                      kind->name, "name", name, "uid", uid, "controller", 1,
                                      "blockOwnerDeletion", 0));
}

static int64_t hosts_of(const struct job *job, const struct object_for *what)
{
    return what->hosts > 0 ? what->hosts : job->workers;
}

static void set_label(json_t *labels, const char *name, int64_t number)
{
    char text[24];

    snprintf(text, sizeof text, "%" PRId64, number);
    json_object_set_new(labels, name, json_string(text));
}

/* The anchor contains the job itself, so that later commands can read it. */
static json_t *anchor(const struct job *job)
{
    json_t *document = job_document(job);
    char   *text = json_dumps(document, JSON_COMPACT | JSON_SORT_KEYS);
    json_t *object = json_pack("{s{ss}}", "data", "job", text);

    if (job_is_queued(job))
        json_object_set_new(object, "metadata",
                            json_pack("{s{ss}}", "annotations", OBJECT_SUSPEND, "true"));

    free(text);
    json_decref(document);
    return object;
}

static json_t *launcher_key(const struct job *job, const char *space, const struct keys *keys)
{
    struct buffer known = { 0 };
    json_t       *object;
    int64_t       i;

    for (i = 0; keys != NULL && i < job_keys(job); i++)
        add_line(&known, "[%s-worker-%" PRId64 ".%s.%s.svc]:%d %s\n", job->name, i, job->name,
                 space, SSH_PORT, keys->host[i].public_text);
    buffer_add(&known, "", 1);
    object = json_pack("{sss{ssss}sb}", "type", "Opaque", "stringData", "id_ed25519",
                       keys != NULL ? keys->user.private_text : NO_KEY, "known_hosts",
                       keys != NULL ? known.bytes : NO_KEY, "immutable", 1);
    buffer_clear(&known);
    return object;
}

static json_t *worker_keys(const struct job *job, const struct keys *keys)
{
    json_t *data = json_object();
    char   *name, *line;
    int64_t i;

    /* "restrict" forbids forwarding and terminals; muster needs neither. */
    line = xasprintf("restrict %s\n", keys != NULL ? keys->user.public_text : NO_KEY);
    json_object_set_new(data, "authorized_keys", json_string(line));
    free(line);
    for (i = 0; i < job_keys(job); i++) {
        name = xasprintf("host-%" PRId64, i);
        json_object_set_new(data, name,
                            json_string(keys != NULL ? keys->host[i].private_text : NO_KEY));
        free(name);
    }
    return json_pack("{sssosb}", "type", "Opaque", "stringData", data, "immutable", 1);
}

static json_t *hosts(const struct job *job, const struct object_for *what)
{
    struct buffer lines = { 0 }, config = { 0 };
    const char   *all = node_class(job->template), *class; /* to account for costs */
    json_t       *object;
    int64_t       i;

    add_line(&lines, "# generation %" PRId64 "\n", what->attempt);
    for (i = 0; i < hosts_of(job, what); i++) {
        class = all != NULL ? all : class_of(what->nodes, i);
        add_line(&lines, "%s-worker-%" PRId64 ".%s.%s.svc slots=%" PRId64 "%s%s\n", job->name, i,
                 job->name, what->space, job_slots(job), class != NULL ? " class=" : "",
                 class != NULL ? class : "");
    }
    add_line(&config,
             "Host *\n    Port %d\n    User %s\n    IdentityFile " POD_KEY "/id_ed25519\n"
             "    IdentitiesOnly yes\n    UserKnownHostsFile " POD_KEY "/known_hosts\n"
             "    GlobalKnownHostsFile none\n    StrictHostKeyChecking yes\n",
             SSH_PORT, job->as_root ? "root" : POD_USER);
    buffer_add(&lines, "", 1);
    buffer_add(&config, "", 1);
    object = json_pack("{s{ssss}}", "data", "hostfile", lines.bytes, "ssh_config", config.bytes);
    buffer_clear(&lines);
    buffer_clear(&config);
    return object;
}

/* Returns the class of the worker's node; NULL: unknown. */
static const char *class_of(const json_t *nodes, int64_t worker)
{
    const char *text = json_string_value(json_array_get(nodes, (size_t)worker));

    text = text != NULL ? strchr(text, ' ') : NULL;
    return text != NULL ? text + 1 : NULL;
}

/* DNS resolves workers before they are ready: muster-init's wait, not DNS, decides when the
 * launcher begins. */
static json_t *service(const struct job *job)
{
    return json_pack("{s{sss{ss}sbs[{sssisi}]}}", "spec", "clusterIP", "None", "selector",
                     LABEL_JOB, job->name, "publishNotReadyAddresses", 1, "ports", "name",
                     "ssh", "port", SSH_PORT, "targetPort", SSH_PORT);
}

/* Filters by peer, not by port, because NCCL uses any port. */
static json_t *policy(const struct job *job)
{
    return json_pack("{s{s{s{ss}}s[s]s[{s[{s{s{ss}}}]}]}}", "spec", "podSelector", "matchLabels",
                     LABEL_JOB, job->name, "policyTypes", "Ingress", "ingress", "from",
                     "podSelector", "matchLabels", LABEL_JOB, job->name);
}

static void add_line(struct buffer *text, const char *format, ...)
{
    char    line[1024];
    va_list args;

    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    buffer_add_text(text, line);
}

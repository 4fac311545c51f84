/* server.c - see server.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "server.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <pmix.h>
#include <pmix_server.h>

#include "fd.h"
#include "xalloc.h"

/* libpmix only compares the names of nodes, and nothing connects to them. They are not those of the
 * hosts, since two nodes may be one machine. */
#define NODE_NAME "muster-node-%d"

struct reply {
    pmix_op_cbfunc_t    done;
    pmix_modex_cbfunc_t fenced;
    void               *arg;
};

/* Callbacks of libpmix, as its pmix_server.h has them. */
static pmix_status_t connected(const pmix_proc_t *proc, void *object, pmix_info_t info[],
                               size_t count, pmix_op_cbfunc_t done, void *arg);
static pmix_status_t finalized(const pmix_proc_t *proc, void *object, pmix_op_cbfunc_t done,
                               void *arg);
static pmix_status_t aborted(const pmix_proc_t *proc, void *object, int code, const char text[],
                             pmix_proc_t procs[], size_t count, pmix_op_cbfunc_t done, void *arg);
static pmix_status_t fence(const pmix_proc_t procs[], size_t count, const pmix_info_t info[],
                           size_t infos, char *bytes, size_t size, pmix_modex_cbfunc_t done,
                           void *arg);

static int           register_job(struct error *err);
static int           register_ranks(struct error *err);
static void          add_open_mpi(struct strlist *env);
static pmix_status_t add_maps(void *list);
static pmix_status_t add_numbers(void *list);
static pmix_status_t add_local(void *list);
static pmix_status_t post(enum server_call_type type, const pmix_proc_t *proc, int code,
                          pmix_op_cbfunc_t done, void *arg);
static void          post_call(const struct server_call *call, const struct reply *reply);
static bool          is_whole_job(const pmix_proc_t *procs, size_t count);
static int           fail(struct error *err, const char *what, pmix_status_t status);

/* PMIx has one server in a process, and its callbacks no argument for it. */
static struct {
    const struct job *job;
    char              dir[PATH_MAX];
    pmix_nspace_t     name;
    int               calls[2]; /* a pipe of pointers */
} server = { .calls = { -1, -1 } };

int server_start(const struct job *job, const char *dir, struct error *err)
{
    static pmix_server_module_t module = { .client_connected2 = connected,
                                           .client_finalized = finalized,
                                           .abort = aborted,
                                           .fence_nb = fence };
    char                        name[32];
    pmix_info_t                *info;
    pmix_status_t               status;

    server.job = job;
    snprintf(server.dir, sizeof server.dir, "%s", dir);
    PMIX_LOAD_NSPACE(server.name, job->name);
    if (pipe2(server.calls, O_CLOEXEC) < 0)
        return err_set(err, "cannot make a pipe: %s", strerror(errno));
    fd_set_nonblock(server.calls[0]);
    snprintf(name, sizeof name, NODE_NAME, job->node);
    PMIX_INFO_CREATE(info, 3);
    PMIX_INFO_LOAD(&info[0], PMIX_SERVER_TMPDIR, dir, PMIX_STRING);
    PMIX_INFO_LOAD(&info[1], PMIX_SYSTEM_TMPDIR, dir, PMIX_STRING);
    PMIX_INFO_LOAD(&info[2], PMIX_HOSTNAME, name, PMIX_STRING);
    status = PMIx_server_init(&module, info, 3);
    PMIX_INFO_FREE(info, 3);
    if (status != PMIX_SUCCESS)
        return fail(err, "PMIx_server_init", status);
    return register_job(err) < 0 || register_ranks(err) < 0 ? -1 : 0;
}

void server_stop(void)
{
    PMIx_server_finalize();
}

int server_env(int local, struct strlist *env, struct error *err)
{
    pmix_proc_t   proc;
    char        **variables = NULL, **at;
    pmix_status_t status;

    PMIX_LOAD_PROCID(&proc, server.job->name,
                     (pmix_rank_t)(server.job->first[server.job->node] + local));
    status = PMIx_server_setup_fork(&proc, &variables);
    if (status != PMIX_SUCCESS)
        return fail(err, "PMIx_server_setup_fork", status);
    for (at = variables; at != NULL && *at != NULL; at++) {
        strlist_add(env, *at);
        free(*at);
    }
    free(variables);
    add_open_mpi(env);
    return 0;
}

/* Open MPI 4 uses PMIx if a launcher is there that it knows; of those, this is the one that needs
 * nothing else (orte/mca/schizo/jsm). Its ranks name their shared memory by host and local rank,
 * so two nodes that are one machine would share it, and it would stay if a rank is killed: it goes
 * to our directory. btl_sm is the name since Open MPI 5. Ranks that wait without yielding take the
 * cores from those for which they wait, which mpirun avoids in the same way. */
static void add_open_mpi(struct strlist *env)
{
    cpu_set_t cores;

    env_set(env, "JSM_JSRUN_PORT", "0");
    env_set(env, "OMPI_MCA_btl_vader_backing_directory", server.dir);
    env_set(env, "OMPI_MCA_btl_sm_backing_directory", server.dir);
    if (sched_getaffinity(0, sizeof cores, &cores) == 0 &&
        CPU_COUNT(&cores) < server.job->ranks)
        env_set(env, "OMPI_MCA_mpi_yield_when_idle", "1");
}

int server_fd(void)
{
    return server.calls[0];
}

struct server_call *server_take(void)
{
    struct server_call *call;

    return read(server.calls[0], &call, sizeof call) == (ssize_t)sizeof call ? call : NULL;
}

void server_answer(struct server_call *call, char *bytes, size_t size)
{
    struct reply *reply = call->reply;

    if (reply->fenced != NULL)
        reply->fenced(PMIX_SUCCESS, bytes, size, reply->arg, free, bytes);
    else if (reply->done != NULL)
        reply->done(PMIX_SUCCESS, reply->arg);
    server_drop(call);
}

void server_drop(struct server_call *call)
{
    free(call->reply);
    free(call->bytes);
    free(call);
}

/* What is the same for all ranks. libpmix derives from the maps which ranks share a node. */
static int register_job(struct error *err)
{
    const struct job *job = server.job;
    void             *list = PMIx_Info_list_start();
    pmix_data_array_t info;
    pmix_status_t     status = add_maps(list);

    if (status == PMIX_SUCCESS)
        status = add_numbers(list);
    if (status == PMIX_SUCCESS)
        status = add_local(list);
    if (status == PMIX_SUCCESS)
        status = PMIx_Info_list_convert(list, &info);
    PMIx_Info_list_release(list);
    if (status != PMIX_SUCCESS)
        return fail(err, "PMIx_Info_list_add", status);
    status = PMIx_server_register_nspace(server.name, job->ranks, info.array, info.size, NULL,
                                         NULL);
    PMIX_DATA_ARRAY_DESTRUCT(&info);
    return status != PMIX_SUCCESS && status != PMIX_OPERATION_SUCCEEDED
               ? fail(err, "PMIx_server_register_nspace", status) : 0;
}

static pmix_status_t add_maps(void *list)
{
    const struct job *job = server.job;
    char             *names = NULL, *ranks = NULL, *peers, *map = NULL;
    size_t            size;
    FILE             *names_out = open_memstream(&names, &size);
    FILE             *ranks_out = open_memstream(&ranks, &size);
    pmix_status_t     status;
    int               i;

    if (names_out == NULL || ranks_out == NULL)
        xalloc_die();
    for (i = 0; i < job->nodes; i++) {
        peers = job_peers(job, i);
        fprintf(names_out, "%s" NODE_NAME, i > 0 ? "," : "", i);
        fprintf(ranks_out, "%s%s", i > 0 ? ";" : "", peers);
        free(peers);
    }
    fclose(names_out);
    fclose(ranks_out);
    status = PMIx_generate_regex(names, &map);
    if (status == PMIX_SUCCESS)
        status = PMIx_Info_list_add(list, PMIX_NODE_MAP, map, PMIX_REGEX);
    free(map);
    map = NULL;
    if (status == PMIX_SUCCESS)
        status = PMIx_generate_ppn(ranks, &map);
    if (status == PMIX_SUCCESS)
        status = PMIx_Info_list_add(list, PMIX_PROC_MAP, map, PMIX_REGEX);
    free(map);
    free(names);
    free(ranks);
    return status;
}

static pmix_status_t add_numbers(void *list)
{
    const struct job *job = server.job;
    const struct {
        const char *key;
        int         number;
    } numbers[] = {
        { PMIX_JOB_SIZE, job->size },    { PMIX_UNIV_SIZE, job->size },
        { PMIX_MAX_PROCS, job->size },   { PMIX_NUM_NODES, job->nodes },
        { PMIX_LOCAL_SIZE, job->ranks }, { PMIX_NODE_SIZE, job->ranks },
    };
    pmix_status_t status = PMIX_SUCCESS;
    uint32_t      value;
    size_t        i;

    for (i = 0; i < sizeof numbers / sizeof *numbers && status == PMIX_SUCCESS; i++) {
        value = (uint32_t)numbers[i].number;
        status = PMIx_Info_list_add(list, numbers[i].key, &value, PMIX_UINT32);
    }
    return status;
}

/* Open MPI makes its session directories in PMIX_TMPDIR. */
static pmix_status_t add_local(void *list)
{
    char         *peers = job_peers(server.job, server.job->node);
    pmix_status_t status = PMIx_Info_list_add(list, PMIX_LOCAL_PEERS, peers, PMIX_STRING);

    free(peers);
    return status == PMIX_SUCCESS
               ? PMIx_Info_list_add(list, PMIX_TMPDIR, server.dir, PMIX_STRING) : status;
}

static int register_ranks(struct error *err)
{
    pmix_proc_t   proc;
    pmix_status_t status;
    int           i;

    for (i = 0; i < server.job->ranks; i++) {
        PMIX_LOAD_PROCID(&proc, server.name,
                         (pmix_rank_t)(server.job->first[server.job->node] + i));
        status = PMIx_server_register_client(&proc, geteuid(), getegid(), NULL, NULL, NULL);
        if (status != PMIX_SUCCESS && status != PMIX_OPERATION_SUCCEEDED)
            return fail(err, "PMIx_server_register_client", status);
    }
    return 0;
}

static pmix_status_t connected(const pmix_proc_t *proc, void *object, pmix_info_t info[],
                               size_t count, pmix_op_cbfunc_t done, void *arg)
{
    (void)object, (void)info, (void)count;
    return post(CALL_CONNECTED, proc, 0, done, arg);
}

static pmix_status_t finalized(const pmix_proc_t *proc, void *object, pmix_op_cbfunc_t done,
                               void *arg)
{
    (void)object;
    return post(CALL_FINALIZED, proc, 0, done, arg);
}

static pmix_status_t aborted(const pmix_proc_t *proc, void *object, int code, const char text[],
                             pmix_proc_t procs[], size_t count, pmix_op_cbfunc_t done, void *arg)
{
    (void)object, (void)text, (void)procs, (void)count;
    return post(CALL_ABORT, proc, code, done, arg);
}

/* A fence of some ranks only would have to wait for some nodes only, which PMI-1 cannot. */
static pmix_status_t fence(const pmix_proc_t procs[], size_t count, const pmix_info_t info[],
                           size_t infos, char *bytes, size_t size, pmix_modex_cbfunc_t done,
                           void *arg)
{
    struct server_call call = { .type = CALL_FENCE, .size = size };
    struct reply       reply = { .fenced = done, .arg = arg };

    (void)info, (void)infos;
    if (!is_whole_job(procs, count))
        return PMIX_ERR_NOT_SUPPORTED;
    call.bytes = xmemdup(bytes != NULL ? bytes : "", size);
    post_call(&call, &reply);
    return PMIX_SUCCESS;
}

static bool is_whole_job(const pmix_proc_t *procs, size_t count)
{
    size_t i;

    for (i = 0; i < count; i++)
        if (!PMIX_CHECK_NSPACE(procs[i].nspace, server.name))
            return false;
    return count == (size_t)server.job->size || (count == 1 && procs[0].rank == PMIX_RANK_WILDCARD);
}

static pmix_status_t post(enum server_call_type type, const pmix_proc_t *proc, int code,
                          pmix_op_cbfunc_t done, void *arg)
{
    int                local = (int)proc->rank - server.job->first[server.job->node];
    struct server_call call = { .type = type, .local = local, .code = code };
    struct reply       reply = { .done = done, .arg = arg };

    if (!PMIX_CHECK_NSPACE(proc->nspace, server.name) || local < 0 || local >= server.job->ranks)
        return PMIX_ERR_BAD_PARAM;
    post_call(&call, &reply);
    return PMIX_SUCCESS;
}

/* Pointers are written whole. Few can be due: each rank waits for its answer. */
static void post_call(const struct server_call *call, const struct reply *reply)
{
    struct server_call *copy = xmemdup(call, sizeof *call);

    copy->reply = xmemdup(reply, sizeof *reply);
    fd_write_all(server.calls[1], &copy, sizeof copy);
}

static int fail(struct error *err, const char *what, pmix_status_t status)
{
    return err_set(err, "%s: %s", what, PMIx_Error_string(status));
}

/* test_gate.c - what the checks of a gate make of what they find
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "exit_code.h"
#include "gate/gate.h"
#include "gate/gate_check.h"
#include "node/gpu.h"
#include "plan/gpus.h"
#include "xalloc.h"

static void test_mounts(void **state)
{
    static const struct {
        const char *line;
        bool        may_hang;
    } cases[] = {
        { "36 35 98:0 / / rw,noatime - ext4 /dev/vda1 rw\n", false },
        { "36 35 98:0 / /data rw - xfs /dev/md0 rw", false },
        { "36 35 0:5 / /data rw shared:1 - nfs4 filer:/data rw,hard", true },
        { "36 35 0:5 / /data rw shared:1 master:2 propagate_from:3 - lustre mds@tcp:/l rw", true },
        { "36 35 0:5 / /data rw - fuse.s3fs s3fs rw", true },
        { "36 35 0:5 / /home rw - autofs /etc/auto.home rw", true },
        { "36 35 0:5 / /data rw - wekafs backend/default rw", true },
        { "36 35 0:5 / /proc/sys/fs/binfmt_misc rw - autofs systemd-1 rw", false },
        { "36 35 0:5 / /run/user/1000/doc rw - fuse.portal portal rw", false },
        { "36 35 0:5 / /var/lib/lxcfs rw - fuse.lxcfs lxcfs rw", false },
        { "36 35 0:5 / /processes rw - fuse p rw", true },
        { "36 35 0:5 / /procedures rw - tmpfs tmpfs rw", false },
        { "36 35 0:5 / /a\\040-\\040b rw - tmpfs t rw", false },
        /* Malformed: then a child looks, which costs a little. */
        { "", true },
        { "\n", true },
        { " - ", true },
        { " - ext4", true },
        { "36", true },
        { "36 35 98:0 /", true },
        { "36 35 98:0 / /", true },
        { "36 35 98:0 / / rw - ", true },
        { "36 35 98:0 / / rw - ext", true },
        { "36 35 98:0 / / rw - ext44 x", true },
        { "36 35 98:0 / data rw - ext4 x rw", true },
        { "36 - ext4 98:0 / / rw", true },
        { "    / rw - ext4 x", false },
        { "\xff\xfe \x01 \x02 \x03 /\xff \xff - \xff", true },
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof *cases; i++)
        if (storage_may_hang(cases[i].line) != cases[i].may_hang)
            fail_msg("'%s': not %d", cases[i].line, cases[i].may_hang);
}

/* --- a judgement of texts ---------------------------------------------------- */

/* Returns the verdict, and its text in why. */
static enum gate_verdict judge(const struct gate_check *check, const char *request,
                               const char *found, struct gate_memory *memory, char why[1200])
{
    json_t           *asked = json_loads(request, 0, NULL), *said = json_loads(found, 0, NULL);
    struct failure    failure = { .code = -1 };
    enum gate_verdict verdict = check->judge(asked, said, memory, &failure);

    if (asked == NULL || said == NULL)
        fail_msg("no JSON: %s %s", request, found);
    assert_int_equal(failure.code != -1, verdict >= GATE_WAIT);
    snprintf(why, 1200, "%s", verdict < GATE_WAIT ? "" : failure.why.text);
    json_decref(asked);
    json_decref(said);
    return verdict;
}

static void forget(struct gate_memory *memory)
{
    json_decref(memory->ports);
    json_decref(memory->gpus);
    json_decref(memory->holders);
    *memory = (struct gate_memory){ 0 };
}

static void test_storage(void **state)
{
    struct gate_memory memory = { 0 };
    struct failure     failure;
    char               why[1200];

    (void)state;
    assert_int_equal(judge(&storage_check, "{}", "{\"at\":\"/data\"}", &memory, why), GATE_WELL);
    assert_int_equal(judge(&storage_check, "{}", "{}", &memory, why), GATE_WELL);
    assert_int_equal(judge(&storage_check, "{}",
                           "{\"at\":\"/data\", \"error\":\"Stale file handle\"}", &memory, why),
                     GATE_BAD);
    assert_string_equal(why, "the storage of /data fails: Stale file handle");
    storage_check.late(NULL, 10, &failure);
    assert_string_equal(failure.why.text, "the storage of ? does not answer within 10 s");
}

static char *folder;

static void put(const char *path, const char *text)
{
    char *whole = xasprintf("%s/%s", folder, path), *slash;
    FILE *file;

    for (slash = strchr(whole + strlen(folder) + 1, '/'); slash != NULL;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(whole, 0777);
        *slash = '/';
    }
    file = fopen(whole, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    free(whole);
}

/* sysfs has any bytes that an adapter's driver writes. */
static void test_ports_are_read(void **state)
{
    char    name[] = "/tmp/muster-gate.XXXXXX";
    char   *command;
    json_t *ports, *wanted;

    (void)state;
    folder = mkdtemp(name);
    assert_non_null(folder);
    ports = ports_read(folder);
    assert_int_equal(json_object_size(ports), 0);
    json_decref(ports);
    put("sys/class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE\n");
    put("sys/class/infiniband/mlx5_0/ports/2/state", "1: DOWN\nmore\n");
    put("sys/class/infiniband/mlx5_1/ports/1/state", "\xff\x80");
    put("sys/class/infiniband/mlx5_2/ports/1/state", "");
    put("sys/class/infiniband/mlx5_3/ports/1/phys_state", "5: LinkUp\n");
    put("sys/class/infiniband/mlx5_4/ports/.1/state", "4: ACTIVE\n");
    put("sys/class/infiniband/mlx5_5/fw_ver", "1\n");
    put("sys/class/infiniband/mlx5_6/ports/1/state",
        "4: ACTIVE4: ACTIVE4: ACTIVE4: ACTIVE4: ACTIVE4: ACTIVE4: ACTIVE4: ACTIVE\n");
    ports = ports_read(folder);
    wanted = json_loads("{\"mlx5_0/1\":\"4: ACTIVE\", \"mlx5_0/2\":\"1: DOWN\",\
 \"mlx5_1/1\":\"??\", \"mlx5_2/1\":\"\", \"mlx5_3/1\":\"\", \"mlx5_6/1\":\
\"4: ACTIVE4: ACTIVE4: ACTIVE4: ACTIVE4: ACTIVE4: ACTIVE4: ACTIVE\"}", 0, NULL);
    assert_non_null(wanted);
    if (!json_equal(ports, wanted))
        fail_msg("%s", json_dumps(ports, 0));
    json_decref(ports);
    json_decref(wanted);
    command = xasprintf("rm -r %s", folder);
    assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c) */
    free(command);
}

static void test_ports(void **state)
{
    static const struct {
        const char *now, *why;
    } cases[] = {
        { "{\"a/1\":\"4: ACTIVE\", \"b/1\":\"1: DOWN\"}", "" },
        { "{\"a/1\":\"4: ACTIVE\"}", "" },
        { "{\"a/1\":\"1: DOWN\"}", "InfiniBand port a/1 is not active any more (1: DOWN)" },
        { "{\"a/1\":\"2: INIT\", \"c/1\":\"4: ACTIVE\"}",
          "InfiniBand port a/1 is not active any more (2: INIT)" },
        { "{\"a/1\":\"\"}", "InfiniBand port a/1 is not active any more (it is gone)" },
        { "{}", "InfiniBand port a/1 is not active any more (it is gone)" },
    };
    struct gate_memory memory = { 0 };
    char              *found, why[1200];
    size_t             i;

    (void)state;
    judge(&ports_check, "{}", "{\"ports\":{\"a/1\":\"4: ACTIVE\", \"b/1\":\"1: DOWN\"}}", &memory,
          why);
    assert_string_equal(why, "");
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        found = xasprintf("{\"ports\":%s}", cases[i].now);
        judge(&ports_check, "{}", found, &memory, why);
        assert_string_equal(why, cases[i].why);
        free(found);
    }
    forget(&memory);
}

#define TWO   "{\"gpus\":[0, 1], \"files\":2}"
#define FIRST "{\"used\":1000, \"links\":3}, {\"used\":1000, \"links\":0}"

/* Only GPUs that the plan uses count, and that have files: a plan with more slots than GPUs may be
 * of programs that use none. */
static void test_gpus_at_first(void **state)
{
    static const struct {
        const char *request, *found, *why;
    } cases[] = {
        { TWO, "{}", "" },
        { TWO, "{\"gpus\":[" FIRST "]}", "" },
        { TWO, "{\"error\":\"Driver Not Loaded\"}", "" },
        { TWO, "{\"gpus\":[{}, {}]}", "" },
        { TWO, "{\"gpus\":[{\"used\":1}]}",
          "GPU 1 does not answer: the driver has lost it, and still has 1" },
        { "{\"gpus\":[0], \"files\":2}", "{\"gpus\":[{\"used\":1}]}", "" },
        { "{\"gpus\":[0, 1, 7], \"files\":2}", "{\"gpus\":[" FIRST "]}", "" },
        { TWO, "{\"gpus\":[{}, {\"error\":\"GPU is lost\"}]}",
          "GPU 1 does not answer: GPU is lost" },
        { "{\"gpus\":[0], \"files\":2}", "{\"gpus\":[{}, {\"error\":\"GPU is lost\"}]}", "" },
        { TWO, "{\"gpus\":[{\"pending\":true}, {}]}",
          "GPU 0 must be reset: it has a row of its memory to remap" },
        { TWO, "{\"gpus\":[{\"error\":\"Reset Required\", \"reset\":true}, {}]}",
          "GPU 0 must be reset: Reset Required" },
        { "{}", "{}", "" },
        { TWO, "{\"gpus\":\"none\"}",
          "GPU 0 does not answer: the driver has lost it, and still has 0" },
        { "{\"gpus\":[-1, 9999999], \"files\":-5}", "{\"gpus\":[]}", "" },
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gate_memory memory = { 0 };
        char               why[1200];

        judge(&gpus_check, cases[i].request, cases[i].found, &memory, why);
        assert_string_equal(why, cases[i].why);
        forget(&memory);
    }
}

#define BUSY "\"used\":2000000000, \"links\":3"
#define RANK "{\"pid\":7, \"user\":\"ann\", \"command\":\"python3 x.py\", \"gpus\":[0, 1]}"
#define NOTE "{\"pid\":5, \"user\":\"bob\", \"command\":\"jupyter\", \"gpus\":[0]}"

/* The first gate has found both GPUs well, one with links, and jupyter on one of them. */
static void test_gpus_later(void **state)
{
    static const struct {
        const char       *found, *why;
        enum gate_verdict verdict;
    } cases[] = {
        { "{\"gpus\":[" FIRST "], \"holders\":[]}", "", GATE_WELL },
        { "{\"gpus\":[" FIRST "], \"holders\":[" NOTE "]}", "", GATE_WELL },
        { "{\"gpus\":[" FIRST "], \"holders\":[{\"pid\":8, \"command\":\"nvidia-cuda-mps-server\", "
          "\"gpus\":[0]}]}", "", GATE_WELL },
        { "{\"gpus\":[" FIRST "], \"holders\":[{\"pid\":5, \"command\":\"other\", "
          "\"user\":\"ann\", \"gpus\":[0]}]}",
          "", GATE_RATHER },
        { "{\"gpus\":[" FIRST "], \"holders\":[" NOTE ", " RANK "]}", "", GATE_RATHER },
        { "{\"gpus\":[{}, {}], \"holders\":[" NOTE ", " RANK "]}",
          "GPU 0,1 is still in use by pid 7 of ann: python3 x.py", GATE_WAIT },
        { "{\"holders\":[" RANK "]}", "GPU 0,1 is still in use by pid 7 of ann: python3 x.py",
          GATE_WAIT },
        { "{\"gpus\":[{" BUSY "}, {" BUSY "}], \"holders\":[" RANK "]}",
          "GPU 0,1 is still in use by pid 7 of ann, with 3815 MiB: python3 x.py", GATE_WAIT },
        { "{\"gpus\":[{\"links\":3}, {" BUSY "}], \"holders\":[]}",
          "the memory of GPU 1 is not free: 1907 MiB more are in use than at first, by no process "
          "that this user can see", GATE_WAIT },
        { "{\"gpus\":[{\"used\":500000000, \"links\":7}, {\"used\":-5}], \"holders\":[]}", "",
          GATE_WELL },
        { "{\"gpus\":[{\"used\":0, \"links\":1}, {}], \"holders\":[]}",
          "NVLink 1 of GPU 0 is not active any more", GATE_BAD },
        { "{\"gpus\":[{\"links\":3}], \"holders\":[]}",
          "GPU 1 does not answer: the driver has lost it, and still has 1", GATE_BAD },
        { "{\"error\":\"Unknown Error\", \"holders\":[]}",
          "the GPUs do not answer: NVML: Unknown Error", GATE_BAD },
        { "{\"holders\":[{}]}", "GPU  is still in use by pid 0 of : ", GATE_WAIT },
        { "{\"holders\":5}", "", GATE_WELL }, /* the child died: only the files are known */
        { "{}", "", GATE_WELL },
    };
    struct gate_memory memory = { .holders = json_pack("[o]", json_loads(NOTE, 0, NULL)) };
    char               why[1200];
    size_t             i;

    (void)state;
    judge(&gpus_check, TWO, "{\"gpus\":[" FIRST "]}", &memory, why);
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(judge(&gpus_check, TWO, cases[i].found, &memory, why), cases[i].verdict);
        assert_string_equal(why, cases[i].why);
    }
    forget(&memory);
}

static void test_program(void **state)
{
    static const struct {
        const char *found, *why;
        int         code;
    } cases[] = {
        { "{\"status\":0, \"first\":\"well\"}", "", 0 },
        { "{\"status\":3}", "health check x: exit status 3", EXIT_CREATE },
        { "{\"status\":3, \"first\":\"GPU 1 is ill\"}",
          "health check x: exit status 3: GPU 1 is ill", EXIT_CREATE },
        { "{\"status\":-1, \"signal\":11}", "health check x: killed by SIGSEGV", EXIT_CREATE },
        { "{\"status\":-1, \"signal\":9, \"late\":true, \"first\":\"a\"}",
          "health check x: not finished after 60 s: a", EXIT_CREATE },
        { "{\"status\":-1, \"error\":2}", "health check x: No such file or directory",
          EXIT_NOT_FOUND },
        { "{\"status\":-1, \"error\":13}", "health check x: Permission denied",
          EXIT_CANNOT_EXECUTE },
        { "{}", "health check x: it could not be run", EXIT_CREATE },
    };
    json_t *request = json_pack("{s:s}", "program", "x");
    size_t  i;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct failure failure = { .code = 0 };
        json_t        *found = json_loads(cases[i].found, 0, NULL);

        program_check.judge(request, found, NULL, &failure);
        assert_string_equal(failure.why.text, cases[i].why);
        assert_int_equal(failure.code, cases[i].code);
        json_decref(found);
    }
    json_decref(request);
}

static void test_gpus_of_a_plan(void **state)
{
    static const struct {
        const char *variable; /* of its rank; NULL: none */
        const char *wanted;   /* "0,3"; NULL: it cannot be known */
    } cases[] = {
        { "0,3", "0,3" }, { "3,0,3", "0,3" }, { "", "" },         { NULL, NULL },
        { "-1", NULL },   { "GPU-5ebe", NULL }, { "0,MIG-1", NULL }, { "256", NULL },
        { "0,,1", NULL }, { "0 1", NULL },    { "99999999999999999999", NULL }, { "1,", "1" },
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct node_plan_rank rank = { 0 };
        struct node_plan      plan = { .rank = &rank, .ranks = 1 };
        bool                  wanted[GPU_MAX] = { false };
        char                  text[64] = "";
        int                   gpu;

        if (cases[i].variable != NULL)
            env_set(&rank.env, "CUDA_VISIBLE_DEVICES", cases[i].variable);
        assert_int_equal(plan_gpus(&plan, wanted), cases[i].wanted != NULL);
        for (gpu = 0; gpu < GPU_MAX; gpu++)
            if (wanted[gpu])
                snprintf(text + strlen(text), sizeof text - strlen(text), "%s%d",
                         text[0] != '\0' ? "," : "", gpu);
        if (cases[i].wanted != NULL)
            assert_string_equal(text, cases[i].wanted);
        strlist_clear(&rank.env);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mounts),
        cmocka_unit_test(test_storage),
        cmocka_unit_test(test_ports_are_read),
        cmocka_unit_test(test_ports),
        cmocka_unit_test(test_gpus_at_first),
        cmocka_unit_test(test_gpus_later),
        cmocka_unit_test(test_program),
        cmocka_unit_test(test_gpus_of_a_plan),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

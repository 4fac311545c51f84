/* test_sample.c - samples of GPUs and network ports: reading them, and what has become worse
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "samples/gpu_counters.h"
#include "samples/port_counters.h"
#include "samples/sample_changes.h"
#include "xalloc.h"

/* --- the kernel's files ---------------------------------------------------------- */

static void test_number(void **unused)
{
    static const struct {
        const char *text;
        int64_t     number;
    } rows[] = {
        { "0\n", 0 },
        { "7", 7 },
        { "4: ACTIVE\n", 4 },
        { "400 Gb/sec (4X NDR)\n", 400 },
        { "2.5 Gb/sec (1X SDR)\n", 2 },
        { "9223372036854775807\n", INT64_MAX },
        { "9223372036854775808\n", -1 },
        { "99999999999999999999999", -1 },
        { "", -1 },
        { "\n", -1 },
        { "-1\n", -1 },
        { "+1\n", -1 },
        { " 1\n", -1 },
        { "0x10\n", -1 },
        { "12abc\n", -1 },
        { "N/A\n", -1 },
        { "<no value>", -1 },
    };
    size_t i;

    (void)unused;
    for (i = 0; i < sizeof rows / sizeof *rows; i++)
        if (port_counters_number(rows[i].text) != rows[i].number)
            fail_msg("'%s'", rows[i].text);
}

static char root[] = "/tmp/muster-test-sample.XXXXXX";

/* Writes a file below root, with its folders. */
static void put(const char *path, const char *text)
{
    char *whole = xasprintf("%s/%s", root, path), *at;
    FILE *file;

    for (at = strchr(whole + 1, '/'); at != NULL; at = strchr(at + 1, '/')) {
        *at = '\0';
        mkdir(whole, 0755);
        *at = '/';
    }
    file = fopen(whole, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    free(whole);
}

#define PORTS "sys/class/infiniband/"
#define CPUS  "sys/devices/system/cpu/"

static void test_ports(void **unused)
{
    static struct sample sample;
    char                 name[80], *command;
    int                  i;

    (void)unused;
    assert_non_null(mkdtemp(root));
    assert_false(port_counters_exist(root));
    port_counters_read(root, &sample);
    assert_int_equal(sample.ports, 0);
    assert_int_equal(sample.throttles, SAMPLE_UNKNOWN);

    put(PORTS "mlx5_1/ports/1/state", "1: DOWN\n");
    put(PORTS "mlx5_0/ports/2/state", "4: ACTIVE\n");
    put(PORTS "mlx5_0/ports/2/rate", "what is this\n");
    put(PORTS "mlx5_0/ports/2/counters/link_downed", "3\n");
    put(PORTS "mlx5_0/ports/2/counters/symbol_error", "");
    put(PORTS "mlx5_0/ports/2/counters/port_rcv_errors/x", "a folder");
    put(PORTS "an_adapter_whose_name_is_too_long_for_us/ports/1/state", "4: ACTIVE\n");
    put(CPUS "cpu0/thermal_throttle/core_throttle_count", "5\n");
    put(CPUS "cpu1/thermal_throttle/core_throttle_count", "2\n");
    put(CPUS "cpu3/thermal_throttle/core_throttle_count", "9\n");
    assert_true(port_counters_exist(root));
    port_counters_read(root, &sample);
    assert_int_equal(sample.ports, 2);
    assert_string_equal(sample.port[0].name, "mlx5_0/2");
    assert_int_equal(sample.port[0].value[PORT_STATE], PORT_ACTIVE);
    assert_int_equal(sample.port[0].value[PORT_GBITS], SAMPLE_UNKNOWN);
    assert_int_equal(sample.port[0].value[PORT_DOWNS], 3);
    assert_int_equal(sample.port[0].value[PORT_SYMBOL_ERRORS], SAMPLE_UNKNOWN);
    assert_int_equal(sample.port[0].value[PORT_RECEIVE_ERRORS], SAMPLE_UNKNOWN);
    assert_int_equal(sample.port[1].value[PORT_STATE], 1);
    assert_int_equal(sample.throttles, 7);

    for (i = 0; i < SAMPLE_PORTS_MAX + 5; i++) {
        snprintf(name, sizeof name, PORTS "many/ports/%d/state", i);
        put(name, "4: ACTIVE\n");
    }
    port_counters_read(root, &sample);
    assert_int_equal(sample.ports, SAMPLE_PORTS_MAX);
    command = xasprintf("rm -r %s", root);
    assert_int_equal(system(command), 0);
    free(command);
}

/* --- NVML ------------------------------------------------------------------------ */

static unsigned gpus;
static int      handle_error, memory_error;

static int count(unsigned *number)
{
    *number = gpus;
    return 0;
}

static int handle(unsigned number, void **device)
{
    (void)number;
    *device = &gpus;
    return handle_error;
}

static int ecc(void *device, int kind, int counter, unsigned long long *number)
{
    (void)device;
    assert_int_equal(kind, 1); /* uncorrected ones */
    assert_int_equal(counter, 0);
    *number = 3;
    return memory_error;
}

static int reasons(void *device, unsigned long long *bits)
{
    (void)device;
    *bits = SAMPLE_HW_THERMAL;
    return 0;
}

static int clock_of(void *device, int clock, unsigned *mhz)
{
    (void)device, (void)clock;
    *mhz = 1980;
    return 0;
}

static int not_supported(void *device, unsigned *number)
{
    (void)device;
    *number = 77;
    return 3;
}

/* Links 0 and 1 are there, and 1 is not active. */
static int link_state(void *device, unsigned link, unsigned *is_active)
{
    (void)device;
    *is_active = link == 0;
    return link < 2 ? 0 : 2;
}

static int link_errors(void *device, unsigned link, int counter, unsigned long long *number)
{
    (void)device;
    assert_int_equal(link, 0);
    *number = counter == NVML_LINK_RECOVERY ? 1 : 10;
    return counter == NVML_LINK_CRC_DATA ? 3 : 0;
}

static void test_gpus(void **unused)
{
    /* All that nvml_load() promises. */
    struct nvml          nvml = { .count = count, .handle = handle, .ecc = ecc,
                                  .reasons = reasons };
    static struct sample sample;

    (void)unused;
    gpus = 1;
    gpu_counters_read(&nvml, &sample);
    assert_int_equal(sample.gpus, 1);
    assert_int_equal(sample.gpu[0][GPU_ERROR], 0);
    assert_int_equal(sample.gpu[0][GPU_ECC], 3);
    assert_int_equal(sample.gpu[0][GPU_REASONS], SAMPLE_HW_THERMAL);
    assert_int_equal(sample.gpu[0][GPU_MHZ], SAMPLE_UNKNOWN);
    assert_int_equal(sample.gpu[0][GPU_BUSY], SAMPLE_UNKNOWN);
    assert_int_equal(sample.gpu[0][GPU_REMAP_PENDING], SAMPLE_UNKNOWN);
    assert_int_equal(sample.gpu[0][GPU_LINKS], SAMPLE_UNKNOWN);

    nvml.clock = clock_of;
    nvml.power = not_supported;
    nvml.link = link_state;
    gpu_counters_read(&nvml, &sample);
    assert_int_equal(sample.gpu[0][GPU_MHZ], 1980);
    assert_int_equal(sample.gpu[0][GPU_MILLIWATTS], SAMPLE_UNKNOWN);
    assert_int_equal(sample.gpu[0][GPU_LINKS], 1);
    assert_int_equal(sample.gpu[0][GPU_LINK_RECOVERIES], 0);
    nvml.link_errors = link_errors;
    gpu_counters_read(&nvml, &sample);
    assert_int_equal(sample.gpu[0][GPU_LINK_RECOVERIES], 1);
    assert_int_equal(sample.gpu[0][GPU_LINK_ERRORS], 20);

    memory_error = NVML_GPU_LOST;
    gpu_counters_read(&nvml, &sample);
    assert_int_equal(sample.gpu[0][GPU_ERROR], NVML_GPU_LOST);
    memory_error = 3; /* it has no ECC */
    gpu_counters_read(&nvml, &sample);
    assert_int_equal(sample.gpu[0][GPU_ERROR], 0);
    assert_int_equal(sample.gpu[0][GPU_ECC], SAMPLE_UNKNOWN);
    handle_error = NVML_RESET_REQUIRED;
    gpu_counters_read(&nvml, &sample);
    assert_int_equal(sample.gpu[0][GPU_ERROR], NVML_RESET_REQUIRED);
    assert_int_equal(sample.gpu[0][GPU_MHZ], SAMPLE_UNKNOWN);
    gpus = SAMPLE_GPUS_MAX + 9;
    gpu_counters_read(&nvml, &sample);
    assert_int_equal(sample.gpus, SAMPLE_GPUS_MAX);
}

/* --- as a line ------------------------------------------------------------------- */

/* Two GPUs and a port of which nothing is wrong. */
static void well(struct sample *sample)
{
    static const int64_t gpu[GPU_VALUES] = {
        [GPU_MHZ] = 1980,         [GPU_MHZ_MOST] = 1980,    [GPU_BUSY] = 97,
        [GPU_MILLIWATTS] = 412000, [GPU_PCIE_SPEED] = 5,    [GPU_PCIE_SPEED_MOST] = 5,
        [GPU_PCIE_LANES] = 16,    [GPU_PCIE_LANES_MOST] = 16, [GPU_PCIE_REPEATS] = 4,
        [GPU_ECC] = 1,            [GPU_LINKS] = 0xff,
    };

    memset(sample, 0, sizeof *sample);
    sample->gpus = 2;
    memcpy(sample->gpu[0], gpu, sizeof gpu);
    memcpy(sample->gpu[1], gpu, sizeof gpu);
    sample->ports = 1;
    strcpy(sample->port[0].name, "mlx5_0/1");
    sample->port[0].value[PORT_STATE] = PORT_ACTIVE;
    sample->port[0].value[PORT_GBITS] = 400;
    sample->throttles = SAMPLE_UNKNOWN;
}

static void test_line(void **unused)
{
    static const char *const bad[] = {
        "{}",
        "[]",
        "{\"gpus\":{},\"ports\":{},\"throttles\":0}",
        "{\"gpus\":[],\"ports\":[],\"throttles\":0}",
        "{\"gpus\":[],\"ports\":{}}",
        "{\"gpus\":[],\"ports\":{},\"throttles\":\"1\"}",
        "{\"gpus\":[[1,2]],\"ports\":{},\"throttles\":0}",
        "{\"gpus\":[7],\"ports\":{},\"throttles\":0}",
        "{\"gpus\":[],\"ports\":{\"a/1\":[1,2,3,4]},\"throttles\":0}",
        "{\"gpus\":[],\"ports\":{\"a/1\":[1,2,3,4,\"5\"]},\"throttles\":0}",
    };
    static struct sample sample, again;
    json_t              *json;
    size_t               i;

    (void)unused;
    well(&sample);
    json = sample_json(&sample);
    assert_true(sample_read(&again, json));
    assert_memory_equal(&again, &sample, sizeof sample);
    json_decref(json);
    for (i = 0; i < sizeof bad / sizeof *bad; i++) {
        json = json_loads(bad[i], 0, NULL);
        assert_non_null(json);
        if (sample_read(&again, json))
            fail_msg("%s", bad[i]);
        json_decref(json);
    }
    assert_false(sample_read(&again, NULL));
    json = json_pack("{s:[], s:{}, s:i}", "gpus", "ports", "throttles", 0);
    assert_true(sample_read(&again, json));
    for (i = 0; i <= SAMPLE_GPUS_MAX; i++)
        json_array_append_new(json_object_get(json, "gpus"), json_array());
    assert_false(sample_read(&again, json));
    json_decref(json);
}

static void test_report(void **unused)
{
    static const bool    second[SAMPLE_GPUS_MAX] = { false, true };
    static struct sample before, now;
    json_t              *body, *gpu;
    int64_t              mhz = 0, number = -1, throttled = -1;

    (void)unused;
    well(&before);
    well(&now);
    now.gpu[1][GPU_CELSIUS] = SAMPLE_UNKNOWN;
    body = sample_report(&before, &now, second, 10);
    assert_int_equal(json_array_size(json_object_get(body, "gpus")), 1);
    gpu = json_array_get(json_object_get(body, "gpus"), 0);
    assert_int_equal(json_unpack(gpu, "{s:I, s:I}", "gpu", &number, "mhz", &mhz), 0);
    assert_int_equal(number, 1);
    assert_int_equal(mhz, 1980);
    assert_null(json_object_get(gpu, "celsius"));
    assert_null(json_object_get(body, "throttled"));
    assert_int_equal(json_array_size(json_object_get(body, "ports")), 1);
    json_decref(body);
    before.throttles = 4;
    now.throttles = 6;
    now.gpu[1][GPU_ERROR] = NVML_GPU_LOST;
    body = sample_report(&before, &now, second, 10);
    assert_int_equal(json_array_size(json_object_get(body, "gpus")), 0);
    assert_int_equal(json_unpack(body, "{s:I}", "throttled", &throttled), 0);
    assert_int_equal(throttled, 2);
    json_decref(body);
}

/* --- what has become worse ------------------------------------------------------- */

static char found[400];

static void note(const struct evidence *evidence, const char *text, void *arg)
{
    size_t used = strlen(found);

    assert_ptr_equal(arg, found);
    assert_true(strlen(text) > 0);
    assert_true(strlen(evidence->what) > 0);
    assert_non_null(evidence->action);
    snprintf(found + used, sizeof found - used, "%s%s %s %s", used > 0 ? "; " : "",
             evidence_severity_name(evidence->severity), evidence->kind, evidence->device);
}

/* Returns what has changed for GPUs that are wanted: number 1 alone. */
static const char *changes(const struct sample *first, const struct sample *before,
                           const struct sample *now)
{
    static const bool second[SAMPLE_GPUS_MAX] = { false, true };

    found[0] = '\0';
    sample_changes(first, before, now, second, note, found);
    return found;
}

static void test_gpu_changes(void **unused)
{
    static const struct {
        enum gpu_value value;
        int64_t        before, now;
        const char    *expected;
    } rows[] = {
        { GPU_ECC, 1, 1, "" },
        { GPU_ECC, 1, 2, "error ecc GPU 1" },
        { GPU_ECC, 2, 1, "" }, /* the driver was loaded again */
        { GPU_ECC, SAMPLE_UNKNOWN, 5, "" },
        { GPU_ECC, 5, SAMPLE_UNKNOWN, "" },
        { GPU_REMAP_PENDING, 0, 1, "broken gpu remap GPU 1" },
        { GPU_REMAP_PENDING, 1, 1, "" },
        { GPU_REMAP_FAILED, 0, 1, "broken gpu remap failed GPU 1" },
        { GPU_PCIE_REPEATS, 4, 13, "" },
        { GPU_PCIE_REPEATS, 4, 14, "notice pcie repeats GPU 1" },
        { GPU_LINK_RECOVERIES, 0, 1, "error nvlink recovery GPU 1" },
        { GPU_LINK_ERRORS, 0, 1, "notice nvlink corrected GPU 1" },
        { GPU_LINKS, 0xff, 0xff, "" },
        { GPU_LINKS, 0xff, 0xfb, "broken nvlink GPU 1, link 2" },
        { GPU_LINKS, 0x0f, 0xff, "" },
        { GPU_LINKS, 3, SAMPLE_UNKNOWN, "" },
        { GPU_LINKS, 3, 0, "broken nvlink GPU 1, link 0; broken nvlink GPU 1, link 1" },
        { GPU_REASONS, 0, SAMPLE_HW_THERMAL, "notice gpu slowdown GPU 1" },
        { GPU_REASONS, 0, SAMPLE_POWER_BRAKE, "notice gpu slowdown GPU 1" },
        { GPU_REASONS, SAMPLE_HW_THERMAL, SAMPLE_HW_THERMAL, "" },
        { GPU_REASONS, 0, 4, "" }, /* its power limit */
        { GPU_REASONS, SAMPLE_UNKNOWN, SAMPLE_HW_THERMAL, "" },
        { GPU_PCIE_LANES, 16, 8, "error pcie width GPU 1" },
        { GPU_PCIE_LANES, 8, 16, "" },
        { GPU_PCIE_SPEED, 5, 4, "notice pcie slow GPU 1" },
        { GPU_ERROR, 0, NVML_GPU_LOST, "broken gpu lost GPU 1" },
        { GPU_ERROR, 0, NVML_RESET_REQUIRED, "broken gpu reset GPU 1" },
        { GPU_ERROR, NVML_GPU_LOST, NVML_GPU_LOST, "" },
        { GPU_ERROR, 0, NVML_NO_PERMISSION, "" },
    };
    static struct sample first, before, now;
    size_t               i;

    (void)unused;
    for (i = 0; i < sizeof rows / sizeof *rows; i++) {
        well(&before);
        well(&now);
        before.gpu[1][rows[i].value] = rows[i].before;
        now.gpu[1][rows[i].value] = rows[i].now;
        first = before;
        if (strcmp(changes(&first, &before, &now), rows[i].expected) != 0)
            fail_msg("row %zu: %s", i, found);
        before.gpu[0][rows[i].value] = rows[i].before; /* no rank uses this one */
        now.gpu[0][rows[i].value] = rows[i].now;
        if (strcmp(changes(&first, &before, &now), rows[i].expected) != 0)
            fail_msg("row %zu, of the other GPU: %s", i, found);
    }
}

static void test_idle_link(void **unused)
{
    static struct sample first, before, now;

    (void)unused;
    well(&first);
    well(&before);
    well(&now);
    now.gpu[1][GPU_BUSY] = 3;
    now.gpu[1][GPU_PCIE_SPEED] = 1;
    assert_string_equal(changes(&first, &before, &now), "");
    first.gpu[1][GPU_PCIE_LANES] = before.gpu[1][GPU_PCIE_LANES] = 8;
    now.gpu[1][GPU_PCIE_LANES] = 8; /* as it was built */
    assert_string_equal(changes(&first, &before, &now), "");
    now.gpu[1][GPU_BUSY] = 90;
    before.gpu[1][GPU_BUSY] = 3;
    assert_string_equal(changes(&first, &before, &now), "notice pcie slow GPU 1");
    now.gpus = 1; /* the driver has lost the other one */
    assert_string_equal(changes(&first, &before, &now), "");
}

static void test_port_changes(void **unused)
{
    static const struct {
        int64_t     before[PORT_VALUES], now[PORT_VALUES];
        const char *expected;
    } rows[] = {
        { { 4, 400, 7, 0, 0 }, { 4, 400, 7, 0, 0 }, "" },
        { { 4, 400, 7, 0, 0 }, { 4, 400, 8, 0, 0 }, "error link mlx5_0/1" },
        { { 4, 400, 7, 0, 0 }, { 1, 400, 8, 0, 0 }, "error link mlx5_0/1" },
        { { 4, 400, -1, 0, 0 }, { 1, 400, -1, 0, 0 }, "error link mlx5_0/1" },
        { { 4, 400, 7, 0, 0 }, { 1, 400, 7, 0, 0 }, "error link mlx5_0/1" },
        { { 1, 400, 7, 0, 0 }, { 1, 400, 7, 0, 0 }, "" },
        { { 1, 400, 7, 0, 0 }, { 4, 400, 7, 0, 0 }, "" },
        { { 4, 400, 7, 0, 0 }, { -1, -1, -1, -1, -1 }, "" },
        { { 4, 400, 255, 0, 0 }, { 4, 400, 0, 0, 0 }, "" },
        { { 4, 400, 7, 0, 0 }, { 4, 400, 7, 99, 99 }, "" },
        { { 4, 400, 7, 0, 0 }, { 4, 400, 7, 100, 0 }, "error link errors mlx5_0/1" },
        { { 4, 400, 7, 0, 0 }, { 4, 400, 7, 0, 100 }, "error link errors mlx5_0/1" },
    };
    static struct sample before, now;
    size_t               i;

    (void)unused;
    for (i = 0; i < sizeof rows / sizeof *rows; i++) {
        well(&before);
        well(&now);
        memcpy(before.port[0].value, rows[i].before, sizeof rows[i].before);
        memcpy(now.port[0].value, rows[i].now, sizeof rows[i].now);
        if (strcmp(changes(&before, &before, &now), rows[i].expected) != 0)
            fail_msg("row %zu: %s", i, found);
    }
    strcpy(now.port[0].name, "mlx5_1/1"); /* another one */
    assert_string_equal(changes(&before, &before, &now), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_number),      cmocka_unit_test(test_ports),
        cmocka_unit_test(test_gpus),        cmocka_unit_test(test_line),
        cmocka_unit_test(test_report),      cmocka_unit_test(test_gpu_changes),
        cmocka_unit_test(test_idle_link),   cmocka_unit_test(test_port_changes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_checks.c - checks of a node on a tree of files that stands for /
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <errno.h>
#include <ftw.h>
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

#include "doctor/checkup.h"
#include "doctor/names.h"
#include "doctor/sshd.h"
#include "node/test_switch.h"
#include "xalloc.h"

static char root[] = "/tmp/muster-test-checkup-XXXXXX";

static int remove_one(const char *path, const struct stat *about, int type, struct FTW *ftw)
{
    (void)about, (void)type, (void)ftw;
    return remove(path);
}

static int make_root(void **state)
{
    (void)state;
    return mkdtemp(root) != NULL ? 0 : -1;
}

static int remove_root(void **state)
{
    (void)state;
    return nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* A file of the tree, with its folders. */
static void put(const char *path, const char *text)
{
    char *full = xasprintf("%s%s", root, path), *slash;
    FILE *file;

    for (slash = strchr(full + strlen(root) + 1, '/'); slash != NULL;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(full, 0755);
        *slash = '/';
    }
    file = fopen(full, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    free(full);
}

/* What a check says about the tree, a line of JSON each. Caller frees. */
static char *said(checkup_check *check, const char *request)
{
    FILE              *file = tmpfile();
    struct task_output out = { fileno(file) };
    json_t            *body = json_loads(request, 0, NULL);
    struct checkup     checkup = { body, &out, root, "a check", false };
    char              *text = xcalloc(1, 65536);

    assert_non_null(body);
    check(&checkup);
    rewind(file);
    text[fread(text, 1, 65535, file)] = '\0';
    fclose(file);
    json_decref(body);
    return text;
}

#define SAYS(check, request, words)                                                               \
    do {                                                                                          \
        char *text_ = said(check, request);                                                       \
        if (strstr(text_, words) == NULL)                                                         \
            fail_msg("no \"%s\" in %s", words, text_);                                            \
        free(text_);                                                                              \
    } while (0)
#define SAYS_NOT(check, request, words)                                                           \
    do {                                                                                          \
        char *text_ = said(check, request);                                                       \
        if (strstr(text_, words) != NULL)                                                         \
            fail_msg("\"%s\" in %s", words, text_);                                               \
        free(text_);                                                                              \
    } while (0)

static void driver(void **state)
{
    char *path;

    (void)state;
    SAYS_NOT(driver_check, "{}", "driver");
    put("/proc/driver/nvidia/version",
        "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.54.15  Release Build\n"
        "GCC version:  gcc version 12.2.0 (Debian 12.2.0-14)\n");
    SAYS(driver_check, "{}", "{\"fact\":\"driver module\",\"value\":\"550.54.15\"}");
    put("/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.550.54.15", "");
    SAYS_NOT(driver_check, "{}", "level");
    put("/usr/lib64/libnvidia-ml.so.1", "");
    SAYS_NOT(driver_check, "{}", "level");
    path = xasprintf("%s/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.550.54.15", root);
    assert_int_equal(unlink(path), 0);
    free(path);
    put("/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.550.90.07", "");
    SAYS(driver_check, "{}",
         "\"value\":\"the loaded driver is 550.54.15, its library 550.90.07\"");
    put("/proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.90.07 "
                                       " Fri May 31 09:35:42 UTC 2024\n");
    SAYS_NOT(driver_check, "{}", "level");
    put("/proc/driver/nvidia/version", "Module");
    SAYS_NOT(driver_check, "{}", "driver");
    put("/proc/driver/nvidia/version", "");
}

static void gpu_errors(void **state)
{
    (void)state;
    put("/dev/kmsg", "6,1,99999999999999,-;NVRM: Xid (PCI:0000:3b:00): 48, DBE\n");
    SAYS(gpu_errors_check, "{}",
         "the driver has reported Xid 48, uncorrectable memory error, once in the last day");
    SAYS(gpu_errors_check, "{}", "\"level\":\"fail\"");
    put("/dev/kmsg", "6,1,99999999999999,-;NVRM: Xid (PCI:0000:3b:00): 13, x\n"
                     "6,1,99999999999999,-;NVRM: Xid (PCI:0000:5e:00): 13, x\n");
    SAYS(gpu_errors_check, "{}", "\"level\":\"warn\"");
    SAYS(gpu_errors_check, "{}", "exception, several times in the last day");
    SAYS_NOT(gpu_errors_check, "{}", "once");
    SAYS_NOT(kernel_log_check, "{}", "level");
    put("/dev/kmsg", "14,1,99999999999999,-;NVRM: Xid (PCI:0000:3b:00): 48, a program wrote it\n"
                     "6,1,99999999999999,-;NVRM: Xid (PCI:0000:3b:00): 106, x\n"
                     "6,1,5,-;NVRM: Xid (PCI:0000:3b:00): 79, x\n");
    SAYS_NOT(gpu_errors_check, "{}", "48");
    SAYS_NOT(gpu_errors_check, "{}", "106");
}

static void the_kernels_log(void **state)
{
    (void)state;
    put("/dev/kmsg", "3,1,99999999999999,-;EDAC MC0: 1 UE memory read error on DIMM\n"
                     "3,1,99999999999999,-;EDAC MC1: 1 UE memory read error on DIMM\n");
    SAYS(kernel_log_check, "{}", "reported in the last day: uncorrected memory error\"");
    SAYS(kernel_log_check, "{}", "have the memory replaced");
    put("/dev/kmsg", "3,1,99999999999999,-;EDAC MC0: 1 CE memory read error on DIMM\n"
                     "3,1,99999999999999,-;nfs: server a not responding, still trying\n");
    SAYS_NOT(kernel_log_check, "{}", "level");
    put("/dev/kmsg", "");
}

static void updates(void **state)
{
    (void)state;
    put("/etc/apt/apt.conf.d/20auto-upgrades", "APT::Periodic::Unattended-Upgrade \"1\";\n");
    SAYS_NOT(updates_check, "{}", "level"); /* it is not installed */
    put("/usr/bin/unattended-upgrade", "");
    SAYS(updates_check, "{}", "unattended upgrades are on");
    put("/etc/apt/apt.conf.d/20auto-upgrades", "APT::Periodic::Unattended-Upgrade \"0\";\n");
    SAYS_NOT(updates_check, "{}", "level");
    put("/run/reboot-required", "");
    SAYS(updates_check, "{}", "waits for a reboot");
}

static void cgroup_limits(void **state)
{
    (void)state;
    put("/proc/meminfo", "MemTotal:       16000000 kB\nMemFree: 1 kB\n");
    put("/proc/self/cgroup", "4:memory:/x\n0::/user.slice/user-1.slice/session-2.scope\n");
    SAYS_NOT(login_limits_check, "{}", "session may");
    put("/sys/fs/cgroup/user.slice/memory.max", "max\n");
    put("/sys/fs/cgroup/user.slice/pids.max", "max\n");
    SAYS_NOT(login_limits_check, "{}", "session may");
    put("/sys/fs/cgroup/user.slice/user-1.slice/memory.max", "1073741824\n");
    put("/sys/fs/cgroup/user.slice/user-1.slice/session-2.scope/memory.max", "4294967296\n");
    put("/sys/fs/cgroup/user.slice/pids.max", "100\n");
    SAYS(login_limits_check, "{}", "may use 1024 MiB of the 15625 MiB");
    SAYS(login_limits_check, "{}", "may have 100 processes");
    put("/proc/self/cgroup", "0::/\n");
    SAYS_NOT(login_limits_check, "{}", "session may");
    put("/sys/fs/cgroup/pids.max", "99\n");
    SAYS(login_limits_check, "{}", "may have 99 processes");
}

/* What sshd -T says of such files; NULL: only it can tell. */
static void sshd(void **state)
{
    static const struct {
        const char *text, *settings;
    } rows[] = {
        { "", "-1 -1 -1 -1" },
        { "# MaxStartups 3\n\n \t\nUsePAM yes\n", "-1 -1 -1 -1" },
        { "MaxStartups 5:30:10\nmaxstartups 100\n", "5 -1 -1 -1" },
        { "MAXSESSIONS=4\nClientAliveInterval = 20\r\nClientAliveCountMax 0 # x\n", "-1 4 20 0" },
        { "ClientAliveInterval 1m\n", NULL },
        { "MaxStartups \"10\"\n", NULL },
        { "MaxStartups\n", NULL },
        { "MaxSessions 2\nMatch User x\nMaxStartups 1\n", "-1 2 -1 -1" },
        { "Match all\nMaxSessions 1\n", NULL },
        { "Include /etc/ssh/sshd_config.d/*.conf\nMaxSessions 9\nMaxStartups 9\n", "8 9 7 -1" },
        { "Include sshd_config.d/b.conf sshd_config.d/a.conf\n", "6 -1 7 -1" },
        { "Include none/*.conf\n", "-1 -1 -1 -1" },
        { "Include \"sshd_config.d/b.conf\"\n", NULL },
        { "Include sshd_config\n", NULL },
    };
    struct sshd_settings have;
    size_t               i;
    char                 text[64];

    (void)state;
    put("/etc/ssh/sshd_config.d/a.conf", "MaxStartups 8\nMatch user x\nMaxSessions 1\n");
    put("/etc/ssh/sshd_config.d/b.conf", "MaxStartups 6\nInclude sshd_config.d/c\n");
    put("/etc/ssh/sshd_config.d/c", "ClientAliveInterval 7\n");
    for (i = 0; i < sizeof rows / sizeof *rows; i++) {
        put("/etc/ssh/sshd_config", rows[i].text);
        have = SSHD_SETTINGS_NONE;
        if (!sshd_read(root, "/etc/ssh/sshd_config", 0, &have)) {
            assert_null(rows[i].settings);
            continue;
        }
        snprintf(text, sizeof text, "%lld %lld %lld %lld", have.startups, have.sessions,
                 have.alive_s, have.alive_count);
        assert_non_null(rows[i].settings);
        assert_string_equal(text, rows[i].settings);
    }
    have = SSHD_SETTINGS_NONE;
    assert_false(sshd_read(root, "/etc/ssh/nothing", 0, &have));
    put("/etc/ssh/sshd_config", "ClientAliveInterval 4\nMaxStartups 3\n");
    if (geteuid() == 0) {
        SAYS(sshd_check, "{}", "silent for 12 s");
        SAYS(sshd_check, "{}", "logins when 3 are in progress");
    }
}

static void interfaces(void **state)
{
    static const struct {
        const char *value;
        bool        is_there;
    } cases[] = {
        { "lo", true },      { "l", true },         { "=lo", true },
        { "=l", false },     { "nosuch,lo", true }, { "nosuch", false },
        { "^docker", true }, { "=nosuch", false },  { ",", true },
    };
    char  *request, *text;
    size_t i;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        request = xasprintf("{\"interfaces\":{\"NCCL_SOCKET_IFNAME\":\"%s\"}}", cases[i].value);
        text = said(interfaces_check, request);
        if ((strstr(text, "there is no such interface") == NULL) != cases[i].is_there)
            fail_msg("%s: %s", request, text);
        free(text);
        free(request);
    }
}

static void files(void **state)
{
    char *request;

    (void)state;
    SAYS(files_check, "{\"cwd\":\"/nonexistent\"}",
         "the working directory /nonexistent does not exist");
    SAYS(files_check, "{\"script\":\"/nonexistent/x.py\"}",
         "/nonexistent/x.py: No such file or directory");
    SAYS(files_check, "{\"script\":\"/\"}", "");
    SAYS(files_check, "{\"paths\":[\"/\", \"/nonexistent\"]}",
         "{\"fact\":\"path /nonexistent\",\"value\":\"not there\"}");
    SAYS_NOT(files_check, "{\"master_port\":-1}", "level");
    put("/save/latest", "global_step7\n");
    request = xasprintf("{\"paths\":[\"%s/save\"]}", root);
    SAYS(files_check, request, "latest names global_step7, which does not exist");
    put("/save/global_step7/mp_rank_00_model_states.pt", "x");
    SAYS_NOT(files_check, request, "level");
    put("/save/global_step7/zero_pp_rank_0_mp_rank_00_optim_states.pt", "");
    SAYS(files_check, request, "save/global_step7 has empty files");
    put("/save/global_step7/zero_pp_rank_0_mp_rank_00_optim_states.pt", "x");
    put("/save/global_step7/zero_pp_rank_1_mp_rank_01_optim_states.pt", "x");
    SAYS_NOT(files_check, request, "level");
    put("/save/global_step7/zero_pp_rank_2_mp_rank_00_optim_states.pt", "x");
    SAYS(files_check, request,
         "save/global_step7 lacks some of its files: 2 of "
         "zero_pp_rank_#_mp_rank_00_optim_states.pt from 0 to 2");
    put("/save/latest", "global_step8");
    put("/save/global_step8/shard-00009", "x"); /* a node may have those of its own ranks */
    put("/save/global_step8/shard-00010", "x");
    put("/save/global_step8/shard-", "x");
    SAYS_NOT(files_check, request, "level");
    put("/save/global_step8/shard-00012", "x");
    SAYS(files_check, request, "3 of shard-# from 9 to 12");
    put("/save/latest", "../x\n");
    SAYS(files_check, request, "which does not exist");
    free(request);
    SAYS_NOT(files_check, "{\"master_port\":70000}", "level");
}

/* Of holes, which are read at once; a file system in memory cannot be read around the cache. */
static void cold(void **state)
{
    char *path = xasprintf("%s/folder/large", root), *request, *text;

    (void)state;
    put("/folder/large", "x");
    assert_int_equal(truncate(path, 80 << 20), 0);
    request = xasprintf("{\"data\":[\"%s\"]}", root);
    text = said(cold_check, request);
    if (text[0] != '\0')
        assert_non_null(strstr(text, "\"reads\":64"));
    free(text);
    free(request);
    free(path);
    SAYS_NOT(cold_check, "{\"data\":[\"/nonexistent\"]}", "fact");
}

static void python(void **state)
{
    char *request, *path = xasprintf("%s/bin/python", root);

    (void)state;
    SAYS(python_check, "{\"python\":\"/nonexistent/python\"}",
         "no /nonexistent/python there, ");
    SAYS(python_check, "{\"python\":\"/nonexistent/python\",\"python_from\":\"CONDA_PREFIX\"}",
         "no /nonexistent/python there (CONDA_PREFIX), ");
    put("/bin/python", "#!/bin/sh\necho $0\necho python 3.11.2\necho torch 2.4.0\necho torch 9\n"
                       "echo\necho \"too many words\"\n");
    put("/bin/torchrun", "#!/nonexistent/python\n");
    put("/bin/pip", "#!/bin/sh\n");
    chmod(path, 0755);
    request = xasprintf("{\"python\":\"%s\"}", path);
    SAYS(python_check, request, "{\"fact\":\"version of torch\",\"value\":\"2.4.0\"}");
    SAYS_NOT(python_check, request, "\"9\"");
    SAYS(python_check, request,
         "torchrun begins with #!/nonexistent/python, which does not exist");
    SAYS_NOT(python_check, request, "pip begins");
    put("/bin/python", "#!/bin/sh\necho no memory >&2\nexit 1\n");
    SAYS(python_check, request, "exit status 1: no memory");
    free(request);
    free(path);
}

static void names(void **state)
{
    static const char answer[] = "10.0.0.2        STREAM te2\n10.0.0.2        DGRAM  \n"
                                 "10.0.0.2        RAW    \n10.0.0.1        STREAM \n"
                                 "127.0.0.1       STREAM 127.0.0.1\n127.0.0.1       DGRAM  \n"
                                 "127.0.0.1       STREAM 127.0.0.1\n" /* te3 is not known */
                                 "127.0.0.1       STREAM localhost\n"
                                 "127.0.0.1       STREAM 127.0.0.1\n";
    struct strlist asked = { 0 };
    json_t        *found;
    char          *text;

    (void)state;
    strlist_add(&asked, "te2");
    strlist_add(&asked, "te3");
    strlist_add(&asked, "te4");
    strlist_add(&asked, "te5");
    found = names_read(answer, &asked);
    text = json_dumps(found, JSON_COMPACT | JSON_SORT_KEYS);
    assert_string_equal(text, "{\"te2\":[\"10.0.0.1\",\"10.0.0.2\"],\"te3\":[],"
                              "\"te4\":[\"127.0.0.1\"]}");
    free(text);
    json_decref(found);
    found = names_read("STREAM\n\n  \n:: STREAM x\n", &asked);
    assert_int_equal(json_object_size(found), 0);
    json_decref(found);
    strlist_clear(&asked);
}

/* Requests that no launcher sends. */
static void bad_requests(void **state)
{
    static const char *const bad[] = {
        "{}",
        "{\"hosts\":1, \"data\":{}, \"paths\":\"x\", \"interfaces\":[], \"python\":7}",
        "{\"hosts\":[1, null], \"data\":[1], \"peers\":[1], \"token\":1, \"script\":{}}",
        "{\"token\":\"0123456789abcdef\", \"port\":-1, \"peers\":[{}, {\"addresses\":[1]}]}",
        "{\"token\":\"0123456789abcdef\", \"port\":-1, \"peer\":{\"address\":\"x\", \"port\":-1}}",
    };
    static checkup_check *const all[] = { disks_check, files_check,  interfaces_check,
                                          peers_check, python_check, cold_check,
                                          speed_check };
    size_t                      i, k;

    (void)state;
    for (i = 0; i < sizeof bad / sizeof *bad; i++)
        for (k = 0; k < sizeof all / sizeof *all; k++)
            free(said(all[k], bad[i]));
}

/* One that waits for a file for ever, as on a dead file server: it is ended and named, and the
 * others come to their end. */
static void hung(void **state)
{
    FILE              *file = tmpfile();
    struct task_output out = { fileno(file) };
    json_t            *request = json_pack("{s:i}", "id", 0);
    char              *text = xcalloc(1, 65536), *fifo = xasprintf("%s/etc/machine-id", root);

    (void)state;
    put("/etc/machine-id", "");
    assert_int_equal(unlink(fifo), 0);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    setenv(TEST_SWITCH_ROOT, root, 1);
    assert_int_equal(checkup_run(request, &out), 0);
    unsetenv(TEST_SWITCH_ROOT);
    rewind(file);
    text[fread(text, 1, 65535, file)] = '\0';
    if (strstr(text, "\"check\":\"names\",\"value\":\"this check was not finished after 8 s\"") ==
            NULL ||
        strstr(text, "\"checked\":\"names\"") != NULL ||
        strstr(text, "\"checked\":\"interfaces\"") == NULL)
        fail_msg("%s", text);
    assert_int_equal(unlink(fifo), 0);
    fclose(file);
    json_decref(request);
    free(fifo);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(driver),        cmocka_unit_test(gpu_errors), cmocka_unit_test(updates),
        cmocka_unit_test(the_kernels_log),
        cmocka_unit_test(cgroup_limits), cmocka_unit_test(interfaces), cmocka_unit_test(files),
        cmocka_unit_test(cold),          cmocka_unit_test(python),     cmocka_unit_test(names),
        cmocka_unit_test(bad_requests),  cmocka_unit_test(hung),       cmocka_unit_test(sshd),
    };

    return cmocka_run_group_tests(tests, make_root, remove_root);
}

/* test_environ.c - what of this process's environment goes to the ranks
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
#include <unistd.h>

#include <cmocka.h>

#include "log.h"
#include "plan/environ.h"
#include "plan/environ_kept.h"
#include "xalloc.h"

/* Each test runs in a fresh directory that has a "home" and a "work", the
 * latter being the current one. */
static char top[] = "/tmp/test_environ.XXXXXX";
static char home_variable[64];
static char warning[512];

static void keep_warning(const char *line, size_t size, void *arg)
{
    (void)arg;
    snprintf(warning, sizeof warning, "%.*s", (int)size, line);
}

static int set_up(void **state)
{
    (void)state;
    strcpy(top + strlen(top) - 6, "XXXXXX");
    warning[0] = '\0';
    if (mkdtemp(top) == NULL || chdir(top) < 0 || mkdir("home", 0700) < 0 ||
        mkdir("work", 0700) < 0 || chdir("work") < 0)
        return -1;
    snprintf(home_variable, sizeof home_variable, "HOME=%s/home", top);
    return 0;
}

static int tear_down(void **state)
{
    static const char *const files[] = {
        "home/.deepspeed_env", "work/.deepspeed_env", "work/other", "home/other", "home", "work"
    };
    size_t i;

    (void)state;
    if (chdir(top) < 0)
        return -1;
    for (i = 0; i < sizeof files / sizeof *files; i++)
        remove(files[i]);
    return rmdir(top);
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

/* The variables, one a line. Caller frees. */
static char *joined(const struct strlist *env)
{
    char  *text = xstrdup(""), *more;
    size_t i;

    for (i = 0; i < env->count; i++, text = more) {
        more = xasprintf("%s%s\n", text, env->item[i]);
        free(text);
    }
    return text;
}

static void check(const struct options *options, const char *const *here, const char *cwd,
                  bool local_only, const char *expected)
{
    struct strlist env;
    struct error   err = { "" };
    char          *got;

    if (environ_collect(options, (char *const *)here, cwd, local_only, &env, &err) < 0)
        fail_msg("%s", err.text);
    got = joined(&env);
    assert_string_equal(got, expected);
    free(got);
    strlist_clear(&env);
}

static void check_refused(const struct options *options, const char *const *here,
                          const char *why)
{
    struct strlist env;
    struct error   err = { "" };

    assert_int_equal(environ_collect(options, (char *const *)here, "/w", false, &env, &err),
                     -1);
    assert_string_equal(err.text, why);
    assert_int_equal(env.count, 0);
    assert_null(env.item);
}

static void deepspeed_names(void **state)
{
    static const char *const here[] = {
        "HOME=/nonexistent",
        "NCCL_DEBUG=INFO",
        "NCCL_=",
        "PYTHONHASHSEED=1",
        "MLFLOW_X=a b\n\"$(c)\"'",
        "MV2_X=1",
        "UCX_NET_DEVICES=mlx",
        "NCCL_IB_HCA=mlx5",
        "AZUREML_RUN_TOKEN_X=1",
        "AZUREML_BLOB_ACCOUNT_KEY=k",
        "MASTER_HOST=m",
        "PATH=/bin",
        "LD_LIBRARY_PATH=/lib",
        "PATHS=no",
        "CUDA_VISIBLE_DEVICES=0",
        "HF_TOKEN=no",
        "OMP_NUM_THREADS=1",
        "OMP_PROC_BIND=no",
        "ACCELERATE_USE_FSDP=true",
        "HOROVOD_TIMELINE=t",
        "OMPI_MCA_btl=tcp,self",
        "OMPI_MCA_ess_base_vpid=no",
        "OMPI_MCA_orte_num_nodes=no",
        "OMPI_COMM_WORLD_RANK=no",
        "A_NCCL=no",
        "nccl_x=no",
        "no equals sign",
        "=no name",
        NULL,
    };
    struct options options = { 0 };

    (void)state;
    check(&options, here, "/w", false,
          "NCCL_DEBUG=INFO\nNCCL_=\nPYTHONHASHSEED=1\nMLFLOW_X=a b\n\"$(c)\"'\nMV2_X=1\n"
          "UCX_NET_DEVICES=mlx\nNCCL_IB_HCA=mlx5\nAZUREML_RUN_TOKEN_X=1\n"
          "AZUREML_BLOB_ACCOUNT_KEY=k\nMASTER_HOST=m\nPATH=/bin\nLD_LIBRARY_PATH=/lib\n"
          "OMP_NUM_THREADS=1\nACCELERATE_USE_FSDP=true\nHOROVOD_TIMELINE=t\n"
          "OMPI_MCA_btl=tcp,self\nPYTHONPATH=/w\n");
}

/* They take nothing that describes this machine, and --env of one name wins. */
static void patterns_of_names(void **state)
{
    static const char *const here[] = { "HF_TOKEN=x", "HF_HOME=/h", "HFX=1", "HOME=/root",
                                        "SLURM_PROCID=3", "SSH_AUTH_SOCK=/s", "TMPDIR=/t",
                                        "OMPI_MCA_btl=tcp", "OMPI_MCA_ess=no",
                                        "OMPI_COMM_WORLD_RANK=3",
                                        "WANDB_MODE=a\nb", "=no name", "no equals sign", NULL };
    struct options           options = { .command = COMMAND_EXEC };

    (void)state;
    strlist_add(&options.env, "HF_HOME=/mine");
    strlist_add(&options.env, "HF_*");
    check(&options, here, "/w", false, "HF_TOKEN=x\nHF_HOME=/mine\n");
    strlist_clear(&options.env);
    strlist_add(&options.env, "*");
    check(&options, here, "/w", false,
          "HF_TOKEN=x\nHF_HOME=/h\nHFX=1\nOMPI_MCA_btl=tcp\nWANDB_MODE=a\nb\n");
    strlist_clear(&options.env);
    strlist_add(&options.env, "-HF_T*"); /* whatever the order */
    strlist_add(&options.env, "*");
    strlist_add(&options.env, "-WANDB_MODE");
    strlist_add(&options.env, "-OMPI_*");
    check(&options, here, "/w", false, "HFX=1\nHF_HOME=/h\n");
    strlist_add(&options.env, "HF_TOKEN"); /* by name all the same */
    check(&options, here, "/w", false, "HFX=1\nHF_HOME=/h\nHF_TOKEN=x\n");
    strlist_clear(&options.env);
    strlist_add(&options.env, "[HW]?*_*E");
    check(&options, here, "/w", false, "HF_HOME=/h\nWANDB_MODE=a\nb\n");
    strlist_clear(&options.env);
    strlist_add(&options.env, "HOM?");
    check(&options, here, "/w", false, "");
    strlist_clear(&options.env);
    strlist_add(&options.env, "A=*"); /* a value, no pattern */
    check(&options, here, "/w", false, "A=*\n");
    strlist_clear(&options.env);
}

static void what_scripts_miss_is_named(void **state)
{
    static const char *const here[] = { "HF_TOKEN=x", "https_proxy=p", "NO_PROXY=n", "PATH=/bin",
                                        "CUDA_VISIBLE_DEVICES=0", "CUDA_HOME=/c", "EDITOR=vi",
                                        "WANDB_API_KEY=k", "HOME=/root", NULL };
    struct strlist           passed = { 0 }, kept = { 0 };
    char                    *names;

    (void)state;
    env_set(&passed, "PATH", "/bin");
    env_set(&passed, "WANDB_API_KEY", "other");
    environ_kept((char *const *)here, &passed, &kept);
    names = joined(&kept);
    assert_string_equal(names, "HF_TOKEN\nhttps_proxy\nNO_PROXY\nCUDA_HOME\n");
    free(names);
    strlist_clear(&passed);
    strlist_clear(&kept);
}

static void held_back_under_aisc(void **state)
{
    static const char *const here[] = { "AISC_JOB_NAME=j",     "NCCL_IB_HCA=mlx5",
                                        "UCX_NET_DEVICES=mlx", "NCCL_IB_HCA_X=1",
                                        "UCX_NET=1",           NULL };
    struct options           options = { 0 };

    (void)state;
    check(&options, here, NULL, false, "NCCL_IB_HCA_X=1\nUCX_NET=1\n");
    check(
        &options, here, NULL, true,
        "AISC_JOB_NAME=j\nNCCL_IB_HCA=mlx5\nUCX_NET_DEVICES=mlx\nNCCL_IB_HCA_X=1\nUCX_NET=1\n");
}

static void python_path(void **state)
{
    static const char *const some[] = { "PYTHONPATH=/a:/b", NULL };
    static const char *const empty[] = { "PYTHONPATH=", NULL };
    static const char *const none[] = { NULL };
    struct options           options = { 0 };

    (void)state;
    check(&options, some, "/w", false, "PYTHONPATH=/w:/a:/b\n");
    check(&options, some, NULL, false, "PYTHONPATH=/a:/b\n");
    check(&options, empty, "/w", false, "PYTHONPATH=/w\n");
    check(&options, none, "/w", false, "PYTHONPATH=/w\n");
}

static void all_of_it_on_this_machine(void **state)
{
    static const char *const here[] = { "HF_TOKEN=x", "BASH_FUNC_f%%=() { :; }",
                                        "PYTHONPATH=/a", NULL };
    struct options           options = { 0 };

    (void)state;
    check(&options, here, "/w", true,
          "HF_TOKEN=x\nBASH_FUNC_f%%=() { :; }\nPYTHONPATH=/w:/a\n");
}

/* pdsh sends nothing by itself. */
static void exec_sends_what_is_asked_for(void **state)
{
    static const char *const here[] = { "PATH=/bin", "NCCL_DEBUG=INFO", NULL };
    struct options           options = { .command = COMMAND_EXEC };

    (void)state;
    write_file(".deepspeed_env", "A=1\n");
    strlist_add(&options.env, "NCCL_DEBUG");
    check(&options, here, "/w", false, "NCCL_DEBUG=INFO\n");
    strlist_clear(&options.env);
}

static void deepspeed_env_file(void **state)
{
    const char *const here[] = { home_variable, "NCCL_DEBUG=WARN", NULL };
    const char *const named[] = { home_variable, "DS_ENV_FILE=other", NULL };
    const char *const empty[] = { home_variable, "DS_ENV_FILE=", NULL };
    char             *absolute = xasprintf("DS_ENV_FILE=%s/work/other", top);
    const char *const full[] = { home_variable, absolute, NULL };
    const char *const missing[] = { home_variable, "DS_ENV_FILE=nowhere", NULL };
    struct options    options = { 0 };

    (void)state;
    check(&options, here, NULL, false, "NCCL_DEBUG=WARN\n");
    write_file("../home/.deepspeed_env", "A=home\nB=home\nNCCL_DEBUG=INFO\n");
    check(&options, here, NULL, false, "NCCL_DEBUG=INFO\nA=home\nB=home\n");
    write_file(".deepspeed_env", "A=work\n");
    check(&options, here, NULL, false, "NCCL_DEBUG=INFO\nA=work\nB=home\n");
    write_file("other", "C=other\n");
    check(&options, named, NULL, false, "C=other\n");
    check(&options, full, NULL, false, "C=other\n");
    check(&options, empty, NULL, false, "");
    assert_string_equal(warning, "");
    check(&options, missing, NULL, false, "");
    assert_string_equal(warning, "muster: warning: DS_ENV_FILE=nowhere: no such file in ~ or "
                                 "this directory; no variables were read\n");
    write_file(".deepspeed_env", "A=1\n# fine\nbad line\n");
    check_refused(&options, here, "./.deepspeed_env:3: 'bad line' has no '=' (NAME=value)");
    free(absolute);
}

static void file_lines(void **state)
{
    static const struct {
        const char *text, *env;
    } row[] = {
        { "", "" },
        { "A=1", "A=1\n" },
        { "\n  \n# c\n  #A=1\n  A=1\r\n", "A=1\n" },
        { "\xef\xbb\xbf"
          "A=1\n",
          "A=1\n" },
        { "export A=1\nexport\tB=2\nexported=3\n", "A=1\nB=2\nexported=3\n" },
        { "A= 1 2 \n", "A=1 2\n" },
        { "A=b=c#d # e\n", "A=b=c#d # e\n" },
        { "A=\n", "A=\n" },
        { "A=\"x y \"\n", "A=x y \n" },
        { "A=\"\"\n", "A=\n" },
        { "A=\"\nB=\"x\nC=x\"\nD='x'\nE=\"\"x\"\"\n", "A=\"\nB=\"x\nC=x\"\nD='x'\nE=\"x\"\n" },
        { "A=$HOME`id`\\n\xff\n", "A=$HOME`id`\\n\xff\n" },
        { "A=1\nA=2\n", "A=2\n" },
        { "1A=1\n", NULL },
        { "A.B=1\n", NULL },
        { "=1\n", NULL },
        { "A\n", NULL },
        { "export =1\n", NULL },
        { "A B=1\n", NULL },
        { "A =1\n", NULL },
        { "\xc3\x84=1\n", NULL },
    };
    struct strlist env = { 0 };
    struct error   err;
    size_t         i;
    int            rc;
    char          *got;

    (void)state;
    for (i = 0; i < sizeof row / sizeof *row; i++) {
        rc = environ_parse_file("f", row[i].text, strlen(row[i].text), &env, &err);
        assert_int_equal(rc, row[i].env != NULL ? 0 : -1);
        got = joined(&env);
        if (row[i].env != NULL)
            assert_string_equal(got, row[i].env);
        free(got);
        strlist_clear(&env);
    }
    assert_int_equal(environ_parse_file("f", "\nA-B=1", 6, &env, &err), -1);
    assert_string_equal(err.text,
                        "f:2: 'A-B' is not the name of a variable (letters, digits, '_')");
    assert_int_equal(environ_parse_file("f", "A=\0x", 4, &env, &err), -1);
    assert_string_equal(err.text, "f:1: contains a NUL byte, which no variable can hold");
}

static void file_bounds(void **state)
{
    char          *text = NULL;
    size_t         size;
    FILE          *out = open_memstream(&text, &size);
    struct strlist env = { 0 };
    struct error   err;
    int            i;

    (void)state;
    for (i = 0; i < ENVIRON_NAMES_MAX; i++)
        fprintf(out, "A%d=\n", i);
    fflush(out);
    assert_int_equal(environ_parse_file("f", text, size, &env, &err), 0);
    assert_int_equal(environ_parse_file("f", "A7=x", 4, &env, &err), 0);
    assert_int_equal(environ_parse_file("f", "B=x", 3, &env, &err), -1);
    assert_string_equal(err.text, "f:1: more than 8192 variables");
    fclose(out);
    free(text);
    strlist_clear(&env);
}

static void options_come_last(void **state)
{
    const char *const here[] = { home_variable, "NCCL_DEBUG=WARN", "BASH_FUNC_f%%=() { :; }",
                                 "HF_TOKEN=t=1 ", NULL };
    struct options    options = { 0 };

    (void)state;
    write_file(".deepspeed_env", "A=file\nB=file\nC=file\n");
    write_file("other", "B=other\nC=other\n");
    strlist_add(&options.env_files, "other");
    strlist_add(&options.env, "C= option \"x\"\n");
    strlist_add(&options.env, "D=");
    strlist_add(&options.env, "HF_TOKEN");
    strlist_add(&options.env, "BASH_FUNC_f%%");
    check(&options, here, NULL, false,
          "NCCL_DEBUG=WARN\nA=file\nB=other\nC= option \"x\"\n\nD=\nHF_TOKEN=t=1 \n"
          "BASH_FUNC_f%%=() { :; }\n");
    strlist_add(&options.env, "GONE");
    check_refused(&options, here,
                  "--env GONE: not set in this environment; write --env GONE=VALUE");
    strlist_clear(&options.env);
    strlist_add(&options.env, "A-B=secret");
    check_refused(&options, here,
                  "--env A-B: 'A-B' is not the name of a variable (letters, digits, '_')");
    strlist_clear(&options.env);
    strlist_add(&options.env_files, "nowhere");
    check_refused(&options, here, "nowhere: No such file or directory");
    strlist_clear(&options.env_files);
}

#define TEST_WITH_FILES(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_WITH_FILES(deepspeed_names),
        TEST_WITH_FILES(patterns_of_names),
        cmocka_unit_test(what_scripts_miss_is_named),
        TEST_WITH_FILES(held_back_under_aisc),
        TEST_WITH_FILES(python_path),
        TEST_WITH_FILES(all_of_it_on_this_machine),
        TEST_WITH_FILES(exec_sends_what_is_asked_for),
        TEST_WITH_FILES(deepspeed_env_file),
        cmocka_unit_test(file_lines),
        cmocka_unit_test(file_bounds),
        TEST_WITH_FILES(options_come_last),
    };

    log_sink(keep_warning, NULL);
    return cmocka_run_group_tests_name("environ", tests, NULL, NULL);
}

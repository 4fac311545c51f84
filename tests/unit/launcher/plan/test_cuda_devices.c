/* test_cuda_devices.c - CUDA_VISIBLE_DEVICES, as CUDA reads it
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "plan/cuda_devices.h"

static void reads_as_cuda_does(void **state)
{
    static const struct {
        const char *text;
        int         gpus, rc;
        const char *expected;
    } cases[] = {
        { "2,3", 0, 0, "2,3" },
        { "3,2", 4, 0, "3,2" },
        { "0,1,", 0, 0, "0,1" },
        { "0,-1,1", 0, 0, "0" },
        { "", 8, 0, "" },
        { "-1", 8, 0, "" },
        { " 0 , 1", 0, 0, "0,1" },
        { "007", 0, 0, "7" },
        { "0,,1", 0, 0, "0" },
        { "0,8,1", 8, 1, "0" },
        { "0,8,1", 0, 0, "0,8,1" },
        { "0,x,1", 0, 1, "0" },
        { "all", 8, 1, "" },
        { "NoDevFiles", 8, 1, "" },
        { "0,+1", 0, 1, "0" },
        { "99999999999999999999", 0, 1, "" },
        { "GPU-8932f937,GPU-1", 1, 0, "GPU-8932f937,GPU-1" },
        { "MIG-GPU-8932f937/1/0,MIG-2", 0, 0, "MIG-GPU-8932f937/1/0,MIG-2" },
        { "gpu-1", 0, 1, "" },
        { "GPU-1,0", 0, 0, "GPU-1,0" },
    };
    struct error err;
    char        *variable;
    size_t       i;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct strlist devices = { 0 };
        int            rc = cuda_devices_read(cases[i].text, cases[i].gpus, &devices, &err);

        variable = cuda_devices_variable(&devices);
        if (rc != cases[i].rc ||
            strcmp(variable + strlen("CUDA_VISIBLE_DEVICES="), cases[i].expected) != 0)
            fail_msg("'%s': %d %s", cases[i].text, rc, variable);
        free(variable);
        strlist_clear(&devices);
    }
}

static void refuses_a_gpu_twice(void **state)
{
    static const char *const cases[] = { "0,0", "1,01", "GPU-1,GPU-1", "0,1,2,1" };
    struct error             err;
    size_t                   i;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct strlist devices = { 0 };

        assert_int_equal(cuda_devices_read(cases[i], 0, &devices, &err), -1);
        assert_non_null(strstr(err.text, "twice"));
        strlist_clear(&devices);
    }
}

static void knows_the_kinds(void **state)
{
    static const struct {
        const char *text;
        bool        are_numbers, are_first;
    } cases[] = {
        { "0,1,2", true, true }, { "1,0", true, false },      { "1,2", true, false },
        { "", true, true },      { "GPU-1", false, false },   { "0,MIG-1", false, false },
    };
    struct error err;
    size_t       i;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct strlist devices = { 0 };

        assert_int_equal(cuda_devices_read(cases[i].text, 0, &devices, &err), 0);
        assert_int_equal(cuda_devices_are_numbers(&devices), cases[i].are_numbers);
        assert_int_equal(cuda_devices_are_first(&devices), cases[i].are_first);
        strlist_clear(&devices);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_as_cuda_does),
        cmocka_unit_test(refuses_a_gpu_twice),
        cmocka_unit_test(knows_the_kinds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

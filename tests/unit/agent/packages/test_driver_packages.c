/* test_driver_packages.c - which packages are the NVIDIA driver, and what apt needs to have them
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "packages/apt_sources.h"
#include "packages/driver_packages.h"

static void distributions(void **state)
{
    static const struct {
        const char      *text, *name, *codename;
        enum driver_from from;
        bool             has_firmware;
    } rows[] = {
        { "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nVERSION_ID=\"12\"\n"
          "VERSION_CODENAME=bookworm\nID=debian\n", "Debian GNU/Linux 12 (bookworm)", "bookworm",
          DRIVER_FROM_DEBIAN, true },
        { "ID=debian\nVERSION_ID='11'\nVERSION_CODENAME=bullseye", "debian", "bullseye",
          DRIVER_FROM_DEBIAN, false },
        { "ID=debian\nVERSION_CODENAME=sid\n", "debian", "sid", DRIVER_FROM_DEBIAN, true },
        { "ID=ubuntu\nID_LIKE=debian\n", "ubuntu", "", DRIVER_FROM_UBUNTU, true },
        { "ID=pop\nID_LIKE=\"ubuntu debian\"\n", "pop", "", DRIVER_FROM_UBUNTU, true },
        { "ID=other\nID_LIKE=\"debian\"\n", "other", "", DRIVER_FROM_NOWHERE, true },
        { "ID=kubuntu\nID_LIKE=\"ubuntus xubuntu\"\n", "kubuntu", "", DRIVER_FROM_NOWHERE, true },
        { "XID=debian\n#ID=debian\nID debian\n", "this distribution", "", DRIVER_FROM_NOWHERE,
          true },
        { "", "this distribution", "", DRIVER_FROM_NOWHERE, true },
        { "ID=\"", "this distribution", "", DRIVER_FROM_NOWHERE, true },
        { "\n\nID", "this distribution", "", DRIVER_FROM_NOWHERE, true },
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct driver_packages packages = { 0 };

        driver_packages_read(rows[i].text, &packages);
        assert_string_equal(packages.name, rows[i].name);
        assert_string_equal(packages.codename, rows[i].codename);
        assert_int_equal(packages.from, rows[i].from);
        assert_int_equal(strstr(packages.components, "non-free-firmware") != NULL,
                         rows[i].has_firmware);
    }
}

static void the_newest_for_servers(void **state)
{
    static const struct {
        const char *text, *version, *newest;
    } rows[] = {
        { "nvidia-driver-470-server\nnvidia-driver-1050-server\nnvidia-driver-550-server\n", NULL,
          "1050" },
        { "nvidia-driver-470-server\nnvidia-driver-550-server\n", "470", "470" },
        { "nvidia-driver-470-server\n", "47", "" },
        { "nvidia-driver-570\nnvidia-driver-580-server-open\nnvidia-driver-server\n", NULL, "" },
        { "nvidia-driver-local-repo\nxnvidia-driver-570-server\n", NULL, "" },
        { "nvidia-driver-99999999999999999999-server\nnvidia-driver-5-server", NULL, "5" },
        { "nvidia-driver-5", NULL, "" },
        { "", NULL, "" },
    };
    char   newest[16];
    size_t i;

    (void)state;
    for (i = 0; i < sizeof rows / sizeof *rows; i++) {
        driver_packages_newest(rows[i].text, rows[i].version, newest);
        assert_string_equal(newest, rows[i].newest);
    }
}

/* Only Debian's own entries, as they are; each with what it lacks. */
static void lines_with_more_components(void **state)
{
    static const struct {
        const char *text, *result;
    } rows[] = {
        { "deb http://d/debian bookworm main\n",
          "deb http://d/debian bookworm contrib non-free\n" },
        { " deb\t[signed-by=/k arch=amd64] http://d bookworm-updates  main contrib # x\n",
          " deb\t[signed-by=/k arch=amd64] http://d bookworm-updates non-free\n" },
        { "deb http://d bookworm-security main\ndeb http://d bookworm/updates main",
          "deb http://d bookworm-security contrib non-free\n"
          "deb http://d bookworm/updates contrib non-free\n" },
        { "deb http://d bookworm main non-free contrib\n", "" },
        { "deb-src http://d bookworm main\n#deb http://d bookworm main\n", "" },
        { "deb http://d bookworm-pgdg main\ndeb http://d trixie main\ndeb http://d bookworm x\n",
          "" },
        { "deb http://d ./\ndeb\ndeb \ndebx a bookworm main\ndeb [x http://d bookworm main\n", "" },
        { "deb [x]\n", "" },
        { "deb bookworm bookworm main\n", "deb bookworm bookworm contrib non-free\n" },
        { "", "" },
    };
    size_t i;
    char  *text;

    (void)state;
    for (i = 0; i < sizeof rows / sizeof *rows; i++) {
        text = apt_sources_with(rows[i].text, false, "bookworm", "contrib non-free");
        assert_string_equal(text, rows[i].result);
        free(text);
    }
}

static void stanzas_with_more_components(void **state)
{
    static const struct {
        const char *text, *result;
    } rows[] = {
        { "Types: deb\nURIs: http://d\nSuites: bookworm bookworm-updates\nComponents: main\n",
          "Types: deb\nURIs: http://d\nSuites: bookworm bookworm-updates\n"
          "Components: contrib non-free\n\n" },
        { "# c\ntypes: deb deb-src\n# d\nuris: a\nsuites: x bookworm\ncomponents: main\n contrib\n"
          "Signed-By:\n -----BEGIN\n .\n -----END",
          "types: deb deb-src\nuris: a\nsuites: x bookworm\n"
          "Signed-By:\n -----BEGIN\n .\n -----END\n"
          "Components: non-free\n\n" },
        { "Types: deb-src\nSuites: bookworm\nComponents: main\n\n"
          "Types: deb\nSuites: trixie\nComponents: main\n\n\n"
          "Types: deb\nSuites: bookworm\nComponents: main\n",
          "Types: deb\nSuites: bookworm\nComponents: contrib non-free\n\n" },
        { "Types: deb\nSuites: bookworm\nComponents: main\nEnabled: no\n", "" },
        { "Types: deb\nSuites: bookworm\nComponents: main contrib non-free\n", "" },
        { "Types: deb\nSuites: bookworm\n\nComponents: main\n", "" },
        { "Types: deb\nSuites: bookworm\nComponents: other\n", "" },
        { "Types\n:\nSuites:", "" },
        { "", "" },
    };
    size_t i;
    char  *text;

    (void)state;
    for (i = 0; i < sizeof rows / sizeof *rows; i++) {
        text = apt_sources_with(rows[i].text, true, "bookworm", "contrib non-free");
        assert_string_equal(text, rows[i].result);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(distributions),
        cmocka_unit_test(the_newest_for_servers),
        cmocka_unit_test(lines_with_more_components),
        cmocka_unit_test(stanzas_with_more_components),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_cloud.c - what a metadata service may say, and whom to believe
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cloud/cloud.h"

#define NOW    1795335600 /* 2026-11-22T08:20:00Z */
#define AT(s)  (NOW + (s))
#define EVENT(type, who, when)                                                                  \
    "{\"Events\":[{\"EventType\":\"" type "\",\"Resources\":[" who "],\"NotBefore\":\"" when "\"}]}"
#define SOON "Sun, 22 Nov 2026 08:20:30 GMT"

static const struct {
    const char     *cloud;
    int             status;
    const char     *body;
    enum cloud_says says;
    int64_t         at_s;
    const char     *action;
} table[] = {
    { "alibaba", 200, "2026-11-22T08:25:00Z", CLOUD_GOES, AT(300), "" },
    { "alibaba", 200, "2026-11-22T08:25:00Z\r\n", CLOUD_GOES, AT(300), "" },
    { "alibaba", 404, "<html>404</html>", CLOUD_SAFE, 0, "" },
    { "alibaba", 200, "", CLOUD_SAFE, 0, "" },
    { "alibaba", 200, "\n", CLOUD_SAFE, 0, "" },
    { "volcengine", 200, "2026-11-22T08:25:00Z", CLOUD_GOES, AT(300), "" },
    { "tencent", 200, "2026-11-22 16:25:00", CLOUD_GOES, AT(300), "" },
    { "tencent", 404, "", CLOUD_SAFE, 0, "" },
    { "aws", 200, "{\"action\":\"terminate\",\"time\":\"2026-11-22T08:22:00Z\"}", CLOUD_GOES,
      AT(120), "terminate" },
    { "aws", 404, "", CLOUD_SAFE, 0, "" },
    { "gcp", 200, "TRUE", CLOUD_GOES, 0, "" },
    { "gcp", 200, "FALSE\n", CLOUD_SAFE, 0, "" },
    { "azure", 200, "{\"Events\":[]}", CLOUD_SAFE, 0, "" },
    { "azure", 200, EVENT("Preempt", "\"vm0\",\"vm1\"", SOON), CLOUD_GOES, AT(30),
      "Preempt" },
    { "azure", 200, EVENT("Preempt", "\"vm2\"", SOON), CLOUD_SAFE, 0, "" },
    { "azure", 200, EVENT("Reboot", "\"vm1\"", SOON), CLOUD_SAFE, 0, "" },
    /* times that are not believed */
    { "alibaba", 200, "2026-11-22T08:20:00Z", CLOUD_UNKNOWN, 0, "" },
    { "alibaba", 200, "2020-01-01T00:00:00Z", CLOUD_UNKNOWN, 0, "" },
    { "alibaba", 200, "2026-11-23T08:20:01Z", CLOUD_UNKNOWN, 0, "" },
    { "tencent", 200, "2026-11-22 08:25:00", CLOUD_UNKNOWN, 0, "" },
    { "azure", 200, EVENT("Preempt", "\"vm1\"", "Sun, 22 Nov 2026 08:19:00 GMT"),
      CLOUD_UNKNOWN, 0, "Preempt" },
    /* no answers */
    { "alibaba", 500, "2026-11-22T08:25:00Z", CLOUD_UNKNOWN, 0, "" },
    { "alibaba", 302, "2026-11-22T08:25:00Z", CLOUD_UNKNOWN, 0, "" },
    { "alibaba", 401, "", CLOUD_UNKNOWN, 0, "" },
    { "alibaba", 200, "<html>please log in</html>", CLOUD_UNKNOWN, 0, "" },
    { "alibaba", 200, "2026-11-22T08:25:00", CLOUD_UNKNOWN, 0, "" },
    { "alibaba", 200, "2026-11-22T08:25:00Zx", CLOUD_UNKNOWN, 0, "" },
    { "alibaba", 200, "2026-11-22 08:25:00Z", CLOUD_UNKNOWN, 0, "" },
    { "alibaba", 200, "2026-02-30T08:25:00Z", CLOUD_UNKNOWN, 0, "" },
    { "alibaba", 200, "2026-11-22T24:25:00Z", CLOUD_UNKNOWN, 0, "" },
    { "alibaba", 200, "2026-11-22T08:-5:00Z", CLOUD_UNKNOWN, 0, "" },
    { "alibaba", 200, "+026-11-22T08:25:00Z", CLOUD_UNKNOWN, 0, "" },
    { "aws", 200, "{\"action\":\"terminate\"}", CLOUD_UNKNOWN, 0, "terminate" },
    { "aws", 200, "{\"time\":17}", CLOUD_UNKNOWN, 0, "" },
    { "aws", 200, "{\"time\":\"2026-11-22T08:22:00Z\"", CLOUD_UNKNOWN, 0, "" },
    { "aws", 200, "[]", CLOUD_UNKNOWN, 0, "" },
    { "gcp", 404, "", CLOUD_UNKNOWN, 0, "" },
    { "gcp", 200, "true", CLOUD_UNKNOWN, 0, "" },
    { "gcp", 200, "", CLOUD_UNKNOWN, 0, "" },
    { "azure", 200, "", CLOUD_UNKNOWN, 0, "" },
    { "azure", 200, "{\"Events\":{}}", CLOUD_UNKNOWN, 0, "" },
    { "azure", 404, "", CLOUD_UNKNOWN, 0, "" },
    { "azure", 200, EVENT("Preempt", "\"vm1\"", ""), CLOUD_UNKNOWN, 0, "Preempt" },
    { "azure", 200, "{\"Events\":[1,null,{\"EventType\":[],\"Resources\":3}]}", CLOUD_SAFE, 0,
      "" },
};

static void answers(void **state)
{
    struct cloud_notice notice;
    struct error        err;
    enum cloud_says     says;
    size_t              i;

    (void)state;
    for (i = 0; i < sizeof table / sizeof *table; i++) {
        err.text[0] = '\0';
        says = cloud_read(cloud_by_name(table[i].cloud), table[i].status, table[i].body,
                          strlen(table[i].body), "vm1", NOW, &notice, &err);
        if (says != table[i].says || (says == CLOUD_UNKNOWN) != (err.text[0] != '\0'))
            fail_msg("%s: %d, not %d: %s", table[i].cloud, says, table[i].says, table[i].body);
        assert_int_equal(notice.at_s, table[i].at_s);
        assert_string_equal(notice.action, table[i].action);
    }
}

/* It may be this VM that is taken away. */
static void no_name(void **state)
{
    const struct cloud *azure = cloud_by_name("azure");
    struct cloud_notice notice;
    struct error        err;
    const char          preempt[] = EVENT("Preempt", "\"vm1\",\"\"", SOON);
    const char          reboot[] = EVENT("Reboot", "\"vm1\"", SOON);

    (void)state;
    assert_int_equal(cloud_read(azure, 200, preempt, strlen(preempt), "", NOW, &notice, &err),
                     CLOUD_UNKNOWN);
    assert_non_null(strstr(err.text, "the name of this VM"));
    assert_int_equal(cloud_read(azure, 200, reboot, strlen(reboot), "", NOW, &notice, &err),
                     CLOUD_SAFE);
}

/* 10 MB do not even come here; what is too long for its form is not looked at. */
static void long_answers(void **state)
{
    char                body[300];
    struct cloud_notice notice;
    struct error        err;

    (void)state;
    memset(body, ' ', sizeof body);
    memcpy(body, "2026-11-22T08:25:00Z", 20);
    assert_int_equal(cloud_read(cloud_by_name("alibaba"), 200, body, sizeof body, "", NOW,
                                &notice, &err), CLOUD_UNKNOWN);
    assert_string_equal(err.text, "its answer is longer than 256 bytes");
}

static void firmware(void **state)
{
    (void)state;
    assert_string_equal(cloud_by_firmware("Alibaba Cloud\n", "")->name, "alibaba");
    assert_string_equal(cloud_by_firmware("Google", "No Asset Tag\n")->name, "gcp");
    assert_string_equal(cloud_by_firmware("Microsoft Corporation\n",
                                          "7783-7084-3265-9085-8269-3286-77\n")->name, "azure");
    assert_null(cloud_by_firmware("Microsoft Corporation\n", "1\n")); /* Hyper-V on a laptop */
    assert_null(cloud_by_firmware("QEMU\n", ""));
    assert_null(cloud_by_firmware("", ""));
    assert_null(cloud_by_firmware("Google Inc", ""));
    assert_null(cloud_by_name("auto"));
}

static void urls(void **state)
{
    static const struct {
        const char *url, *address;
        int         port;
        const char *path;
    } rows[] = {
        { "http://127.0.0.1:8080/a/b?c", "127.0.0.1", 8080, "/a/b?c" },
        { "http://10.0.0.1", "10.0.0.1", 80, "/" },
        { "http://10.0.0.1/", "10.0.0.1", 80, "/" },
        { "http://localhost/", NULL, 0, NULL },
        { "http://10.0.0.1:0/", NULL, 0, NULL },
        { "http://10.0.0.1:99999/", NULL, 0, NULL },
        { "http://10.0.0.1:/", NULL, 0, NULL },
        { "http:///x", NULL, 0, NULL },
        { "https://10.0.0.1/", NULL, 0, NULL },
        { "http://10.0.0.1/a b", NULL, 0, NULL },
        { "http://10.0.0.1/\r\nX: y", NULL, 0, NULL },
        { "nonsense", NULL, 0, NULL },
        { "", NULL, 0, NULL },
    };
    struct cloud cloud;
    struct error err;
    char         room[64];
    size_t       i;

    (void)state;
    for (i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (cloud_by_url(&cloud, rows[i].url, room, sizeof room, &err) < 0) {
            if (rows[i].address != NULL)
                fail_msg("%s: %s", rows[i].url, err.text);
            continue;
        }
        assert_non_null(rows[i].address);
        assert_string_equal(cloud.address, rows[i].address);
        assert_int_equal(cloud.port, rows[i].port);
        assert_string_equal(cloud.path, rows[i].path);
    }
    memset(room, 'x', sizeof room);
    assert_int_equal(cloud_by_url(&cloud, "http://10.0.0.1/123456789012345678901234567890123456789"
                                  "0123456789", room, 60, &err), -1);
}

static void tokens(void **state)
{
    static const struct {
        const char *body, *word;
    } rows[] = {
        { "AQAEAL-x_y==", "AQAEAL-x_y==" }, { "my.vm-1\n", "my.vm-1" },
        { "", NULL }, { "a b", NULL }, { "x\r\nHost: elsewhere", NULL }, { "\x1b[31m", NULL },
    };
    char   word[CLOUD_FIRST_MAX + 1], large[CLOUD_FIRST_MAX + 1];
    size_t i;

    (void)state;
    for (i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (cloud_read_first(rows[i].body, strlen(rows[i].body), word) < 0)
            assert_null(rows[i].word);
        else
            assert_string_equal(word, rows[i].word);
    }
    memset(large, 'x', sizeof large);
    assert_int_equal(cloud_read_first(large, sizeof large, word), -1);
    assert_int_equal(cloud_read_first("a\0b", 3, word), -1);
}

/* One letter a round: G goes, H goes at another time, S safe, U unknown. */
static void twice(void **state)
{
    static const struct {
        const char *rounds;
        int         certain; /* from 0; -1: never */
    } rows[] = {
        { "SSGG", 3 }, { "G", -1 }, { "GSGSG", -1 }, { "GUG", -1 }, { "GHGH", -1 },
        { "GHH", 2 },  { "UUU", -1 },
    };
    size_t i, k;

    (void)state;
    for (i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct cloud_watch watch = { 0 };
        int                certain = -1;

        for (k = 0; rows[i].rounds[k] != '\0' && certain < 0; k++) {
            char                round = rows[i].rounds[k];
            struct cloud_notice notice = { .at_s = round == 'H' ? AT(60) : AT(300) };
            enum cloud_says     says = round == 'S'   ? CLOUD_SAFE
                                       : round == 'U' ? CLOUD_UNKNOWN : CLOUD_GOES;

            if (cloud_watch_take(&watch, says, &notice))
                certain = (int)k;
        }
        assert_int_equal(certain, rows[i].certain);
    }
}

static void classes(void **state)
{
    static const struct {
        const char *cloud, *body;
        bool        is_spot;
    } rows[] = {
        { "aws", "spot", true },           { "aws", "on-demand", false },
        { "gcp", "TRUE\n", true },         { "gcp", "FALSE", false },
        { "azure", "Spot", true },         { "azure", "Regular", false },
        { "tencent", "SPOTPAID", true },   { "tencent", "POSTPAID_BY_HOUR", false },
        { "tencent", "SPOTPAID2", false }, { "azure", "", false },
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(cloud_is_spot(cloud_by_name(rows[i].cloud), rows[i].body),
                         rows[i].is_spot);
    assert_null(cloud_by_name("alibaba")->class_path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers),  cmocka_unit_test(long_answers), cmocka_unit_test(firmware),
        cmocka_unit_test(urls),     cmocka_unit_test(tokens),       cmocka_unit_test(twice),
        cmocka_unit_test(no_name),  cmocka_unit_test(classes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

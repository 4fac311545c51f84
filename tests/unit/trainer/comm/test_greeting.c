/* test_greeting.c - only who has the secret of the run is taken for a rank, and only for that one
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
#include <openssl/core_names.h>
#include <openssl/evp.h>

#include "comm/greeting.h"

#define SIZE 4 /* ranks */

/* libcrypto's code of the same bytes. */
static void other_siphash(const unsigned char *key, const void *bytes, size_t size,
                          unsigned char *code)
{
    size_t           wanted = SIPHASH_CODE, got = 0;
    EVP_MAC         *mac = EVP_MAC_fetch(NULL, "SIPHASH", NULL);
    EVP_MAC_CTX     *context = EVP_MAC_CTX_new(mac);
    const OSSL_PARAM params[] = { OSSL_PARAM_construct_size_t(OSSL_MAC_PARAM_SIZE, &wanted),
                                  OSSL_PARAM_construct_end() };

    assert_int_equal(EVP_MAC_init(context, key, SIPHASH_KEY, params), 1);
    assert_int_equal(EVP_MAC_update(context, bytes, size), 1);
    assert_int_equal(EVP_MAC_final(context, code, &got, wanted), 1);
    assert_int_equal(got, wanted);
    EVP_MAC_CTX_free(context);
    EVP_MAC_free(mac);
}

static void test_siphash(void **state)
{
    unsigned char bytes[300], key[SIPHASH_KEY], own[SIPHASH_CODE], other[SIPHASH_CODE];
    size_t        size, i;

    (void)state;
    for (size = 0; size <= sizeof bytes; size++) {
        for (i = 0; i < sizeof bytes; i++)
            bytes[i] = (unsigned char)(i * 7919 + size);
        for (i = 0; i < sizeof key; i++)
            key[i] = (unsigned char)(255 - i * size);
        siphash(key, bytes, size, own);
        other_siphash(key, bytes, size, other);
        assert_memory_equal(own, other, sizeof own);
    }
}

/* The greetings of one connection. */
struct greeting {
    struct secret          secret;
    struct greeting_first  first;
    struct greeting_answer answer;
    unsigned char          body[SIZE], proof[GREETING_PROOF];
};

static struct greeting greet(enum greeting_purpose purpose)
{
    struct greeting g = { .body = { 0, 0, 1, 0 } };
    struct error    err;

    assert_int_equal(secret_make(&g.secret, &err), 0);
    assert_int_equal(greeting_begin(&g.first, purpose, 3, 1), 0);
    assert_true(greeting_is_for(&g.first, 1, SIZE));
    assert_int_equal(greeting_reply(&g.secret, &g.first, 12, &g.answer), 0);
    greeting_prove(&g.secret, &g.first, &g.answer, g.body, sizeof g.body, g.proof);
    return g;
}

static bool is_answer(const struct greeting *g)
{
    return greeting_is_answer(&g->secret, &g->first, &g->answer);
}

static bool is_proof(const struct greeting *g)
{
    return greeting_is_proof(&g->secret, &g->first, &g->answer, g->body, sizeof g->body, g->proof);
}

static void test_right(void **state)
{
    const struct greeting join = greet(GREETING_JOIN), report = greet(GREETING_REPORT);

    (void)state;
    assert_true(is_answer(&join) && is_proof(&join));
    assert_true(is_answer(&report) && is_proof(&report));
    assert_memory_not_equal(&join.first.nonce, &report.first.nonce, GREETING_NONCE);
    assert_memory_not_equal(&join.answer.nonce, &report.answer.nonce, GREETING_NONCE);
    assert_memory_not_equal(&join.secret, &report.secret, sizeof join.secret);
}

/* Each bit that one side sends is covered, but a proof of a report does not cover the answer. */
static void test_changed(void **state)
{
    size_t i;
    int    purpose;

    (void)state;
    for (purpose = GREETING_JOIN; purpose <= GREETING_REPORT; purpose++) {
        struct greeting g = greet((enum greeting_purpose)purpose);
        unsigned char  *bytes = (unsigned char *)&g;
        const size_t    before_answer = offsetof(struct greeting, answer);
        const size_t    before_body = offsetof(struct greeting, body);
        const size_t    nonce = before_answer + offsetof(struct greeting_answer, nonce);

        for (i = 0; i < 8 * (before_body + SIZE + GREETING_PROOF); i++) {
            const size_t at = i / 8;

            bytes[at] ^= (unsigned char)(1 << i % 8);
            assert_true(is_answer(&g) == (at >= before_body));
            if (at >= nonce && at < nonce + GREETING_NONCE)
                assert_true(is_proof(&g) == (purpose == GREETING_REPORT));
            else
                assert_true(is_proof(&g) == (at >= before_answer && at < before_body));
            bytes[at] ^= (unsigned char)(1 << i % 8);
        }
        assert_true(is_answer(&g) && is_proof(&g));
    }
}

/* What somebody has recorded is not right on another connection, nor in the other direction. */
static void test_recorded(void **state)
{
    struct greeting old = greet(GREETING_JOIN), g = old;

    (void)state;
    assert_int_equal(greeting_reply(&g.secret, &g.first, 12, &g.answer), 0);
    assert_true(is_answer(&g));
    assert_false(is_proof(&g)); /* to the called rank: the same caller and the same proof again */
    g = old;
    assert_int_equal(greeting_begin(&g.first, GREETING_JOIN, 3, 1), 0);
    assert_false(is_answer(&g)); /* to the caller: the same answer again */
    g = old;
    memcpy(g.proof, g.answer.proof, sizeof g.proof);
    assert_false(is_proof(&g));
    g = old;
    memcpy(g.answer.proof, g.proof, sizeof g.proof);
    assert_false(is_answer(&g));
}

static void test_is_for(void **state)
{
    static const struct {
        int  purpose, from, to;
        bool is_for;
    } rows[] = {
        { GREETING_JOIN, 2, 1, true },
        { GREETING_JOIN, 3, 1, true },
        { GREETING_JOIN, 1, 1, false }, /* only those with a higher number join by a call */
        { GREETING_JOIN, 0, 1, false },
        { GREETING_REPORT, 0, 1, true },
        { GREETING_REPORT, 1, 1, true }, /* a rank calls itself, too */
        { GREETING_REPORT, 3, 0, false },
        { GREETING_REPORT, 3, 2, false },
        { GREETING_REPORT, SIZE, 1, false },
        { GREETING_JOIN, INT32_MAX, 1, false },
        { GREETING_REPORT, -1, 1, false },
        { GREETING_JOIN, INT32_MIN, 1, false },
        { 0, 3, 1, false },
        { 3, 3, 1, false },
    };
    struct greeting_first first;
    size_t                i;

    (void)state;
    for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(greeting_begin(&first, (enum greeting_purpose)rows[i].purpose,
                                        rows[i].from, rows[i].to),
                         0);
        assert_true(greeting_is_for(&first, 1, SIZE) == rows[i].is_for);
        first.magic ^= 1;
        assert_false(greeting_is_for(&first, 1, SIZE));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_siphash),  cmocka_unit_test(test_right),
        cmocka_unit_test(test_changed),  cmocka_unit_test(test_recorded),
        cmocka_unit_test(test_is_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

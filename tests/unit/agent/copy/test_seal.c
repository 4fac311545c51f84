/* test_seal.c - sealed messages: only the next one of the other end opens
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "copy/seal.h"
#include "frame.h"

#define TEXT_BYTES 5

struct ends {
    struct seal      seal, open;
    struct evbuffer *wire;
    unsigned char    message[SEAL_MESSAGE_MAX];
    size_t           size;
    struct error     err;
};

static struct seal_link link_of(unsigned char key, uint32_t number)
{
    struct seal_link link = { .number = number };

    memset(link.key, key, sizeof link.key);
    memset(link.run, 7, sizeof link.run);
    return link;
}

static void begin_with(struct ends *ends, const struct seal_link *theirs,
                       enum seal_direction direction, unsigned char random)
{
    const struct seal_link link = link_of(1, 3);
    unsigned char          ask[SEAL_RANDOM_BYTES] = { 1 }, answer[SEAL_RANDOM_BYTES] = { 2 };

    ends->wire = evbuffer_new();
    seal_begin(&ends->seal, &link, SEAL_ASK, true, ask, answer);
    ask[1] = random;
    seal_begin(&ends->open, theirs, direction, false, ask, answer);
}

static struct ends *begin(void)
{
    const struct seal_link link = link_of(1, 3);
    struct ends           *ends = calloc(1, sizeof *ends);

    begin_with(ends, &link, SEAL_ASK, 0);
    return ends;
}

static void end(struct ends *ends)
{
    seal_end(&ends->seal);
    seal_end(&ends->open);
    evbuffer_free(ends->wire);
    free(ends);
}

static void put(struct ends *ends, const char *text)
{
    assert_int_equal(seal_put(&ends->seal, ends->wire, text, 1, text + 1, strlen(text) - 1,
                              &ends->err), 0);
}

static int take(struct ends *ends)
{
    return seal_take(&ends->open, ends->wire, ends->message, &ends->size, &ends->err);
}

static void takes(struct ends *ends, const char *text)
{
    assert_int_equal(take(ends), 1);
    assert_int_equal(ends->size, strlen(text));
    assert_memory_equal(ends->message, text, ends->size);
}

static void messages_arrive_in_order(void **state)
{
    struct ends *ends = begin();

    (void)state;
    assert_int_equal(take(ends), 0);
    put(ends, "first");
    put(ends, "other");
    takes(ends, "first");
    takes(ends, "other");
    assert_int_equal(take(ends), 0);
    end(ends);
}

static void the_largest_message_arrives(void **state)
{
    struct ends   *ends = begin();
    unsigned char *bytes = malloc(SEAL_MESSAGE_MAX);

    (void)state;
    memset(bytes, 'x', SEAL_MESSAGE_MAX);
    assert_int_equal(seal_put(&ends->seal, ends->wire, bytes, 13, bytes, SEAL_MESSAGE_MAX - 13,
                              &ends->err), 0);
    assert_int_equal(take(ends), 1);
    assert_int_equal(ends->size, SEAL_MESSAGE_MAX);
    assert_memory_equal(ends->message, bytes, SEAL_MESSAGE_MAX);
    assert_int_equal(seal_put(&ends->seal, ends->wire, bytes, 13, bytes, SEAL_MESSAGE_MAX,
                              &ends->err), -1);
    free(bytes);
    end(ends);
}

static void a_part_is_waited_for(void **state)
{
    struct ends  *ends = begin();
    unsigned char bytes[4 + TEXT_BYTES + SEAL_TAG_BYTES];
    size_t        i;

    (void)state;
    put(ends, "first");
    assert_int_equal(evbuffer_remove(ends->wire, bytes, sizeof bytes), sizeof bytes);
    for (i = 0; i < sizeof bytes; i++) {
        assert_int_equal(take(ends), 0);
        evbuffer_add(ends->wire, bytes + i, 1);
    }
    takes(ends, "first");
    end(ends);
}

static void the_contents_cannot_be_seen(void **state)
{
    struct ends   *ends = begin();
    unsigned char *wire;

    (void)state;
    put(ends, "secret");
    wire = evbuffer_pullup(ends->wire, -1);
    assert_null(memmem(wire, evbuffer_get_length(ends->wire), "ecre", 4));
    end(ends);
}

/* Each bit of a message, but those of its size, which only say how much to wait for. */
static void a_changed_message_does_not_open(void **state)
{
    size_t bit;

    (void)state;
    for (bit = 32; bit < 8 * (4 + TEXT_BYTES + SEAL_TAG_BYTES); bit++) {
        struct ends *ends = begin();

        put(ends, "first");
        evbuffer_pullup(ends->wire, -1)[bit / 8] ^= (unsigned char)(1u << bit % 8);
        assert_int_equal(take(ends), -1);
        end(ends);
    }
}

static void a_shortened_message_does_not_open(void **state)
{
    struct ends   *ends = begin();
    unsigned char *wire;

    (void)state;
    put(ends, "first");
    put(ends, "other");
    wire = evbuffer_pullup(ends->wire, -1);
    put_u32(wire, TEXT_BYTES - 1);
    assert_int_equal(take(ends), -1);
    end(ends);
}

static void impossible_sizes_are_refused(void **state)
{
    const uint32_t sizes[] = { 0, SEAL_MESSAGE_MAX + 1, UINT32_MAX };
    size_t         i;

    (void)state;
    for (i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct ends  *ends = begin();
        unsigned char header[4];

        put_u32(header, sizes[i]);
        evbuffer_add(ends->wire, header, sizeof header);
        assert_int_equal(take(ends), -1);
        end(ends);
    }
}

static void a_repeated_message_does_not_open(void **state)
{
    struct ends  *ends = begin();
    unsigned char bytes[4 + TEXT_BYTES + SEAL_TAG_BYTES];

    (void)state;
    put(ends, "first");
    evbuffer_copyout(ends->wire, bytes, sizeof bytes);
    takes(ends, "first");
    evbuffer_add(ends->wire, bytes, sizeof bytes);
    assert_int_equal(take(ends), -1);
    end(ends);
}

static void a_message_that_was_left_out_is_missed(void **state)
{
    struct ends *ends = begin();

    (void)state;
    put(ends, "first");
    evbuffer_drain(ends->wire, 4 + TEXT_BYTES + SEAL_TAG_BYTES);
    put(ends, "other");
    assert_int_equal(take(ends), -1);
    end(ends);
}

static void swapped_messages_do_not_open(void **state)
{
    struct ends  *ends = begin();
    unsigned char bytes[4 + TEXT_BYTES + SEAL_TAG_BYTES];

    (void)state;
    put(ends, "first");
    evbuffer_remove(ends->wire, bytes, sizeof bytes);
    put(ends, "other");
    evbuffer_add(ends->wire, bytes, sizeof bytes);
    assert_int_equal(take(ends), -1);
    end(ends);
}

/* Another key, run, link, direction or connection. */
static void other_ends_do_not_open_it(void **state)
{
    struct seal_link    theirs[5];
    enum seal_direction direction;
    size_t              i;

    (void)state;
    for (i = 0; i < 5; i++)
        theirs[i] = link_of(1, 3);
    theirs[0].key[31] ^= 1;
    theirs[1].run[0] ^= 1;
    theirs[2].number = 4;
    for (i = 0; i < 5; i++) {
        struct ends *ends = calloc(1, sizeof *ends);

        direction = i == 3 ? SEAL_ANSWER : SEAL_ASK;
        begin_with(ends, &theirs[i], direction, i == 4);
        put(ends, "first");
        assert_int_equal(take(ends), -1);
        end(ends);
    }
}

static void numbers_are_not_used_again(void **state)
{
    struct ends *ends = begin();

    (void)state;
    ends->seal.number = ends->open.number = SEAL_MESSAGES_MAX - 1;
    put(ends, "first");
    takes(ends, "first");
    assert_int_equal(seal_put(&ends->seal, ends->wire, "other", TEXT_BYTES, NULL, 0, &ends->err),
                     -1);
    assert_int_equal(evbuffer_get_length(ends->wire), 0);
    end(ends);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_arrive_in_order),
        cmocka_unit_test(the_largest_message_arrives),
        cmocka_unit_test(a_part_is_waited_for),
        cmocka_unit_test(the_contents_cannot_be_seen),
        cmocka_unit_test(a_changed_message_does_not_open),
        cmocka_unit_test(a_shortened_message_does_not_open),
        cmocka_unit_test(impossible_sizes_are_refused),
        cmocka_unit_test(a_repeated_message_does_not_open),
        cmocka_unit_test(a_message_that_was_left_out_is_missed),
        cmocka_unit_test(swapped_messages_do_not_open),
        cmocka_unit_test(other_ends_do_not_open_it),
        cmocka_unit_test(numbers_are_not_used_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

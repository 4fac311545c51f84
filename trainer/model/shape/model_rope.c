/* model_rope.c - rotary embeddings in config.json
 *
 * Like RotaryEmbeddingConfigMixin in transformers 5.12.1's modeling_rope_utils.py: rope_theta and
 * rope_scaling, as version 4 writes them, or both in rope_parameters.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include <jansson.h>

#include "model/shape/model_keys.h"

#define PLAIN_THETA 10000.0

static const char *const types[] = { [ROPE_PLAIN] = "default", [ROPE_LINEAR] = "linear",
                                     [ROPE_LLAMA3] = "llama3", [ROPE_YARN] = "yarn" };
#define TYPES ((int)(sizeof types / sizeof types[0]))

/* transformers ignores what the type does not use, and so does this program. */
static const char *const known[] = {
    "rope_type", "type", "rope_theta", "factor", "original_max_position_embeddings",
    "low_freq_factor", "high_freq_factor", "beta_fast", "beta_slow", "attention_factor", "mscale",
    "mscale_all_dim", "truncate", NULL,
};

/* What is read, and where it is: for messages. */
struct place {
    json_t                    *object;
    const char                *name;
    const struct model_config *config;
    const json_t              *root;
};

static int    read_object(struct rope *rope, const struct place *place, struct error *err);
static int    check_keys(const struct place *place, struct error *err);
static int    read_type(struct rope *rope, const struct place *place, struct error *err);
static int    read_original(struct rope *rope, const struct place *place, struct error *err);
static int    read_yarn(struct rope *rope, const struct place *place, struct error *err);
static double mscale_of(double factor, double mscale);
static int    read_real(const struct place *place, const char *key, double absent,
                        double *value, struct error *err);

int model_rope_read(struct model_config *config, json_t *root, struct error *err)
{
    static const char *const names[] = { "rope_scaling", "rope_parameters" };
    const struct place top = { root, NULL, config, root };
    struct rope        ropes[2];
    double             theta = 0, own;
    bool               found[2] = { false, false };
    int                i;

    if (read_real(&top, "rope_theta", 0, &theta, err) < 0)
        return -1;
    for (i = 0; i < 2; i++) {
        const struct place place = { json_object_get(root, names[i]), names[i], config, root };

        ropes[i] = (struct rope){ .theta = theta != 0 ? theta : PLAIN_THETA };
        if (place.object == NULL || json_is_null(place.object))
            continue;
        if (!json_is_object(place.object))
            return err_set(err, "%s is not an object", names[i]);
        found[i] = json_object_size(place.object) > 0;
        if (read_real(&place, "rope_theta", 0, &own, err) < 0 ||
            read_object(&ropes[i], &place, err) < 0)
            return -1;
        if (own != 0 && theta != 0 && own != theta)
            return err_set(err, "rope_theta is %g, but in %s it is %g: remove the wrong one",
                           theta, names[i], own);
        if (own != 0)
            ropes[i].theta = own;
    }
    if (found[0] && found[1] && (ropes[0].scaling != ropes[1].scaling ||
                                 ropes[0].factor != ropes[1].factor ||
                                 ropes[0].theta != ropes[1].theta))
        return err_set(err, "rope_scaling and rope_parameters contradict each other: "
                            "remove the wrong one");
    config->rope = ropes[found[1] ? 1 : 0];
    return 0;
}

static int read_object(struct rope *rope, const struct place *place, struct error *err)
{
    double low, high;

    if (check_keys(place, err) < 0 || read_type(rope, place, err) < 0)
        return -1;
    if (rope->scaling == ROPE_PLAIN)
        return 0;
    if (json_object_get(place->object, "factor") == NULL)
        return err_set(err, "%s.factor is missing", place->name);
    if (read_real(place, "factor", 0, &rope->factor, err) < 0 ||
        (rope->scaling != ROPE_LINEAR && read_original(rope, place, err) < 0))
        return -1;
    if (rope->scaling == ROPE_YARN)
        return read_yarn(rope, place, err);
    if (rope->scaling == ROPE_LINEAR)
        return 0;
    if (read_real(place, "low_freq_factor", 0, &low, err) < 0 ||
        read_real(place, "high_freq_factor", 0, &high, err) < 0)
        return -1;
    if (low == 0 || high == 0)
        return err_set(err, "%s.%s is missing", place->name,
                       low == 0 ? "low_freq_factor" : "high_freq_factor");
    rope->low = low;
    rope->high = high;
    return 0;
}

static int check_keys(const struct place *place, struct error *err)
{
    const char *key;
    json_t     *value;
    int         i;

    json_object_foreach(place->object, key, value) {
        for (i = 0; known[i] != NULL && strcmp(known[i], key) != 0; i++)
            ;
        if (known[i] == NULL && !json_is_null(value) && !json_is_false(value) &&
            (strcmp(key, "partial_rotary_factor") != 0 || json_number_value(value) != 1))
            return err_set(err, "%s.%.60s is not supported", place->name, key);
    }
    return 0;
}

static int read_type(struct rope *rope, const struct place *place, struct error *err)
{
    const json_t *type = json_object_get(place->object, "rope_type");
    int           i;

    if (type == NULL)
        type = json_object_get(place->object, "type");
    if (type == NULL)
        return 0;
    for (i = 0; i < TYPES; i++) {
        if (json_is_string(type) && strcmp(json_string_value(type), types[i]) == 0) {
            rope->scaling = (enum rope_scaling)i;
            return 0;
        }
    }
    return err_set(err, "%s: the type '%.60s' is not supported: only default, linear, llama3 "
                        "and yarn are", place->name,
                   json_is_string(type) ? json_string_value(type) : "");
}

/* A number beside the object comes before that in the object. */
static int read_original(struct rope *rope, const struct place *place, struct error *err)
{
    static const char key[] = "original_max_position_embeddings";
    const json_t     *given = json_object_get(place->root, key);

    if (given == NULL || json_is_null(given))
        given = json_object_get(place->object, key);
    rope->original = place->config->positions;
    if (given == NULL)
        return 0;
    if (!json_is_integer(given) || json_integer_value(given) < 1 ||
        json_integer_value(given) > INT_MAX)
        return err_set(err, "%s is not a positive integer", key);
    rope->original = (int)json_integer_value(given);
    return 0;
}

/* As _compute_yarn_parameters does. */
static int read_yarn(struct rope *rope, const struct place *place, struct error *err)
{
    const json_t *truncate = json_object_get(place->object, "truncate");
    double        mscale, all;

    if (rope->factor == 0) /* null */
        rope->factor = (double)place->config->positions / rope->original;
    if (read_real(place, "beta_fast", 32, &rope->beta_fast, err) < 0 ||
        read_real(place, "beta_slow", 1, &rope->beta_slow, err) < 0 ||
        read_real(place, "mscale", 0, &mscale, err) < 0 ||
        read_real(place, "mscale_all_dim", 0, &all, err) < 0 ||
        read_real(place, "attention_factor", 0, &rope->attention_factor, err) < 0)
        return -1;
    if (truncate != NULL && !json_is_boolean(truncate))
        return err_set(err, "%s.truncate is not true or false", place->name);
    rope->truncate = truncate == NULL || json_is_true(truncate);
    if (rope->beta_fast == 0)
        rope->beta_fast = 32;
    if (rope->beta_slow == 0)
        rope->beta_slow = 1;
    if (rope->attention_factor == 0)
        rope->attention_factor = mscale != 0 && all != 0
                                     ? mscale_of(rope->factor, mscale) /
                                           mscale_of(rope->factor, all)
                                     : mscale_of(rope->factor, 1);
    return 0;
}

static double mscale_of(double factor, double mscale)
{
    return factor > 1 ? 0.1 * mscale * log(factor) + 1 : 1;
}

/* A missing key and null mean absent. */
static int read_real(const struct place *place, const char *key, double absent, double *value,
                     struct error *err)
{
    const json_t *given = json_object_get(place->object, key);

    *value = absent;
    if (given == NULL || json_is_null(given))
        return 0;
    *value = json_number_value(given);
    if (!json_is_number(given) || !(*value >= 0))
        return err_set(err, "%s%s%s is not a non-negative number",
                       place->name != NULL ? place->name : "", place->name != NULL ? "." : "",
                       key);
    return 0;
}

void model_rope_write(const struct model_config *config, json_t *root)
{
    const struct rope *rope = &config->rope;
    json_t            *object;

    json_object_set_new(root, "rope_theta", json_real(rope->theta));
    if (rope->scaling == ROPE_PLAIN)
        return;
    object = json_pack("{s:s, s:f}", "rope_type", types[rope->scaling], "factor", rope->factor);
    json_object_set_new(root, "rope_scaling", object);
    if (rope->scaling == ROPE_LINEAR)
        return;
    json_object_set_new(object, "original_max_position_embeddings",
                        json_integer(rope->original));
    if (rope->scaling == ROPE_LLAMA3) {
        json_object_set_new(object, "low_freq_factor", json_real(rope->low));
        json_object_set_new(object, "high_freq_factor", json_real(rope->high));
        return;
    }
    json_object_set_new(object, "beta_fast", json_real(rope->beta_fast));
    json_object_set_new(object, "beta_slow", json_real(rope->beta_slow));
    if (fabs(rope->attention_factor - mscale_of(rope->factor, 1)) > 1e-13)
        json_object_set_new(object, "attention_factor", json_real(rope->attention_factor));
    if (!rope->truncate)
        json_object_set_new(object, "truncate", json_false());
}

/* accelerate.c - see accelerate.h; and the setters of option_value.h for its options
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "options/accelerate.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <jansson.h>

#include "file.h"
#include "options/option_table.h"
#include "options/option_value.h"
#include "xalloc.h"
#include "yaml/yaml.h"

struct reader {
    const char     *path;
    const char     *type;      /* distributed_type, borrowed from the document */
    const char     *precision; /* mixed_precision, the same; "" if not given */
    struct options *options;
    struct strlist  env;
    struct error   *err;
};

/* A section whose keys become variables: "fsdp_version", or "version", is FSDP_VERSION. */
struct section {
    const char *name;
    const char *reader;    /* the distributed_type or mixed_precision that needs it; NULL: any */
    const char *key, *variable; /* variable NULL: no other keys than those in others[] */
    const char *first[16]; /* what accelerate sets even if the file does not */
};

static const struct section sections[] = {
    { "deepspeed_config", "DEEPSPEED", "deepspeed_", "ACCELERATE_DEEPSPEED_",
      { "ACCELERATE_USE_DEEPSPEED=true" } },
    { "fsdp_config", "FSDP", "fsdp_", "FSDP_",
      { "ACCELERATE_USE_FSDP=true", "FSDP_VERSION=1", "FSDP_SHARDING_STRATEGY=FULL_SHARD",
        "FSDP_RESHARD_AFTER_FORWARD=true", "FSDP_OFFLOAD_PARAMS=false",
        "FSDP_MIN_NUM_PARAMS=100000000", "FSDP_FORWARD_PREFETCH=false",
        "FSDP_USE_ORIG_PARAMS=true", "FSDP_CPU_RAM_EFFICIENT_LOADING=true",
        "FSDP_SYNC_MODULE_STATES=true", "FSDP_ACTIVATION_CHECKPOINTING=false" } },
    { "megatron_lm_config", "MEGATRON_LM", "megatron_lm_", "MEGATRON_LM_",
      { "ACCELERATE_USE_MEGATRON_LM=true", "MEGATRON_LM_TP_DEGREE=1", "MEGATRON_LM_PP_DEGREE=1",
        "MEGATRON_LM_USE_CUSTOM_FSDP=false", "MEGATRON_LM_GRADIENT_CLIPPING=1.0" } },
    { "parallelism_config", NULL, "parallelism_config_", "PARALLELISM_CONFIG_",
      { "ACCELERATE_USE_PARALLELISM_CONFIG=true", "PARALLELISM_CONFIG_DP_REPLICATE_SIZE=1",
        "PARALLELISM_CONFIG_DP_SHARD_SIZE=1", "PARALLELISM_CONFIG_TP_SIZE=1",
        "PARALLELISM_CONFIG_CP_SIZE=1", "PARALLELISM_CONFIG_CP_BACKEND=torch",
        "PARALLELISM_CONFIG_SP_SIZE=1", "PARALLELISM_CONFIG_SP_BACKEND=deepspeed" } },
    { "dynamo_config", NULL, "dynamo_", "ACCELERATE_DYNAMO_", { NULL } },
    { "fp8_config", "fp8", "fp8_", "ACCELERATE_FP8_",
      { "ACCELERATE_FP8_MARGIN=0", "ACCELERATE_FP8_INTERVAL=1", "ACCELERATE_FP8_FORMAT=HYBRID",
        "ACCELERATE_FP8_USE_AUTOCAST_DURING_EVAL=false", "ACCELERATE_FP8_AMAX_HISTORY_LEN=1024",
        "ACCELERATE_FP8_AMAX_COMPUTE_ALGO=most_recent", "ACCELERATE_FP8_OVERRIDE_FPROP=false",
        "ACCELERATE_FP8_OVERRIDE_DGRAD=false", "ACCELERATE_FP8_OVERRIDE_WGRAD=false",
        "ACCELERATE_FP8_OPT_LEVEL=O2", "ACCELERATE_FP8_ENABLE_FSDP_FLOAT8_ALL_GATHER=1",
        "ACCELERATE_FP8_PAD_INNER_DIM=1" } },
    { "mpirun_config", NULL, "mpirun_", NULL, { NULL } },
};

/* Keys that become an option, a variable of another name, or nothing. */
static const struct {
    const char    *key, *option, *variable;
    option_setter *set; /* NULL: that of the option */
} others[] = {
    { "num_processes", .option = "np", .set = set_processes },
    { "num_machines", .option = "num_nodes" },
    { "main_process_ip", .option = "master_addr" },
    { "main_process_port", .option = "master_port" },
    { "deepspeed_hostfile", .option = "hostfile" },
    { "deepspeed_exclusion_filter", .option = "exclude" },
    { "deepspeed_inclusion_filter", .option = "include" },
    { "mpirun_hostfile", .option = "hostfile" },

    { "mpirun_ccl", .variable = "CCL_WORKER_COUNT" },
    { "mixed_precision", .variable = "ACCELERATE_MIXED_PRECISION" },
    { "dynamo_backend", .variable = "ACCELERATE_DYNAMO_BACKEND" },
    { "gradient_accumulation_steps", .variable = "ACCELERATE_GRADIENT_ACCUMULATION_STEPS" },
    { "gradient_clipping", .variable = "ACCELERATE_GRADIENT_CLIPPING" },
    { "zero3_init_flag", .variable = "ACCELERATE_DEEPSPEED_ZERO3_INIT" },
    { "fsdp_transformer_layer_cls_to_wrap", .variable = "FSDP_TRANSFORMER_CLS_TO_WRAP" },
    { "transformer_layer_cls_to_wrap", .variable = "FSDP_TRANSFORMER_CLS_TO_WRAP" },

    { .key = "compute_environment" }, /* read before */
    { .key = "distributed_type" },
    { .key = "machine_rank" }, /* muster starts all nodes, and numbers them */
    { .key = "rdzv_backend" },
    { .key = "same_network" },
    { .key = "deepspeed_multinode_launcher" },
    { .key = "main_training_function" }, /* of notebooks and TPUs */
};

/* The same if the key is true. */
static const struct {
    const char *key, *entry;
} switches[] = {
    { "debug", "ACCELERATE_DEBUG_MODE=true" },
    { "enable_cpu_affinity", "ACCELERATE_CPU_AFFINITY=1" },
    { "use_cpu", "ACCELERATE_USE_CPU=true" },
    { "fp16", "ACCELERATE_MIXED_PRECISION=fp16" },
};

static int  parse(struct reader *reader, const json_t *document);
static int  check_kind(struct reader *reader, const json_t *document);
static int  take(struct reader *reader, const char *key, const json_t *value);
static int  take_gpus(struct reader *reader, const json_t *value);
static int  take_section(struct reader *reader, const struct section *section,
                         const json_t *value);
static bool is_read(const struct reader *reader, const struct section *section);
static void take_first(struct reader *reader, const struct section *section);
static int  take_other(struct reader *reader, size_t which, const json_t *value);
static int  take_option(struct reader *reader, size_t which, const char *value);
static void take_variable(struct reader *reader, const char *name, const char *value);
static int  take_list(struct reader *reader, const char *key, const json_t *value);
static void note_fields(struct reader *reader, const json_t *document);
static int  find_other(const char *key);
static bool is_empty(const json_t *value);
static bool is_false(const json_t *value);
static char *text_of(const json_t *value);
static int  unknown(struct reader *reader, const char *key);
static int  wrong(struct reader *reader, const char *key, const char *why);

int accelerate_read(struct options *options, const char *path, struct error *err)
{
    size_t size;
    char  *text = file_read(path, YAML_BYTES_MAX, &size, err);
    int    rc;

    if (text == NULL)
        return -1;
    rc = accelerate_parse(options, path, text, size, err);
    free(text);
    return rc;
}

int accelerate_parse(struct options *options, const char *path, const char *text, size_t size,
                     struct error *err)
{
    struct reader reader = { .path = path, .options = options, .err = err };
    json_t       *document = yaml_parse(path, text, size, err);
    int           rc = document == NULL ? -1 : parse(&reader, document);
    size_t        i;

    for (i = 0; i < reader.env.count && rc == 0; i++)
        strlist_add(&options->env, reader.env.item[i]);
    strlist_clear(&reader.env);
    json_decref(document);
    return rc;
}

static int parse(struct reader *reader, const json_t *document)
{
    const char *key;
    json_t     *value;
    size_t      i;

    if (check_kind(reader, document) < 0)
        return -1;
    if (strcmp(reader->type, "NO") == 0)
        reader->options->processes = 1;
    take_variable(reader, "ACCELERATE_MIXED_PRECISION", "no");
    for (i = 0; i < sizeof sections / sizeof *sections; i++)
        if (sections[i].reader != NULL && is_read(reader, &sections[i]))
            take_first(reader, &sections[i]);
    json_object_foreach((json_t *)document, key, value)
        if (take(reader, key, value) < 0)
            return -1;
    if (strcmp(reader->type, "DEEPSPEED") == 0)
        note_fields(reader, document);
    return 0;
}

/* Is it accelerate's, and of a kind that muster can start? */
static int check_kind(struct reader *reader, const json_t *document)
{
    static const char *const types[] = { "NO", "DEEPSPEED", "FSDP", "MEGATRON_LM" };
    const char              *where = json_string_value(json_object_get(document,
                                                                       "compute_environment"));
    size_t                   i;

    reader->type = json_string_value(json_object_get(document, "distributed_type"));
    reader->precision = json_string_value(json_object_get(document, "mixed_precision"));
    if (reader->precision == NULL)
        reader->precision = "";
    if (reader->type == NULL && (json_object_get(document, "params") != NULL ||
                                 json_object_get(document, "controller") != NULL ||
                                 json_object_get(document, "logging") != NULL))
        return err_set(reader->err, "%s: this file is horovodrun's; write its values as --env "
                                    "HOROVOD_NAME=VALUE", reader->path);
    if (reader->type == NULL)
        return err_set(reader->err, "%s: has no distributed_type; is it from accelerate config?",
                       reader->path);
    if (where != NULL && strcmp(where, "LOCAL_MACHINE") != 0)
        return wrong(reader, "compute_environment", "muster starts hosts that it reaches by SSH; "
                             "it should be LOCAL_MACHINE");
    if (strncmp(reader->type, "MULTI_", 6) == 0)
        return 0;
    for (i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(reader->type, types[i]) == 0)
            return 0;
    return wrong(reader, "distributed_type", "muster can start NO, MULTI_GPU, MULTI_CPU, "
                         "DEEPSPEED, FSDP and MEGATRON_LM");
}

static int take(struct reader *reader, const char *key, const json_t *value)
{
    int    which = find_other(key);
    size_t i;

    if (is_empty(value))
        return 0;
    if (which >= 0)
        return take_other(reader, (size_t)which, value);
    for (i = 0; i < sizeof switches / sizeof *switches; i++)
        if (strcmp(key, switches[i].key) == 0) {
            if (!is_false(value))
                strlist_add(&reader->env, switches[i].entry);
            return 0;
        }
    for (i = 0; i < sizeof sections / sizeof *sections; i++)
        if (strcmp(key, sections[i].name) == 0)
            return take_section(reader, &sections[i], value);
    if (strcmp(key, "gpu_ids") == 0)
        return take_gpus(reader, value);
    if (is_false(value)) /* tpu_use_cluster: false */
        return 0;
    return unknown(reader, key);
}

/* accelerate sets this variable too, and muster then takes the GPUs of this machine from it. */
static int take_gpus(struct reader *reader, const json_t *value)
{
    char *ids = text_of(value);

    if (ids == NULL)
        return wrong(reader, "gpu_ids", "should be all, or a list such as 0,1");
    if (strcmp(ids, "all") != 0)
        setenv("CUDA_VISIBLE_DEVICES", ids, 1);
    free(ids);
    return 0;
}

static int take_section(struct reader *reader, const struct section *section, const json_t *value)
{
    const char *key, *name;
    json_t     *inner;
    size_t      prefix = strlen(section->key);
    char       *text, *variable;
    int         which, rc = 0;

    if (!json_is_object(value))
        return wrong(reader, section->name, "should be a section");
    if (!is_read(reader, section))
        return 0;
    if (section->reader == NULL)
        take_first(reader, section);
    json_object_foreach((json_t *)value, key, inner) {
        which = find_other(key);
        if (is_empty(inner))
            continue;
        if (which >= 0) {
            rc = take_other(reader, (size_t)which, inner);
        } else if (section->variable == NULL) {
            rc = unknown(reader, key);
        } else if ((text = text_of(inner)) != NULL) {
            name = strncmp(key, section->key, prefix) == 0 ? key + prefix : key;
            variable = xasprintf("%s%s", section->variable, name);
            take_variable(reader, variable, text);
            free(variable);
            free(text);
        } else {
            rc = take_list(reader, key, inner);
        }
        if (rc < 0)
            return -1;
    }
    return 0;
}

static bool is_read(const struct reader *reader, const struct section *section)
{
    return section->reader == NULL || strcmp(section->reader, reader->type) == 0 ||
           strcmp(section->reader, reader->precision) == 0;
}

static void take_first(struct reader *reader, const struct section *section)
{
    size_t i;

    for (i = 0; section->first[i] != NULL; i++)
        strlist_add(&reader->env, section->first[i]);
}

static int take_other(struct reader *reader, size_t which, const json_t *value)
{
    const char *key = others[which].key;
    char       *text = text_of(value);
    int         rc = 0;

    if (text == NULL)
        return wrong(reader, key, "should be one value");
    if (others[which].option != NULL)
        rc = take_option(reader, which, text);
    else if (others[which].variable != NULL)
        take_variable(reader, others[which].variable, text);
    free(text);
    return rc;
}

/* accelerate takes a port of 0 as any, and -1 processes as a number that the command line has. */
static int take_option(struct reader *reader, size_t which, const char *value)
{
    const char              *name = others[which].option;
    const struct option_row *row = option_by_name(name, strlen(name));
    option_setter           *set = others[which].set != NULL ? others[which].set : row->set;
    struct error             why;

    if (strcmp(value, "0") == 0 || strcmp(value, "-1") == 0)
        return 0;
    return set(reader->options, row, value, &why) < 0 ? wrong(reader, others[which].key, why.text)
                                                      : 0;
}

/* accelerate has devices in lower case, and the name of the compiler in capitals. */
static void take_variable(struct reader *reader, const char *name, const char *value)
{
    char *variable = xstrdup(name), *text = xstrdup(value), *at;
    bool  is_low, is_high;

    for (at = variable; *at != '\0'; at++)
        *at = (char)toupper((unsigned char)*at);
    is_low = strstr(variable, "_DEVICE") != NULL;
    is_high = strcmp(variable, "ACCELERATE_DYNAMO_BACKEND") == 0;
    for (at = text; *at != '\0' && (is_low || is_high); at++)
        *at = (char)(is_low ? tolower((unsigned char)*at) : toupper((unsigned char)*at));
    strlist_addf(&reader->env, "%s=%s", variable, text);
    free(variable);
    free(text);
}

/* The one list of a section: whether Transformer Engine computes these three in high precision. */
static int take_list(struct reader *reader, const char *key, const json_t *value)
{
    static const char *const names[] = { "FPROP", "DGRAD", "WGRAD" };
    char                    *text, *variable;
    size_t                   i;

    if (strstr(key, "override_linear_precision") == NULL || json_array_size(value) != 3)
        return wrong(reader, key, "should be one value");
    for (i = 0; i < 3; i++) {
        text = text_of(json_array_get(value, i));
        if (text == NULL)
            return wrong(reader, key, "should be three of true and false");
        variable = xasprintf("ACCELERATE_FP8_OVERRIDE_%s", names[i]);
        take_variable(reader, variable, text);
        free(variable);
        free(text);
    }
    return 0;
}

/* accelerate lets a ds_config say "auto" for these fields alone. */
static void note_fields(struct reader *reader, const json_t *document)
{
    json_t     *section = json_object_get(document, "deepspeed_config"), *value;
    char       *names = xstrdup(""), *more;
    const char *key;

    json_object_foreach(section, key, value) {
        more = xasprintf("%s%s%s", names, names[0] != '\0' ? "," : "", key);
        free(names);
        names = more;
    }
    if (json_is_string(json_object_get(document, "mixed_precision"))) {
        more = xasprintf("%s%smixed_precision", names, names[0] != '\0' ? "," : "");
        free(names);
        names = more;
    }
    take_variable(reader, "ACCELERATE_CONFIG_DS_FIELDS", names);
    free(names);
}

static int find_other(const char *key)
{
    size_t i;

    for (i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(key, others[i].key) == 0)
            return (int)i;
    return -1;
}

static bool is_empty(const json_t *value)
{
    return json_is_null(value) || (json_is_object(value) && json_object_size(value) == 0) ||
           (json_is_array(value) && json_array_size(value) == 0) ||
           (json_is_string(value) && json_string_length(value) == 0);
}

static bool is_false(const json_t *value)
{
    const char *word = json_string_value(value);

    return json_is_false(value) ||
           (word != NULL && (strcasecmp(word, "no") == 0 || strcasecmp(word, "false") == 0));
}

/* Returns a value as accelerate writes it; NULL: it is a list or a section. The caller frees. */
static char *text_of(const json_t *value)
{
    char text[40];
    int  digits = 0;

    if (json_is_string(value))
        return xstrdup(json_string_value(value));
    if (json_is_boolean(value))
        return xstrdup(json_is_true(value) ? "true" : "false");
    if (json_is_integer(value))
        return xasprintf("%" JSON_INTEGER_FORMAT, json_integer_value(value));
    if (!json_is_real(value))
        return NULL;
    do /* the shortest that is read as the same number, as in Python */
        snprintf(text, sizeof text, "%.*g", ++digits, json_real_value(value));
    while (digits < 17 && strtod(text, NULL) != json_real_value(value));
    return xasprintf("%s%s", text, strpbrk(text, ".en") == NULL ? ".0" : "");
}

static int unknown(struct reader *reader, const char *key)
{
    return wrong(reader, key, "muster does not know this key; take it out, and set the variable "
                              "that it stands for with --env");
}

static int wrong(struct reader *reader, const char *key, const char *why)
{
    return err_set(reader->err, "%s: %s: %s", reader->path, key, why);
}

/* --- options ---------------------------------------------------------------- */

/* options.c reads it before it applies any setting. */
int set_accelerate_config(struct options *options, const struct option_row *row,
                          const char *value, struct error *err)
{
    (void)options, (void)row;
    return value[0] == '\0' ? err_set(err, "is empty; it should name a file") : 0;
}

/* accelerate's --num_processes: options_check.c divides it by the number of nodes. */
int set_processes(struct options *options, const struct option_row *row, const char *value,
                  struct error *err)
{
    struct options parsed = { 0 };

    if (set_integer(&parsed, row, value, err) < 0)
        return -1;
    options->processes = parsed.num_ranks;
    options->num_ranks = 0;
    return 0;
}

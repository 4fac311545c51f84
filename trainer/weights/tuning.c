/* tuning.c - see tuning.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "weights/tuning.h"

#include <errno.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "fnv.h"
#include "model/quant.h"
#include "weights/adapter.h"
#include "xalloc.h"

static int  read_lora(struct tuning *tuning, const struct model_config *shape,
                      struct error *err);
static int  compile(regex_t *regex, const char *option, const char *text, struct error *err);
static int  spare(struct model *model, const char *words, struct error *err);
static bool is_any(const struct tuning_words *words);

struct model *tuning_model(struct tuning *tuning, const struct tuning_words *words,
                           const struct model_config *shape, struct ops *ops, struct error *err)
{
    struct model_tuning how = { .lora = NULL };
    struct model       *model = NULL;
    struct error        why;
    regex_t             freeze;

    *tuning = (struct tuning){ .words = *words };
    if (words->lora != NULL && read_lora(tuning, shape, &why) < 0) {
        err_set(err, "--lora: %s", why.text);
        return NULL;
    }
    if (words->quantize != NULL && !quant_named(words->quantize, &how.quantize)) {
        err_set(err, "--quantize %.60s: must be int8 or nf4", words->quantize);
        return NULL;
    }
    if (words->freeze != NULL && compile(&freeze, "--freeze", words->freeze, err) < 0)
        return NULL;
    how.lora = words->lora != NULL ? &tuning->lora : NULL;
    how.freeze = words->freeze != NULL ? &freeze : NULL;
    model = model_new_tuned(shape, is_any(words) ? &how : NULL, ops, &why);
    if (model == NULL)
        err_set(err, "%s%s", words->lora != NULL       ? "--lora: "
                             : words->freeze != NULL   ? "--freeze: "
                             : words->quantize != NULL ? "--quantize: " : "", why.text);
    if (words->freeze != NULL)
        regfree(&freeze);
    if (model == NULL || spare(model, words->no_decay, err) == 0)
        return model;
    model_free(model);
    return NULL;
}

/* A directory is that of an adapter to continue from, and a file its configuration. */
static int read_lora(struct tuning *tuning, const struct model_config *shape, struct error *err)
{
    const char *text = tuning->words.lora;
    struct stat status;

    if (stat(text, &status) < 0)
        return strchr(text, '/') == NULL ? lora_parse(&tuning->lora, text, err)
                                         : err_set(err, "%s: %s", text, strerror(errno));
    if (S_ISDIR(status.st_mode))
        tuning->adapter = text;
    if (adapter_config_read(&tuning->lora, text, err) < 0)
        return -1;
    return adapter_config_fits(&tuning->lora, text, shape, err);
}

static int compile(regex_t *regex, const char *option, const char *text, struct error *err)
{
    char      why[128];
    const int rc = regcomp(regex, text, REG_EXTENDED | REG_NOSUB);

    if (rc == 0)
        return 0;
    regerror(rc, regex, why, sizeof why);
    return err_set(err, "%s '%.60s': %s", option, text, why);
}

static int spare(struct model *model, const char *words, struct error *err)
{
    struct error why;
    regex_t      regex;
    int          rc;

    if (words == NULL || strcmp(words, "default") == 0)
        return 0;
    if (strcmp(words, "none") == 0)
        return model_spare(model, NULL, err);
    if (compile(&regex, "--no-decay", words, err) < 0)
        return -1;
    rc = model_spare(model, &regex, &why);
    regfree(&regex);
    return rc < 0 ? err_set(err, "--no-decay '%.60s': %s", words, why.text) : 0;
}

/* Padding before the next parameter belongs to the range, too: it is zero, and an aligned range
 * is faster. */
struct partition_range *tuning_spared(const struct model *model, int *count)
{
    struct partition_range *range = xcalloc((size_t)model->param_count + 1, sizeof *range);
    bool                    is_open = false;
    int                     i;

    *count = 0;
    for (i = 0; i < model->param_count; i++) {
        const struct model_param *param = &model->param[i];

        if (param->is_frozen || param->is_spared == is_open)
            continue;
        is_open = param->is_spared;
        if (is_open)
            range[*count].start = param->offset;
        else
            range[*count].count = param->offset - range[*count].start;
        *count += is_open ? 0 : 1;
    }
    if (is_open)
        range[*count].count = model->count - range[*count].start;
    *count += is_open ? 1 : 0;
    return range;
}

static bool is_any(const struct tuning_words *words)
{
    return words->lora != NULL || words->freeze != NULL || words->quantize != NULL;
}

void tuning_clear(struct tuning *tuning)
{
    lora_clear(&tuning->lora);
}

uint64_t tuning_hash(const struct tuning *tuning, uint64_t hash)
{
    char *text;

    if (tuning->words.freeze != NULL)
        hash = fnv_add(hash, tuning->words.freeze, strlen(tuning->words.freeze));
    if (tuning->words.quantize != NULL)
        hash = fnv_add(hash, tuning->words.quantize, strlen(tuning->words.quantize));
    if (tuning->words.no_decay != NULL)
        hash = fnv_add(hash, tuning->words.no_decay, strlen(tuning->words.no_decay) + 1);
    if (tuning->lora.rank > 0) {
        text = lora_text(&tuning->lora);
        hash = fnv_add(hash, text, strlen(text));
        free(text);
    }
    return hash;
}

void tuning_print(const struct tuning *tuning, const struct model *model, FILE *out)
{
    char  *text;
    size_t trained = 0, all = 0;
    int    i;

    for (i = 0; i < model->param_count; i++) {
        all += model->param[i].count;
        trained += model->param[i].is_frozen ? 0 : model->param[i].count;
    }
    if (trained < all)
        fprintf(out, "%zu of %zu parameters are trained\n", trained, all);
    if (model->quantize != QUANT_NONE)
        fprintf(out, "frozen weights of blocks are in %s; %.2f MiB for those of one block\n",
                quant_name(model->quantize), (double)model_wide_bytes(model) / (1 << 20));
    if (tuning->lora.rank == 0)
        return;
    text = lora_text(&tuning->lora);
    fprintf(out, "LoRA: %s\n", text);
    free(text);
}

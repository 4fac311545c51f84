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

static int  read_lora(struct tuning *tuning, const struct model_config *shape,
                      struct error *err);
static int  compile(regex_t *regex, const char *text, struct error *err);
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
    if (words->freeze != NULL && compile(&freeze, words->freeze, err) < 0)
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
    return model;
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

static int compile(regex_t *regex, const char *text, struct error *err)
{
    char      why[128];
    const int rc = regcomp(regex, text, REG_EXTENDED | REG_NOSUB);

    if (rc == 0)
        return 0;
    regerror(rc, regex, why, sizeof why);
    return err_set(err, "--freeze '%.60s': %s", text, why);
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

/* environ_kept.c - see environ_kept.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "plan/environ_kept.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "plan/environ.h"
#include "xalloc.h"

static const char *const often_read[] = {
    "HF_*", "HUGGING*", "TRANSFORMERS_*", "TOKENIZERS_*", "DATASETS_*", "MODELSCOPE_*", "VLLM_*",
    "TORCH*", "PYTORCH_*", "TRITON_*", "FSDP_*", "DS_*", "DEEPSPEED_*", "JAX_*", "XLA_*", "TF_*",
    "WANDB_*", "COMET_*", "NEPTUNE_*", "CLEARML_*", "TENSORBOARD_*",
    "CUDA_*", "GLOO_*", "OMP_*", "KMP_*", "MKL_*", "FI_*", "IBV_*", "MLX5_*", "SHARP_*",
    "*_proxy", "*_PROXY", "SSL_CERT_*", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
    "AWS_*", "GOOGLE_*", "AZURE_*", "S3_*", "XDG_CACHE_HOME",
};

static bool is_often_read(const char *name);
static bool is_left_out(const struct options *options, const char *name);
static void warn_of_patterns(const struct options *options, char *const *here);

void environ_kept(char *const *here, const struct strlist *passed, struct strlist *kept)
{
    char *name;

    for (; *here != NULL; here++) {
        name = xstrndup(*here, strcspn(*here, "="));
        if (is_often_read(name) && env_get(passed, name) == NULL)
            strlist_add(kept, name);
        free(name);
    }
}

/* muster chooses the GPUs, and says what it does with this variable. */
static bool is_often_read(const char *name)
{
    size_t i;

    for (i = 0; i < sizeof often_read / sizeof *often_read; i++)
        if (fnmatch(often_read[i], name, 0) == 0)
            return strcmp(name, "CUDA_VISIBLE_DEVICES") != 0;
    return false;
}

void environ_tell(const struct options *options, char *const *here, const struct strlist *passed)
{
    struct strlist kept = { 0 };
    char          *names, *more;
    size_t         i;

    warn_of_patterns(options, here);
    if (options->command != COMMAND_RUN || !log_wants(LOG_INFO))
        return;
    environ_kept(here, passed, &kept);
    names = xstrdup("");
    for (i = 0; i < kept.count; i++, names = more) {
        if (is_left_out(options, kept.item[i])) {
            more = names;
            continue;
        }
        more = xasprintf("%s %s", names, kept.item[i]);
        free(names);
    }
    if (names[0] != '\0')
        log_info("not passed to the ranks, though scripts often read them:%s; write --env NAME, "
                 "--env 'HF_*' or --env-all", names);
    free(names);
    strlist_clear(&kept);
}

static bool is_left_out(const struct options *options, const char *name)
{
    size_t i;

    for (i = 0; i < options->env.count; i++)
        if (environ_is_left_out(options->env.item[i]) &&
            fnmatch(options->env.item[i] + 1, name, 0) == 0)
            return true;
    return false;
}

static void warn_of_patterns(const struct options *options, char *const *here)
{
    size_t       i;
    char *const *at;

    for (i = 0; i < options->env.count; i++) {
        if (!environ_is_pattern(options->env.item[i]))
            continue;
        for (at = here; *at != NULL; at++)
            if (environ_pattern_takes(options->env.item[i], *at))
                break;
        if (*at == NULL)
            log_warn("--env '%s': no variable of this environment matches, or only such as "
                     "describe this machine", options->env.item[i]);
    }
}

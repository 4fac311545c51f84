/* fuzz_safetensors.c - any bytes as a file of weights, as config.json and as adapter_config.json
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "model/model_config.h"
#include "model/safetensors.h"
#include "weights/adapter.h"

static void write_again(const struct model_config *config, const char *base, size_t size);
static void read_adapter(const char *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int          fd = -1;
    static char         path[64];
    struct error        err = { "" };
    struct model_config config;
    struct safetensors *st;
    float               values[64];
    size_t              i;

    if (fd < 0) {
        fd = memfd_create("fuzz", MFD_CLOEXEC);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    }
    if (ftruncate(fd, 0) < 0 || pwrite(fd, data, size, 0) != (ssize_t)size)
        abort();
    st = safetensors_open(path, &err);
    /* A failure always comes with its reason. */
    if (st == NULL && err.text[0] == '\0')
        abort();
    for (i = 0; st != NULL && i < st->tensors; i++)
        safetensors_load(st, &st->tensor[i], 0,
                         st->tensor[i].count < 64 ? st->tensor[i].count : 64, values, &err);
    safetensors_close(st);
    err.text[0] = '\0';
    if (model_config_parse(&config, "fuzz", (const char *)data, size, &err) == 0)
        write_again(&config, (const char *)data, size);
    else if (err.text[0] == '\0')
        abort();
    read_adapter((const char *)data, size);
    return 0;
}

/* What is read is valid, and as text it says the same. */
static void read_adapter(const char *data, size_t size)
{
    struct error err = { "" };
    struct lora  lora, again;
    char        *text, *twice;

    if (adapter_config_parse(&lora, "fuzz", data, size, &err) < 0) {
        if (err.text[0] == '\0')
            abort();
        return;
    }
    text = lora_text(&lora);
    if (lora_check(&lora, &err) < 0)
        abort();
    /* Nine digits of 0.9999999999 are 1, which is refused, and so is a text that is too long. */
    if (lora_parse(&again, text, &err) == 0) {
        twice = lora_text(&again);
        if (strcmp(text, twice) != 0)
            abort();
        free(twice);
        lora_clear(&again);
    }
    free(text);
    lora_clear(&lora);
}

/* What is read can be written, and then says the same. */
static void write_again(const struct model_config *config, const char *base, size_t size)
{
    struct model_config again;
    struct error        err = { "" };
    double              table[64];
    char               *text = model_config_text(config);
    char               *export = model_config_export(config, DTYPE_HALF, base, size, &err);
    char               *twice = NULL;

    if (export == NULL)
        abort();
    /* Fifteen digits of 0.9999999999999999 are 1, which is refused. */
    if (model_config_parse(&again, "again", text, strlen(text), &err) == 0)
        twice = model_config_text(&again);
    if (twice != NULL && strcmp(text, twice) != 0)
        abort();
    if (model_config_is_llama(config) && model_head_width(config) <= 16)
        rope_table(&config->rope, model_head_width(config), 4, table);
    free(twice);
    free(export);
    free(text);
}

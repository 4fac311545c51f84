/* lora.c - see lora.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "model/lora.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "number.h"
#include "xalloc.h"

static const struct key {
    const char *name, *long_name;
    enum { KEY_RANK, KEY_ALPHA, KEY_DROPOUT, KEY_RS, KEY_TARGETS, KEY_SAVED } key;
} keys[] = {
    { "r", "rank", KEY_RANK },
    { "alpha", "lora_alpha", KEY_ALPHA },
    { "dropout", "lora_dropout", KEY_DROPOUT },
    { "rslora", "use_rslora", KEY_RS },
    { "targets", "target_modules", KEY_TARGETS },
    { "save", "modules_to_save", KEY_SAVED },
};

static int  set(struct lora *lora, char *item, const struct key **list, struct error *err);
static const struct key *find(const char *name);
static int  set_value(struct lora *lora, const struct key *key, const char *value,
                      struct error *err);
static int  set_real(double *number, const char *name, const char *value, struct error *err);
static bool has(char (*names)[LORA_NAME_MAX], int count, const char *param);

int lora_parse(struct lora *lora, const char *text, struct error *err)
{
    const struct key *list = NULL;
    struct error      why;
    char             *copy, *rest, *item;
    int               rc = 0;

    *lora = (struct lora){ .alpha = -1 };
    if (strlen(text) > LORA_TEXT_MAX)
        return err_set(err, "longer than %d bytes", LORA_TEXT_MAX);
    rest = copy = xstrdup(text);
    while (rc == 0 && (item = strsep(&rest, ",")) != NULL)
        rc = set(lora, item, &list, &why);
    free(copy);
    if (rc == 0 && lora->rank == 0)
        rc = err_set(&why, "r, the rank, is missing: for example r=16");
    if (rc == 0 && lora->alpha < 0)
        lora->alpha = 2.0 * lora->rank;
    if (rc == 0 && lora->targets == 0)
        lora->is_linear = true;
    if (rc == 0)
        rc = lora_check(lora, &why);
    if (rc < 0) {
        lora_clear(lora);
        return err_set(err, "%s", why.text);
    }
    return 0;
}

/* list: the key whose names an item without = continues. */
static int set(struct lora *lora, char *item, const struct key **list, struct error *err)
{
    char             *value = strchr(item, '=');
    const struct key *key;

    if (value == NULL && *list != NULL && strcmp(item, "rslora") != 0)
        return set_value(lora, *list, item, err);
    if (value != NULL)
        *value++ = '\0';
    key = find(item);
    if (key == NULL)
        return err_set(err, "unknown key '%.60s': it takes r, alpha, dropout, targets, rslora and "
                            "modules_to_save", item);
    *list = key->key == KEY_TARGETS || key->key == KEY_SAVED ? key : NULL;
    if (value == NULL && key->key == KEY_RS)
        value = (char *)"true";
    if (value == NULL)
        return err_set(err, "%s needs a value: %s=...", item, item);
    return set_value(lora, key, value, err);
}

static const struct key *find(const char *name)
{
    size_t i;

    for (i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (strcmp(keys[i].name, name) == 0 || strcmp(keys[i].long_name, name) == 0)
            return &keys[i];
    return NULL;
}

static int set_value(struct lora *lora, const struct key *key, const char *value,
                     struct error *err)
{
    struct error why;
    int64_t      rank = 0;

    switch (key->key) {
    case KEY_RANK:
        if (parse_number(value, 1, LORA_RANK_MAX, &rank, &why) < 0)
            return err_set(err, "r: %s", why.text);
        lora->rank = (int)rank;
        return 0;
    case KEY_ALPHA:   return set_real(&lora->alpha, key->name, value, err);
    case KEY_DROPOUT: return set_real(&lora->dropout, key->name, value, err);
    case KEY_RS:
        lora->is_rs = strcmp(value, "true") == 0;
        if (!lora->is_rs && strcmp(value, "false") != 0)
            return err_set(err, "rslora: '%.60s' is neither true nor false", value);
        return 0;
    case KEY_TARGETS:
        if (strcmp(value, "all-linear") == 0) {
            lora->is_linear = true;
            return 0;
        }
        break;
    case KEY_SAVED: break;
    }
    return lora_add(lora, key->key == KEY_SAVED, value, err);
}

static int set_real(double *number, const char *name, const char *value, struct error *err)
{
    char *end;

    *number = strtod(value, &end);
    if (end == value || *end != '\0' || !isfinite(*number) || *number < 0)
        return err_set(err, "%s: '%.60s' is not a number of at least 0", name, value);
    return 0;
}

int lora_add(struct lora *lora, bool is_saved, const char *name, struct error *err)
{
    static const char fine[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._";
    int              *count = is_saved ? &lora->saves : &lora->targets;
    char           (**names)[LORA_NAME_MAX] = is_saved ? &lora->saved : &lora->target;
    const char       *what = is_saved ? "modules_to_save" : "targets";

    if (name[0] == '\0' || strlen(name) >= LORA_NAME_MAX || strspn(name, fine) != strlen(name) ||
        strcmp(name, "rslora") == 0) /* a key of lora_parse() */
        return err_set(err, "%s: '%.60s' cannot be the name of a module", what, name);
    if (*count == LORA_NAMES_MAX)
        return err_set(err, "%s: more than %d names", what, LORA_NAMES_MAX);
    *names = xreallocarray(*names, (size_t)*count + 1, sizeof **names);
    snprintf((*names)[(*count)++], LORA_NAME_MAX, "%s", name);
    return 0;
}

int lora_check(const struct lora *lora, struct error *err)
{
    if (lora->rank < 1 || lora->rank > LORA_RANK_MAX)
        return err_set(err, "r: %d is not from 1 to %d", lora->rank, LORA_RANK_MAX);
    if (!(lora->alpha > 0 && lora->alpha <= LORA_ALPHA_MAX))
        return err_set(err, "alpha: %g is not more than 0 and at most %g", lora->alpha,
                       LORA_ALPHA_MAX);
    if (!(lora->dropout >= 0 && lora->dropout < 1))
        return err_set(err, "dropout: %g is not at least 0 and less than 1", lora->dropout);
    if (lora->is_linear && lora->targets > 0)
        return err_set(err, "targets: all-linear and %s together", lora->target[0]);
    if (!lora->is_linear && lora->targets == 0)
        return err_set(err, "targets: none");
    return 0;
}

void lora_clear(struct lora *lora)
{
    free(lora->target);
    free(lora->saved);
    *lora = (struct lora){ 0 };
}

char *lora_text(const struct lora *lora)
{
    char  *text = NULL;
    size_t size;
    FILE  *out = open_memstream(&text, &size);
    int    i;

    if (out == NULL)
        xalloc_die();
    fprintf(out, "r=%d,alpha=%.9g,dropout=%.9g,rslora=%s,targets", lora->rank, lora->alpha,
            lora->dropout, lora->is_rs ? "true" : "false");
    if (lora->is_linear)
        fputs("=all-linear", out);
    for (i = 0; i < lora->targets; i++)
        fprintf(out, "%c%s", i == 0 ? '=' : ',', lora->target[i]);
    for (i = 0; i < lora->saves; i++)
        fprintf(out, "%s%s", i == 0 ? ",modules_to_save=" : ",", lora->saved[i]);
    fclose(out);
    return text;
}

double lora_scale(const struct lora *lora)
{
    return lora->alpha / (lora->is_rs ? sqrt(lora->rank) : lora->rank);
}

bool lora_has_target(const struct lora *lora, const char *param)
{
    return has(lora->target, lora->targets, param);
}

bool lora_saves(const struct lora *lora, const char *param)
{
    return has(lora->saved, lora->saves, param);
}

/* The module's name is the parameter's without its last word. */
static bool has(char (*names)[LORA_NAME_MAX], int count, const char *param)
{
    const char  *last = strrchr(param, '.');
    const size_t size = last != NULL ? (size_t)(last - param) : 0;
    size_t       n;
    int          i;

    for (i = 0; i < count; i++) {
        n = strlen(names[i]);
        if (n == size && strncmp(param, names[i], n) == 0)
            return true;
        if (n < size && param[size - n - 1] == '.' && strncmp(param + size - n, names[i], n) == 0)
            return true;
    }
    return false;
}

/* hostline.c - see hostline.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "plan/hostline.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "number.h"
#include "plan/environ.h"
#include "plan/hostfile.h"
#include "plan/hostword.h"

#define BLANKS " \t\v\f\r"
#define PRICE_LENGTH_MAX 12

static int check_iface(const char *value, const char **at, struct error *err);
static int check_cwd(const char *value, const char **at, struct error *err);
static int check_class(const char *value, const char **at, struct error *err);
static int check_price(const char *value, const char **at, struct error *err);

/* Words that set one field. Port and address are checked when the host is made, because
 * "te1:22" and -H set them, too. */
static const struct key {
    const char *name;
    size_t      field; /* a char * in struct hostline */
    int (*check)(const char *value, const char **at, struct error *err);
} keys[] = {
    { "user", offsetof(struct hostline, user), hostword_check_user },
    { "port", offsetof(struct hostline, port), NULL },
    { "addr", offsetof(struct hostline, addr), NULL },
    { "iface", offsetof(struct hostline, iface), check_iface },
    { "python", offsetof(struct hostline, python), NULL },
    { "cwd", offsetof(struct hostline, cwd), check_cwd },
    { "class", offsetof(struct hostline, class), check_class },
    { "price", offsetof(struct hostline, price), check_price },
    { "on-demand-price", offsetof(struct hostline, on_demand_price), check_price },
};

static int parse_host(char **rest, struct hostline *parsed, const char **at, struct error *err);
static int parse_slots(char **rest, struct hostline *parsed, const char **at,
                       struct error *err);
static bool is_word(const char *rest);
static int parse_words(char *rest, struct hostline *parsed, const char **at, struct error *err);

int hostline_parse(char *line, struct hostline *parsed, const char **at, struct error *err)
{
    char *rest = line + strspn(line, BLANKS);

    *parsed = (struct hostline){ 0 };
    if (*rest == '\0' || *rest == '#')
        return 0;
    if (parse_host(&rest, parsed, at, err) < 0 || parse_slots(&rest, parsed, at, err) < 0)
        return -1;
    return parse_words(rest, parsed, at, err);
}

void hostline_clear(struct hostline *parsed)
{
    strlist_clear(&parsed->env);
}

int hostline_shown(const char *word)
{
    size_t size = strcspn(word, BLANKS);

    return size < 64 ? (int)size : 64;
}

static int parse_host(char **rest, struct hostline *parsed, const char **at, struct error *err)
{
    struct hostword parts;
    char           *word = *rest;

    *rest += strcspn(*rest, BLANKS);
    if (**rest != '\0')
        *(*rest)++ = '\0';
    *rest += strspn(*rest, BLANKS);
    if (hostword_cut(word, &parts, at, err) < 0)
        return -1;
    parsed->name = parts.name;
    parsed->user = parts.user;
    parsed->port = parts.number;
    return 0;
}

static int parse_slots(char **rest, struct hostline *parsed, const char **at, struct error *err)
{
    static const char key[] = "slots=";
    char             *number, *end, behind;
    struct error      why;
    int64_t           slots;

    *at = *rest;
    if (**rest == '\0' || **rest == '#' || is_word(*rest))
        return 0;
    if (strncmp(*rest, key, strlen(key)) != 0)
        return err_set(err, "slots=N must come after the name, not '%.*s'",
                       hostline_shown(*rest), *rest);
    *at = number = *rest + strlen(key);
    end = number + strspn(number, "0123456789");
    if (end == number)
        return err_set(err, "slots= needs a number");
    behind = *end;
    *end = '\0';
    if (strspn(number, "0") == strlen(number))
        return err_set(err, "slots=0 leaves nothing to run on; to leave this host out, put '#' "
                            "before the line");
    if (parse_number(number, 1, HOST_SLOTS_MAX, &slots, &why) < 0)
        return err_set(err, "slots: %s", why.text);
    *end = behind;
    *rest = end;
    parsed->slots = (int)slots;
    return 0;
}

static int parse_word(char **rest, struct hostline *parsed, const char **at, struct error *err);
static int set_field(const struct key *key, char *value, struct hostline *parsed,
                     const char **at, struct error *err);
static int set_env(char *name, char *value, struct hostline *parsed, const char **at,
                   struct error *err);
static int cut_value(char **rest, char **value, const char **at, struct error *err);

/* Does a word that parse_word() knows begin here? */
static bool is_word(const char *rest)
{
    size_t i, length = strcspn(rest, "=" BLANKS);

    if (rest[length] != '=')
        return false;
    for (i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strlen(keys[i].name) == length && memcmp(keys[i].name, rest, length) == 0)
            return true;
    return strncmp(rest, "env:", 4) == 0;
}

/* Parses the words after the digits. DeepSpeed ignores them, so an unknown word is no error. */
static int parse_words(char *rest, struct hostline *parsed, const char **at, struct error *err)
{
    char *word;
    bool  is_apart = parsed->slots == 0 || strspn(rest, BLANKS) > 0; /* not x of "slots=4x" */

    for (rest += strspn(rest, BLANKS); *rest != '\0' && *rest != '#';
         rest += strspn(rest, BLANKS)) {
        word = rest;
        if (is_apart && parse_word(&rest, parsed, at, err) < 0)
            return -1;
        if (rest == word) {
            parsed->ignored = parsed->ignored != NULL ? parsed->ignored : word;
            rest += strcspn(rest, BLANKS);
        }
        is_apart = true;
    }
    return 0;
}

/* Parses a known word and moves *rest past it; leaves *rest at an unknown word. */
static int parse_word(char **rest, struct hostline *parsed, const char **at, struct error *err)
{
    char  *word = *rest, *value;
    size_t i, length = strcspn(word, "=" BLANKS);

    if (word[length] != '=')
        return 0;
    if (strncmp(word, "env:", 4) == 0) {
        *rest = word + length + 1;
        word[length] = '\0';
        if (cut_value(rest, &value, at, err) < 0)
            return -1;
        return set_env(word + 4, value, parsed, at, err);
    }
    for (i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (strlen(keys[i].name) != length || memcmp(keys[i].name, word, length) != 0)
            continue;
        *rest = word + length + 1;
        if (cut_value(rest, &value, at, err) < 0)
            return -1;
        return set_field(&keys[i], value, parsed, at, err);
    }
    if (strncmp(word, "slots=", 6) == 0 && parsed->slots == 0)
        return parse_slots(rest, parsed, at, err);
    if (strncmp(word, "max_slots=", 10) == 0 || strncmp(word, "max-slots=", 10) == 0)
        *rest += strcspn(word, BLANKS); /* OpenMPI's */
    return 0;
}

static int set_field(const struct key *key, char *value, struct hostline *parsed,
                     const char **at, struct error *err)
{
    char **field = (char **)((char *)parsed + key->field);

    *at = value;
    if (*value == '\0')
        return err_set(err, "%s= needs a value", key->name);
    if (*field != NULL)
        return err_set(err, "the %s is given twice in this line", key->name);
    *field = value;
    return key->check != NULL ? key->check(value, at, err) : 0;
}

static int set_env(char *name, char *value, struct hostline *parsed, const char **at,
                   struct error *err)
{
    *at = name;
    if (!environ_is_name(name))
        return err_set(err, "'%.64s' is not the name of a variable (letters, digits, '_')",
                       name);
    if (env_get(&parsed->env, name) != NULL)
        return err_set(err, "%.64s is given twice in this line", name);
    if (parsed->env.count >= HOST_ENV_MAX)
        return err_set(err, "more than %d variables in this line", HOST_ENV_MAX);
    env_set(&parsed->env, name, value);
    return 0;
}

/* A value ends at a blank; one in double quotes at the second quote. */
static int cut_value(char **rest, char **value, const char **at, struct error *err)
{
    char *end = *rest + strcspn(*rest, BLANKS);

    *at = *value = *rest;
    if (**rest == '"') {
        end = strchr(++*value, '"');
        if (end == NULL)
            return err_set(err, "no closing '\"'");
        *at = end + 1;
        if (**at != '\0' && strchr(BLANKS, **at) == NULL)
            return err_set(err, "a blank must follow the closing '\"'");
    }
    *rest = *end != '\0' ? end + 1 : end;
    *end = '\0';
    return 0;
}

/* Also refuses ',', '=' and '^', which NCCL_SOCKET_IFNAME would read as a list. */
static int check_iface(const char *value, const char **at, struct error *err)
{
    *at = value + strcspn(value, "/,=^" BLANKS);
    if (**at != '\0')
        return err_set(err, "an interface name cannot contain '%c'", **at);
    *at = value + strnlen(value, 15); /* IFNAMSIZ - 1 */
    if (**at != '\0')
        return err_set(err, "an interface name has at most 15 characters");
    return 0;
}

static int check_cwd(const char *value, const char **at, struct error *err)
{
    *at = value;
    return *value == '/' ? 0 : err_set(err, "cwd= needs a path that begins with '/'");
}

static int check_class(const char *value, const char **at, struct error *err)
{
    *at = value;
    if (strcmp(value, "spot") == 0 || strcmp(value, "on-demand") == 0)
        return 0;
    return err_set(err, "class= must be spot or on-demand, not '%.*s'", hostline_shown(value),
                   value);
}

/* Digits, and perhaps a point and digits: no sign, no exponent. */
static int check_price(const char *value, const char **at, struct error *err)
{
    size_t whole = strspn(value, "0123456789"), part = 0, length;

    *at = value;
    if (value[whole] == '.')
        part = strspn(value + whole + 1, "0123456789");
    length = part > 0 ? whole + 1 + part : whole;
    if (whole > 0 && value[length] == '\0' && length <= PRICE_LENGTH_MAX &&
        strtod(value, NULL) > 0)
        return 0;
    return err_set(err, "'%.*s' is not an hourly price, such as 2.40", hostline_shown(value),
                   value);
}

const char *hostline_class(const struct hostline *parsed)
{
    if (parsed->class == NULL)
        return NULL;
    return strcmp(parsed->class, "spot") == 0 ? "spot" : "on-demand";
}

double hostline_price(const char *price)
{
    return price != NULL ? strtod(price, NULL) : 0;
}

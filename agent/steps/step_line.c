/* step_line.c - see step_line.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "steps/step_line.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MILLIONTHS 1000000
#define DIGITS_MAX 15 /* of a step; more would be a time or a hash */
#define LOSS_SIZE  32 /* of a loss as a text, with its end */

/* What is left of a line. */
struct cursor {
    const char *at, *end;
};

/* *most: the last step that there will be, if the line has it. */
typedef bool form_parser(struct cursor line, int64_t *step, int64_t *most);

static form_parser muster_train, deepspeed, megatron, torchtitan, nanogpt, hugging_face, rich, tqdm;

static const struct {
    const char  *name;
    form_parser *parse;
} forms[STEP_FORMS] = {
    [STEP_FORM_NONE] = { "none", NULL },
    [STEP_FORM_CALL] = { "muster.step()", NULL },
    [STEP_FORM_MUSTER_TRAIN] = { "muster-train", muster_train },
    [STEP_FORM_DEEPSPEED] = { "DeepSpeed", deepspeed },
    [STEP_FORM_MEGATRON] = { "Megatron-LM", megatron },
    [STEP_FORM_TORCHTITAN] = { "torchtitan", torchtitan },
    [STEP_FORM_NANOGPT] = { "nanoGPT", nanogpt },
    [STEP_FORM_HUGGING_FACE] = { "Hugging Face", hugging_face },
    [STEP_FORM_RICH] = { "Rich's bar", rich },
    [STEP_FORM_TQDM] = { "tqdm", tqdm },
};

static bool may_name_step(const char *line, size_t size);
static bool parse_part(struct cursor part, struct step_line *found);
static size_t without_colours(const char *from, size_t size, char *to);
static bool find(struct cursor *line, const char *word);
static bool take(struct cursor *line, const char *word);
static void skip_blanks(struct cursor *line);
static bool take_number(struct cursor *line, int64_t *number);
static bool take_decimal(struct cursor *line, int64_t *millionths);
static bool take_time(struct cursor *line);
static bool take_loss(struct cursor line, double *loss);
static bool find_of(struct cursor *line, int64_t *number, int64_t *most);
static bool is_digit(char c);

bool step_line_parse(const char *line, size_t size, struct step_line *found)
{
    char          plain[STEP_LINE_MAX];
    const char   *begin, *next;
    struct cursor part;
    bool          is_found = false;

    if (size > STEP_LINE_MAX) {
        line += size - STEP_LINE_MAX; /* of a bar the last state, which is the longest part */
        size = STEP_LINE_MAX;
    }
    if (!may_name_step(line, size))
        return false;
    size = without_colours(line, size, plain);
    for (begin = plain; begin < plain + size; begin = next + 1) {
        next = memchr(begin, '\r', (size_t)(plain + size - begin));
        next = next != NULL ? next : plain + size;
        part = (struct cursor){ begin, next };
        is_found = parse_part(part, found) || is_found;
    }
    return is_found;
}

/* Every form has one of these. Most lines have none, and this is all that they cost. */
static bool may_name_step(const char *line, size_t size)
{
    const char *at, *end = line + size;

    for (at = line; at < end; at++) {
        if (*at == '/')
            return true;
        if ((*at == 's' || *at == 'i' || *at == 'l') && end - at >= 4 &&
            (memcmp(at, "step", 4) == 0 || memcmp(at, "iter", 4) == 0 ||
             memcmp(at, "loss", 4) == 0))
            return true;
    }
    return false;
}

bool step_line_loss(const char *line, size_t size, double *loss)
{
    struct cursor rest = { line, line + size };

    while (find(&rest, "loss"))
        if (take_loss(rest, loss))
            return true;
    return false;
}

const char *step_form_name(enum step_form form)
{
    return forms[form].name;
}

static bool parse_part(struct cursor part, struct step_line *found)
{
    int64_t        step, most = -1;
    enum step_form form;

    for (form = STEP_FORM_CALL + 1; form < STEP_FORMS; form++, most = -1)
        if (forms[form].parse(part, &step, &most)) {
            *found = (struct step_line){ .form = form, .step = step, .most = most };
            found->has_loss = step_line_loss(part.at, (size_t)(part.end - part.at), &found->loss);
            return true;
        }
    return false;
}

/* Leaves out "ESC [ ... m". */
static size_t without_colours(const char *from, size_t size, char *to)
{
    size_t i = 0, k, length = 0;

    while (i < size) {
        if (from[i] == '\033' && i + 1 < size && from[i + 1] == '[') {
            for (k = i + 2; k < size && (is_digit(from[k]) || from[k] == ';'); k++)
                ;
            if (k < size && from[k] == 'm') {
                i = k + 1;
                continue;
            }
        }
        to[length++] = from[i++];
    }
    return length;
}

/* --- the forms --------------------------------------------------------------- */

static bool muster_train(struct cursor line, int64_t *step, int64_t *most)
{
    return take(&line, "step ") && take_number(&line, step) && take(&line, "/") &&
           take_number(&line, most) && take(&line, "  loss ");
}

static bool deepspeed(struct cursor line, int64_t *step, int64_t *most)
{
    (void)most;
    return find(&line, "step=") && take_number(&line, step) && take(&line, ", skipped=");
}

static bool megatron(struct cursor line, int64_t *step, int64_t *most)
{
    if (!find(&line, "iteration "))
        return false;
    skip_blanks(&line);
    if (!take_number(&line, step) || !take(&line, "/"))
        return false;
    skip_blanks(&line);
    return take_number(&line, most) && take(&line, " |");
}

static bool torchtitan(struct cursor line, int64_t *step, int64_t *most)
{
    (void)most;
    if (!find(&line, "step: "))
        return false;
    skip_blanks(&line);
    return take_number(&line, step) && take(&line, "  ") && line.at < line.end;
}

static bool nanogpt(struct cursor line, int64_t *step, int64_t *most)
{
    (void)most;
    return take(&line, "iter ") && take_number(&line, step) && take(&line, ": loss ");
}

/* A dict of Python or JSON; the numbers may be quoted. */
static bool hugging_face(struct cursor line, int64_t *step, int64_t *most)
{
    char quote[2] = "", key[] = "?epoch?: ";

    (void)most;
    skip_blanks(&line);
    if (!take(&line, "{") || line.at == line.end || (*line.at != '\'' && *line.at != '"'))
        return false;
    quote[0] = key[0] = key[6] = *line.at;
    if (memmem(line.at, (size_t)(line.end - line.at), "loss", 4) == NULL || !find(&line, key))
        return false;
    take(&line, quote);
    return take_decimal(&line, step);
}

static bool rich(struct cursor line, int64_t *step, int64_t *most)
{
    while (find_of(&line, step, most))
        if (take(&line, " ") && take_time(&line) && take(&line, " "))
            return true;
    return false;
}

static bool tqdm(struct cursor line, int64_t *step, int64_t *most)
{
    while (find_of(&line, step, most))
        if (take(&line, " [") && take_time(&line) && take(&line, "<"))
            return true;
    return false;
}

/* --- parts of a line ---------------------------------------------------------- */

/* Finds the word, at the beginning of the line or behind what is no part of a name, and goes
 * behind it. */
static bool find(struct cursor *line, const char *word)
{
    const char *at = line->at;
    size_t      length = strlen(word);
    char        before;

    while ((at = memmem(at, (size_t)(line->end - at), word, length)) != NULL) {
        before = at > line->at ? at[-1] : ' ';
        if (before != '_' && before != '-' && !is_digit(before) &&
            !((before | 0x20) >= 'a' && (before | 0x20) <= 'z')) {
            line->at = at + length;
            return true;
        }
        at += length;
    }
    return false;
}

static bool take(struct cursor *line, const char *word)
{
    size_t length = strlen(word);

    if ((size_t)(line->end - line->at) < length || memcmp(line->at, word, length) != 0)
        return false;
    line->at += length;
    return true;
}

static void skip_blanks(struct cursor *line)
{
    while (line->at < line->end && *line->at == ' ')
        line->at++;
}

static bool take_number(struct cursor *line, int64_t *number)
{
    const char *begin = line->at;

    for (*number = 0; line->at < line->end && is_digit(*line->at); line->at++) {
        if (line->at - begin == DIGITS_MAX)
            return false;
        *number = *number * 10 + (*line->at - '0');
    }
    return line->at > begin;
}

/* "0.03", "3" */
static bool take_decimal(struct cursor *line, int64_t *millionths)
{
    int64_t unit = MILLIONTHS;

    if (!take_number(line, millionths) || *millionths > INT64_MAX / MILLIONTHS)
        return false;
    *millionths *= MILLIONTHS;
    if (!take(line, "."))
        return true;
    for (; line->at < line->end && is_digit(*line->at); line->at++) {
        unit /= 10;
        *millionths += unit * (*line->at - '0');
    }
    return true;
}

/* "00:10", "1:02:03" */
static bool take_time(struct cursor *line)
{
    int64_t number;
    int     parts = 0;

    do {
        if (!take_number(line, &number))
            return false;
        parts++;
    } while (take(line, ":"));
    return parts > 1;
}

/* The cursor is behind the word. A quote, a colon or "=" may follow, and then the number, which may
 * be quoted. */
static bool take_loss(struct cursor line, double *loss)
{
    static const char signs[] = { '+', '-', '.', 'e', 'E' };
    char              text[LOSS_SIZE];
    const char       *begin;
    char             *end;

    if (line.at < line.end && (*line.at == '\'' || *line.at == '"'))
        line.at++;
    skip_blanks(&line);
    if (line.at < line.end && (*line.at == ':' || *line.at == '='))
        line.at++;
    else if (line.at == line.end || line.at[-1] != ' ')
        return false;
    skip_blanks(&line);
    if (line.at < line.end && (*line.at == '\'' || *line.at == '"'))
        line.at++;
    for (begin = line.at; line.at < line.end && line.at - begin < LOSS_SIZE - 1; line.at++)
        if (!is_digit(*line.at) && memchr(signs, *line.at, sizeof signs) == NULL)
            break;
    memcpy(text, begin, (size_t)(line.at - begin));
    text[line.at - begin] = '\0';
    *loss = strtod(text, &end);
    return end > text && isfinite(*loss);
}

/* Finds "12/100", or tqdm's "12/?", as a word, and goes behind it. */
static bool find_of(struct cursor *line, int64_t *number, int64_t *most)
{
    const char   *slash = line->at, *begin = line->at;
    struct cursor part;

    while ((slash = memchr(slash, '/', (size_t)(line->end - slash))) != NULL) {
        for (part.at = slash; part.at > begin && is_digit(part.at[-1]); part.at--)
            ;
        part.end = slash;
        line->at = slash + 1;
        slash++;
        if (part.at == part.end || (part.at > begin && part.at[-1] != ' ') ||
            !take_number(&part, number) || part.at < part.end)
            continue;
        if (take_number(line, most))
            return true;
        *most = -1;
        if (take(line, "?"))
            return true;
    }
    return false;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* pattern.h - the regular expressions of a tokenizer.json, for PCRE2
 *
 * They are written for Oniguruma, in the syntax of Ruby, which Hugging Face's tokenizers use. What
 * has another meaning in PCRE2 is rewritten, and what cannot be is refused.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_PATTERN_H
#define MUSTER_PATTERN_H

#include <stdbool.h>

#include "buffer.h"
#include "err.h"

#define PATTERN_MAX 65536 /* bytes */

/* Adds the pattern to out, as PCRE2 understands it with PCRE2_UTF, PCRE2_UCP and PCRE2_MULTILINE.
 * looks_back: set if a match may depend on the text before it. -1 with err. */
int pattern_translate(const char *pattern, struct buffer *out, bool *looks_back,
                      struct error *err);

#endif

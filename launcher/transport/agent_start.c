/* agent_start.c - see agent_start.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "transport/agent_start.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exit_code.h"
#include "sanitize.h"
#include "transport/nonce.h"
#include "xalloc.h"

#define LINE_MAX_BYTES 4096 /* an answer is short; longer lines are noise */
#define NOISE_KEPT     4096
#define PUSHES_MAX     8    /* the script asks once for each place it may try */

/* What follows "sh -c" is one word in single quotes for every login shell: no
 * quote, '!' (csh), backslash (fish) or line break in it. When the agent is
 * there, only builtins run in front of it.
 *
 * n nonce, h sha256, s size, r "again"; b a cache directory, f the agent in it,
 * t its copy in the making, w why the places tried so far would not do.
 *
 * own: a directory or file that another user could have put there is not ours.
 * The line of text that is run in front of each push tells whether programs
 * may be executed there (noexec), and that a file can be made. A full disk ends
 * the first cat, and the second one takes the rest of the bytes off the wire. A
 * copy that is too short otherwise was cut: nobody waits for it any more.
 * Without any sha256 tool the size has to do. Of older agents two are kept.
 * When no directory will do, Python puts it into memory. */
const char bootstrap_script[] =
    "exec sh -c '"
    "read n h s r; "
    "own() { if [ -h \"$1\" ]; then false; else [ -O \"$1\" ]; fi; }; "
    "no() { w=\"$w; $b: $1\"; rm -f \"$t\"; }; "
    "u=muster-${LOGNAME:-me}; "
    "set -- \"${XDG_CACHE_HOME:-$HOME/.cache}/muster\" "
    "${XDG_RUNTIME_DIR:+\"$XDG_RUNTIME_DIR/muster\"} ${TMPDIR:+\"$TMPDIR/$u\"} "
    "\"/tmp/$u\" \"/dev/shm/$u\"; "
    "for b do f=$b/$h/muster-agent; "
    "if own \"$b\" && own \"$b/$h\" && own \"$f\" && [ -x \"$f\" ]; then "
    "if [ \"$r\" ]; then rm -f \"$f\"; else exec \"$f\" --nonce \"$n\"; fi; fi; done; "
    "umask 077; set -C; w=; "
    "for b do d=$b/$h; f=$d/muster-agent; t=$d/.$n; "
    "mkdir -p \"$d\" 2>/dev/null || { no \"cannot be made\"; continue; }; "
    "{ own \"$b\" && own \"$d\" && chmod 700 \"$b\" \"$d\"; } || { no \"not ours\"; continue; }; "
    "if [ -d \"$f\" ]; then no \"a directory is in the way\"; continue; fi; "
    "echo exit 0 2>/dev/null >\"$t\" || { no \"not writable\"; continue; }; "
    "chmod 700 \"$t\"; \"$t\" 2>/dev/null || { no noexec; continue; }; "
    "rm -f \"$t\"; echo \"$n missing\"; "
    "head -c \"$s\" | { cat 2>/dev/null >\"$t\" || { cat >/dev/null; false; }; } || "
    "{ no full; continue; }; "
    "[ $(wc -c <\"$t\") = \"$s\" ] || { rm -f \"$t\"; exit 1; }; "
    "g=$({ sha256sum || shasum -a 256 || openssl dgst -r -sha256; } 2>/dev/null <\"$t\"); "
    "case $g in \"\"|\"$h\"*) ;; *) no \"the copy has another sha256\"; continue; esac; "
    "chmod 700 \"$t\"; mv -f \"$t\" \"$f\" || { no \"mv failed\"; continue; }; "
    "(cd \"$b\" && ls -t | grep -x \"[0-9a-f]*\" | tail -n +4 | xargs rm -rf); "
    "exec \"$f\" --nonce \"$n\"; done; "
    "if command -v python3 >/dev/null; then echo \"no place for the agent$w\" >&2; "
    "echo \"$n missing\"; exec python3 -c \"import os,sys,hashlib;n,h,s,o,p,e=sys.argv[1:];"
    "b=sys.stdin.buffer.read(int(s));hashlib.sha256(b).hexdigest()==h or sys.exit(e);"
    "m=os.memfd_create(h,0);os.write(m,b);os.execv(p+str(m),[h,o,n])\" \"$n\" \"$h\" \"$s\" "
    "--nonce /proc/self/fd/ \"the copy has another sha256\"; fi; "
    "echo \"$n failed no place for the agent$w\"'";

/* The login shell finds the agent by itself: an sh in between would cost as much
 * as the agent. Every login shell we know has && and reads these words alike. */
#define USUAL_PLACE "\"$HOME/.cache/muster/%s/muster-agent\""

static void skip_noise(struct bootstrap *b, struct evbuffer *in, size_t size);
static int  take_answer(struct bootstrap *b, const char *answer, struct conn_failure *why);

char *bootstrap_command(const struct agent_file *agent, bool again)
{
    const char *hash = agent->sha256;

    if (again)
        return xstrdup(bootstrap_script);
    return xasprintf("test -x " USUAL_PLACE " && test -O " USUAL_PLACE " && "
                     "exec " USUAL_PLACE " --nonce - ; %s",
                     hash, hash, hash, bootstrap_script);
}

int bootstrap_start(struct bootstrap *b, const struct agent_file *agent, bool again,
                    struct evbuffer *out)
{
    *b = (struct bootstrap){ .agent = agent, .out = out };
    if (nonce_make(b->nonce) < 0)
        return -1;
    b->tail = evbuffer_new();
    if (b->tail == NULL)
        xalloc_die();
    evbuffer_add_printf(out, "%s %s %zu%s\n", b->nonce, agent->sha256, agent->size,
                        again ? " again" : "");
    return 0;
}

void bootstrap_clear(struct bootstrap *b)
{
    if (b->tail != NULL)
        evbuffer_free(b->tail);
    *b = (struct bootstrap){ 0 };
}

enum bootstrap_result bootstrap_feed(struct bootstrap *b, struct evbuffer *in,
                                     struct conn_failure *why)
{
    struct evbuffer_ptr at, end;
    size_t              length = evbuffer_get_length(in), size;
    char               *line;
    int                 result;

    while (length > 0) {
        at = evbuffer_search(in, b->nonce, FRAME_NONCE_CHARS, NULL);
        if (at.pos < 0) {
            /* A part of the nonce may be at the end. */
            if (length >= FRAME_NONCE_CHARS)
                skip_noise(b, in, length - (FRAME_NONCE_CHARS - 1));
            break;
        }
        skip_noise(b, in, (size_t)at.pos);
        if (b->noise > FRAME_NOISE_MAX)
            break; /* too late, even if it is an answer */
        end = evbuffer_search_eol(in, NULL, NULL, EVBUFFER_EOL_LF);
        length = evbuffer_get_length(in);
        if (end.pos < 0 && length < LINE_MAX_BYTES)
            break;
        if (end.pos < 0 || end.pos >= LINE_MAX_BYTES) {
            skip_noise(b, in, FRAME_NONCE_CHARS);
            length -= FRAME_NONCE_CHARS;
            continue;
        }
        line = evbuffer_readln(in, &size, EVBUFFER_EOL_LF);
        if (strlen(line) == size) {
            result = take_answer(b, line + FRAME_NONCE_CHARS, why);
        } else {
            b->noise += size + 1; /* no line of ours has a NUL in it */
            result = BOOTSTRAP_MORE;
        }
        free(line);
        if (result != BOOTSTRAP_MORE)
            return result;
        length = evbuffer_get_length(in);
    }
    if (b->noise > FRAME_NOISE_MAX)
        return conn_failure_set(why, EXIT_PROTOCOL, "more than %d KiB of noise from the login "
                                "shell and no answer in it", FRAME_NOISE_MAX >> 10);
    return BOOTSTRAP_MORE;
}

void bootstrap_end(struct bootstrap *b, struct evbuffer *in)
{
    skip_noise(b, in, evbuffer_get_length(in));
}

void bootstrap_noise(const struct bootstrap *b, char *text, size_t size)
{
    size_t count = evbuffer_get_length(b->tail);

    sanitize_tail((const char *)evbuffer_pullup(b->tail, -1), count, text, size);
}

void agent_end_text(int status, char *text, size_t size)
{
    const char *signal = status > 128 ? sigabbrev_np(status - 128) : NULL;

    if (signal != NULL)
        snprintf(text, size, "was killed by SIG%s", signal);
    else
        snprintf(text, size, "exited with status %d", status);
}

static void skip_noise(struct bootstrap *b, struct evbuffer *in, size_t size)
{
    size_t kept;

    b->noise += size;
    evbuffer_remove_buffer(in, b->tail, size);
    kept = evbuffer_get_length(b->tail);
    if (kept > NOISE_KEPT)
        evbuffer_drain(b->tail, kept - NOISE_KEPT);
}

static int take_answer(struct bootstrap *b, const char *answer, struct conn_failure *why)
{
    static const char failed[] = " failed ";
    char              reason[768];

    if (answer[0] == '\0')
        return BOOTSTRAP_OPEN;
    if (strcmp(answer, " missing") == 0) {
        if (++b->pushes > PUSHES_MAX)
            return conn_failure_set(why, EXIT_PROTOCOL, "the agent was asked for %d times",
                                    b->pushes);
        evbuffer_add_reference(b->out, b->agent->bytes, b->agent->size, NULL, NULL);
        return BOOTSTRAP_PUSH;
    }
    if (strncmp(answer, failed, strlen(failed)) == 0) {
        answer += strlen(failed);
        sanitize_tail(answer, strlen(answer), reason, sizeof reason);
        conn_failure_set(why, EXIT_CREATE, "%s",
                         reason[0] != '\0' ? reason : "the node does not say why");
        return conn_failure_hint(why, "the agent needs a directory on this node that allows "
                                      "programs: set XDG_CACHE_HOME there, or install python3");
    }
    b->noise += FRAME_NONCE_CHARS + strlen(answer) + 1; /* our own line, echoed */
    return BOOTSTRAP_MORE;
}

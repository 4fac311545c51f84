/* agent_start.c - see agent_start.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "transport/agent_start.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "exit_code.h"
#include "sanitize.h"
#include "transport/nonce.h"
#include "xalloc.h"

#define LINE_MAX_BYTES 4096 /* an answer is short; longer lines are noise */
#define TAIL_BYTES     4096
#define PUSHES_MAX     8    /* the script asks once per place that it tries */
#define PUSH_BYTES_PER_S (4 * 1024) /* a push that is slower is as good as none */

/* For every login shell, the text after "sh -c" is one word in single quotes, so it must
 * contain no quote, '!' (csh), backslash (fish) or line break. If the agent exists, only
 * builtins run before it.
 *
 * n nonce, h sha256, s size, r "again" or "elsewhere"; b a cache directory, f the agent in it,
 * t its unfinished copy, w why the previous places were rejected.
 *
 * own: is this file or directory ours? Another user could have put it there, so the script
 * checks this before it creates files inside. gone: removes what we have created; t is empty if
 * that is nothing. Before each push the script writes and executes a one-line program, which
 * shows whether files can be created and executed in this place (noexec). If the disk is full,
 * the first cat exits and the second one reads the remaining bytes. If a copy is too short for
 * another reason, the sender is gone. The agent gets the umask of the login, since ranks have the
 * agent's. Without any sha256 tool the script compares the size. It keeps two older agents. If no
 * directory is usable, Python holds the agent in memory. */
const char agent_start_script[] =
    "exec sh -c '"
    "read n h s r; "
    "own() { if [ -h \"$1\" ]; then false; else [ -O \"$1\" ]; fi; }; "
    "gone() { [ -z \"$t\" ] || { rm -f \"$t\"; rmdir \"$d\" \"$b\"; } 2>/dev/null; }; "
    "no() { w=\"$w; $b: $1\"; gone; }; "
    "u=muster-${LOGNAME:-me}; "
    "set -- \"${XDG_CACHE_HOME:-$HOME/.cache}/muster\" "
    "${XDG_RUNTIME_DIR:+\"$XDG_RUNTIME_DIR/muster\"} ${TMPDIR:+\"$TMPDIR/$u\"} "
    "\"/tmp/$u\" \"/dev/shm/$u\"; "
    "if [ \"$r\" = elsewhere ]; then { own \"$1/$h\" && rm -f \"$1/$h/muster-agent\"; } "
    "</dev/null >/dev/null 2>&1 & shift; fi; "
    "for b do f=$b/$h/muster-agent; "
    "if own \"$b\" && own \"$b/$h\" && own \"$f\" && [ -x \"$f\" ]; then "
    "if [ \"$r\" = again ]; then rm -f \"$f\"; else exec \"$f\" --nonce \"$n\"; fi; fi; done; "
    "m=$(umask); umask 077; set -C; w=; t=; trap \"gone; exit 1\" HUP TERM; "
    "for b do d=$b/$h; f=$d/muster-agent; t=; "
    "{ mkdir -p \"${b%/*}\"; mkdir \"$b\"; } 2>/dev/null; "
    "[ -d \"$b\" ] || { no \"cannot be made\"; continue; }; "
    "own \"$b\" || { no \"not yours\"; continue; }; mkdir \"$d\" 2>/dev/null; "
    "{ own \"$d\" && chmod 700 \"$b\" \"$d\"; } || { no \"not yours\"; continue; }; t=$d/.$n; "
    "if [ -d \"$f\" ]; then no \"a directory is in the way\"; continue; fi; "
    "echo exit 0 2>/dev/null >\"$t\" || { no \"not writable\"; continue; }; "
    "chmod 700 \"$t\"; \"$t\" 2>/dev/null || { no noexec; continue; }; "
    "rm -f \"$t\"; echo \"$n missing\"; "
    "head -c \"$s\" | { cat 2>/dev/null >\"$t\" || { cat >/dev/null; false; }; } || "
    "{ no full; continue; }; "
    "[ $(wc -c <\"$t\") = \"$s\" ] || { gone; exit 1; }; "
    "g=$({ sha256sum || shasum -a 256 || openssl dgst -r -sha256; } 2>/dev/null <\"$t\"); "
    "case $g in \"\"|\"$h\"*) ;; *) no \"the copy has another sha256\"; continue; esac; "
    "chmod 700 \"$t\"; mv -f \"$t\" \"$f\" || { no \"mv failed\"; continue; }; "
    "(cd \"$b\" && ls -t | grep -x \"[0-9a-f]*\" | tail -n +4 | xargs rm -rf; "
    "find . -name \".[0-9a-f]*\" -type f -mmin +60 -exec rm -f {} + 2>/dev/null); "
    "umask $m; exec \"$f\" --nonce \"$n\"; done; umask $m; "
    "if command -v python3 >/dev/null; then echo \"no place for the agent$w\" >&2; "
    "echo \"$n missing\"; exec python3 -c \"import os,sys,hashlib;n,h,s,o,p,e=sys.argv[1:];"
    "b=sys.stdin.buffer.read(int(s));hashlib.sha256(b).hexdigest()==h or sys.exit(e);"
    "m=os.memfd_create(h,0);os.write(m,b);os.execv(p+str(m),[h,o,n])\" \"$n\" \"$h\" \"$s\" "
    "--nonce /proc/self/fd/ \"the copy has another sha256\"; fi; "
    "echo \"$n failed no place for the agent$w\"'";

/* The login shell itself looks for the agent: an extra sh would cost as much time as the agent.
 * It checks the same as own() in the script. Every login shell that we know has && and reads
 * these words in the same way; csh needs the blank after '!'. */
#define CACHE       "\"$HOME/.cache/muster\""
#define CACHE_HASH  "\"$HOME/.cache/muster/%s\""
#define CACHE_AGENT "\"$HOME/.cache/muster/%s/muster-agent\""
#define IS_OWN(path) "test -O " path " && test ! -h " path " && "

static void skip_noise(struct agent_start *start, struct evbuffer *in, size_t size);
static int  take_answer(struct agent_start *start, const char *answer, struct conn_failure *why);

char *agent_start_command(const struct agent_file *agent, enum agent_push push)
{
    const char *hash = agent->sha256;

    if (push != PUSH_IF_MISSING)
        return xstrdup(agent_start_script);
    return xasprintf(IS_OWN(CACHE) IS_OWN(CACHE_HASH) IS_OWN(CACHE_AGENT) "test -x " CACHE_AGENT
                     " && exec " CACHE_AGENT " --nonce - ; %s",
                     hash, hash, hash, hash, hash, hash, agent_start_script);
}

int agent_start_begin(struct agent_start *start, const struct agent_file *agent,
                      enum agent_push push, struct evbuffer *out)
{
    static const char *const words[] = { [PUSH_IF_MISSING] = "", [PUSH_AGAIN] = " again",
                                         [PUSH_ELSEWHERE] = " elsewhere" };

    *start = (struct agent_start){ .agent = agent, .out = out };
    if (nonce_make(start->nonce) < 0)
        return -1;
    start->tail = evbuffer_new();
    if (start->tail == NULL)
        xalloc_die();
    evbuffer_add_printf(out, "%s %s %zu%s\n", start->nonce, agent->sha256, agent->size,
                        words[push]);
    return 0;
}

void agent_start_clear(struct agent_start *start)
{
    if (start->tail != NULL)
        evbuffer_free(start->tail);
    *start = (struct agent_start){ 0 };
}

enum agent_start_result agent_start_feed(struct agent_start *start, struct evbuffer *in,
                                         struct conn_failure *why)
{
    struct evbuffer_ptr at, end;
    size_t              length = evbuffer_get_length(in), size;
    char               *line;
    int                 result;

    while (length > 0) {
        at = evbuffer_search(in, start->nonce, FRAME_NONCE_CHARS, NULL);
        if (at.pos < 0) {
            /* The end may be part of the nonce. */
            if (length >= FRAME_NONCE_CHARS)
                skip_noise(start, in, length - (FRAME_NONCE_CHARS - 1));
            break;
        }
        skip_noise(start, in, (size_t)at.pos);
        if (start->noise > FRAME_NOISE_MAX)
            break; /* too late, even if it is an answer */
        end = evbuffer_search_eol(in, NULL, NULL, EVBUFFER_EOL_LF);
        length = evbuffer_get_length(in);
        if (end.pos < 0 && length < LINE_MAX_BYTES)
            break;
        if (end.pos < 0 || end.pos >= LINE_MAX_BYTES) {
            skip_noise(start, in, FRAME_NONCE_CHARS);
            length -= FRAME_NONCE_CHARS;
            continue;
        }
        line = evbuffer_readln(in, &size, EVBUFFER_EOL_LF);
        if (strlen(line) == size) {
            result = take_answer(start, line + FRAME_NONCE_CHARS, why);
        } else {
            start->noise += size + 1; /* no line of the script has a NUL */
            result = AGENT_START_MORE;
        }
        free(line);
        if (result != AGENT_START_MORE)
            return result;
        length = evbuffer_get_length(in);
    }
    if (start->noise > FRAME_NOISE_MAX)
        return conn_failure_set(why, EXIT_PROTOCOL,
                                "more than %d KiB of noise from the login shell, but no answer",
                                FRAME_NOISE_MAX >> 10);
    return AGENT_START_MORE;
}

bool agent_start_goes_on(struct agent_start *start, uint64_t left)
{
    double most_s, took_s;
    bool   has_moved = left != start->left;

    if (start->pushes == 0)
        return false;
    start->left = left;
    most_s = (double)start->agent->size / PUSH_BYTES_PER_S;
    took_s = (double)(clock_now_ns() - start->pushed_ns) / NS_PER_S;
    return has_moved && took_s < most_s;
}

void agent_start_end(struct agent_start *start, struct evbuffer *in)
{
    skip_noise(start, in, evbuffer_get_length(in));
}

void agent_start_noise(const struct agent_start *start, char *text, size_t size)
{
    size_t count = evbuffer_get_length(start->tail);

    sanitize_tail((const char *)evbuffer_pullup(start->tail, -1), count, text, size);
}

void agent_start_hint(const struct agent_start *start, int status, const char *to,
                      struct conn_failure *why)
{
    if (start->has_echo || status == 0)
        conn_failure_hint(why, "another command seems to run in place of ours: is there a command= "
                               "in ~/.ssh/authorized_keys, or a ForceCommand in sshd_config? try: "
                               "ssh %s true", to);
    else if (status > 0)
        conn_failure_hint(why, "try: ssh %s true", to);
}

void agent_end_text(int status, char *text, size_t size)
{
    if (status > 128 && status - 128 < NSIG)
        snprintf(text, size, "was killed by %s", signal_name(status - 128).text);
    else if (status == EXIT_LOST)
        snprintf(text, size,
                 "received no answer in time and killed its ranks (was muster stopped, or the "
                 "connection cut?)");
    else
        snprintf(text, size, "exited with status %d", status);
}

static void skip_noise(struct agent_start *start, struct evbuffer *in, size_t size)
{
    size_t length;

    start->noise += size;
    evbuffer_remove_buffer(in, start->tail, size);
    length = evbuffer_get_length(start->tail);
    if (length > TAIL_BYTES)
        evbuffer_drain(start->tail, length - TAIL_BYTES);
}

static int take_answer(struct agent_start *start, const char *answer, struct conn_failure *why)
{
    static const char failed[] = " failed ";
    char              reason[768];

    if (answer[0] == '\0')
        return AGENT_START_OPEN;
    if (strcmp(answer, " missing") == 0) {
        if (++start->pushes > PUSHES_MAX)
            return conn_failure_set(why, EXIT_PROTOCOL, "the node asked for the agent %d times",
                                    start->pushes);
        start->pushed_ns = clock_now_ns();
        evbuffer_add_reference(start->out, start->agent->bytes, start->agent->size, NULL, NULL);
        return AGENT_START_PUSH;
    }
    if (strncmp(answer, failed, strlen(failed)) == 0) {
        answer += strlen(failed);
        sanitize_tail(answer, strlen(answer), reason, sizeof reason);
        conn_failure_set(why, EXIT_CREATE, "%s",
                         reason[0] != '\0' ? reason : "the node gave no reason");
        return conn_failure_hint(why,
                                 "the agent needs a directory on this node from which programs "
                                 "may run: set XDG_CACHE_HOME there, or install python3");
    }
    start->has_echo = start->has_echo || (answer[0] == ' ' &&
                      strncmp(answer + 1, start->agent->sha256, strlen(start->agent->sha256)) == 0);
    start->noise += FRAME_NONCE_CHARS + strlen(answer) + 1;
    return AGENT_START_MORE;
}

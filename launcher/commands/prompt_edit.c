/* prompt_edit.c - see prompt_edit.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "commands/prompt_edit.h"

#ifdef HAVE_LIBEDIT

#include <fcntl.h>
#include <histedit.h>
#include <locale.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#include "commands/prompt_process.h"
#include "history/typed_lines.h"
#include "xalloc.h"

#define CTRL_C '\003'

struct prompt_edit {
    FILE            *out; /* buffers what libedit writes to stderr */
    EditLine        *editor;
    History         *lines;
    const char      *prompt;
    enum prompt_read result;
};

static void  read_history(struct prompt_edit *edit);
static char *prompt_of(EditLine *editor);
static int   next_character(EditLine *editor, wchar_t *character);
static void  enter_locale(void);
static void  leave_locale(void);

struct prompt_edit *prompt_edit_new(void)
{
    struct prompt_edit *edit = xcalloc(1, sizeof *edit);
    int                 fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);

    enter_locale();
    edit->out = fd >= 0 ? fdopen(fd, "w") : NULL;
    edit->editor = edit->out != NULL ? el_init("muster", stdin, edit->out, edit->out) : NULL;
    edit->lines = history_init();
    if (edit->editor == NULL || edit->lines == NULL)
        xalloc_die();
    el_set(edit->editor, EL_CLIENTDATA, edit);
    el_set(edit->editor, EL_PROMPT, prompt_of);
    el_set(edit->editor, EL_EDITOR, "emacs");
    el_set(edit->editor, EL_BIND, "^R", "em-inc-search-prev", NULL);
    el_set(edit->editor, EL_HIST, history, edit->lines);
    el_source(edit->editor, NULL);
    /* We read Ctrl-C as a character: as a signal it would also end what our output is piped to. */
    el_set(edit->editor, EL_SETTY, "-d", "-isig", NULL);
    el_set(edit->editor, EL_GETCFN, next_character);
    read_history(edit);
    leave_locale();
    return edit;
}

void prompt_edit_free(struct prompt_edit *edit)
{
    if (edit == NULL)
        return;
    el_end(edit->editor);
    history_end(edit->lines);
    fclose(edit->out);
    free(edit);
}

enum prompt_read prompt_edit_read(struct prompt_edit *edit, const char *prompt, char **line)
{
    const char *text;
    int         size;
    HistEvent   event;

    edit->prompt = prompt;
    edit->result = PROMPT_READ;
    enter_locale();
    el_resize(edit->editor);
    /* Before the prompt: a Ctrl-D that the terminal itself takes would be lost. */
    el_set(edit->editor, EL_PREP_TERM, 1);
    text = el_gets(edit->editor, &size);
    if (edit->result == PROMPT_READ && (text == NULL || size <= 0))
        edit->result = PROMPT_END;
    if (edit->result == PROMPT_READ) {
        *line = xstrndup(text, strcspn(text, "\n"));
        if (typed_lines_keep(*line))
            history(edit->lines, &event, H_ENTER, *line);
    }
    fflush(edit->out);
    leave_locale();
    return edit->result;
}

static void read_history(struct prompt_edit *edit)
{
    struct strlist typed = { 0 };
    HistEvent      event;
    size_t         i;

    history(edit->lines, &event, H_SETSIZE, TYPED_LINES_MAX);
    history(edit->lines, &event, H_SETUNIQUE, 1);
    typed_lines_read(&typed);
    for (i = 0; i < typed.count; i++)
        history(edit->lines, &event, H_ENTER, typed.item[i]);
    strlist_clear(&typed);
}

static char *prompt_of(EditLine *editor)
{
    struct prompt_edit *edit;

    el_get(editor, EL_CLIENTDATA, &edit);
    return (char *)(uintptr_t)edit->prompt;
}

/* libedit's own would try again after a signal. Returns 1; 0 at the end; -1: edit->result says why
 * there is none. */
static int next_character(EditLine *editor, wchar_t *character)
{
    struct prompt_edit *edit;
    mbstate_t           state = { 0 };
    size_t              rc = (size_t)-2; /* more bytes are needed */
    char                byte = '\0';

    el_get(editor, EL_CLIENTDATA, &edit);
    while (rc == (size_t)-2) {
        if (prompt_process_wait_input() < 0) {
            edit->result = prompt_process_ending() != 0 ? PROMPT_SIGNAL : PROMPT_DROPPED;
            return -1;
        }
        if (read(STDIN_FILENO, &byte, 1) != 1) {
            edit->result = PROMPT_END;
            return 0;
        }
        if (byte == CTRL_C) {
            edit->result = PROMPT_DROPPED;
            return -1;
        }
        rc = mbrtowc(character, &byte, 1, &state);
        if (rc == (size_t)-1) { /* drop what came before, or also this byte */
            state = (mbstate_t){ 0 };
            rc = mbrtowc(character, &byte, 1, &state);
        }
        if (rc == (size_t)-1) {
            state = (mbstate_t){ 0 };
            rc = (size_t)-2;
        }
    }
    return 1;
}

/* muster itself takes all text as bytes. libedit needs to know how wide a character is; most text
 * is UTF-8, whatever the locale is. */
static void enter_locale(void)
{
    setlocale(LC_CTYPE, "");
    if (MB_CUR_MAX == 1)
        setlocale(LC_CTYPE, "C.UTF-8");
}

static void leave_locale(void)
{
    setlocale(LC_CTYPE, "C");
}

#else

#include <stddef.h>

struct prompt_edit *prompt_edit_new(void)
{
    return NULL;
}

enum prompt_read prompt_edit_read(struct prompt_edit *edit, const char *prompt, char **line)
{
    (void)edit, (void)prompt, (void)line;
    return PROMPT_END;
}

void prompt_edit_free(struct prompt_edit *edit)
{
    (void)edit;
}

#endif

/* test_hang_nights.c - 100 trainings at night, each of which stops: --hang-timeout=auto sees all
 * stops, and takes nothing else for one
 *
 * Each night has a trainer whose lines are known, steps of its own length, a slow first step,
 * evaluations and checkpoints without output, and once data that is late; the times are drawn at
 * random. The bytes go to the agent's step_watch, and with each heartbeat what it has found to
 * the launcher's step_pace.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "elastic/hang_rule.h"
#include "steps/step_watch.h"

#define NIGHTS      100
#define NIGHT_S     (4 * 3600.0)
#define HEARTBEAT_S 2.0
#define NS          1e9

/* The form of a step's line. */
static const char *const forms[] = {
    "step %d/999999  loss 2.345678  lr 1.000e-04\n",
    "[Rank 0] step=%d, skipped=0, lr=[1e-05], mom=[(0.9, 0.999)]\n",
    " iteration %8d/  999999 | consumed samples:       100 | loss: 2.1 |\n",
    "\033[32mstep: %2d  loss:  7.1234\033[0m  memory: 10GiB\n",
    "iter %d: loss 2.3456, time 12.00ms, mfu 1.00%%\n",
    "{'loss': 2.31, 'grad_norm': 1.2, 'epoch': 0.%06d}\n",
    "\r 12%%|##        | %d/999999 [00:10<01:15,  1.16it/s]",
    "\rEpoch 0/9 ---- %d/999999 0:00:10 - 0:01:15 1.16it/s",
};
#define FORMS (sizeof forms / sizeof *forms)

struct night {
    uint64_t          random;
    const char       *form;
    double            step_s, evaluation_s, checkpoint_s, late_s; /* the usual times */
    int               evaluation_steps, checkpoint_steps, late_step;
    double            now_s, look_s;
    double            stepped_s; /* negative: not yet */
    double            longest_s; /* between two steps */
    struct step_watch watch;
    struct step_pace  pace;
    uint64_t          told;  /* of watch.count */
    double            at_s;  /* of the last step that the launcher knows; negative: none */
    double            alarm_s; /* negative: there was none */
};

/* Returns a number from 0 to 1 (Marsaglia's xorshift64*). */
static double draw(struct night *night)
{
    night->random ^= night->random >> 12;
    night->random ^= night->random << 25;
    night->random ^= night->random >> 27;
    return (double)((night->random * UINT64_C(0x2545f4914f6cdd1d)) >> 11) / (double)(1ull << 53);
}

/* Returns a time whose logarithm is distributed about as a normal one. */
static double draw_s(struct night *night, double median_s, double sigma)
{
    double sum = -6;
    int    i;

    for (i = 0; i < 12; i++)
        sum += draw(night);
    return median_s * exp(sigma * sum);
}

static void begin(struct night *night, int number)
{
    *night = (struct night){ .random = UINT64_C(0x9e3779b97f4a7c15) * (uint64_t)(number + 1),
                             .form = forms[(size_t)number % FORMS], .at_s = -1, .alarm_s = -1,
                             .stepped_s = -1 };
    step_watch_begin(&night->watch, NULL);
    night->step_s = draw_s(night, 2, 1.5);
    night->evaluation_s = draw_s(night, 40, 0.8);
    night->checkpoint_s = draw_s(night, 30, 0.7);
    night->late_s = 20;
    night->evaluation_steps = 50 + (int)(1000 * draw(night));
    night->checkpoint_steps = 100 + (int)(2000 * draw(night));
    night->late_step = (int)(3000 * draw(night));
}

/* A heartbeat: the launcher hears of a step, and judges. */
static void look(struct night *night)
{
    struct hang_signs signs = { .limit_s = HANG_AUTO, .pace = &night->pace };
    double            limit_s;

    if (night->watch.count != night->told) {
        night->told = night->watch.count;
        night->at_s = (double)night->watch.at_ns / NS;
        step_pace_note(&night->pace, night->at_s);
    }
    signs.step_s = night->at_s < 0 ? -1 : night->now_s - night->at_s;
    if (night->alarm_s < 0 && hang_judge(&signs, &limit_s) != HANG_NO)
        night->alarm_s = night->now_s;
}

/* Lets the time pass; threads of the ranks print what is no step. */
static void pass(struct night *night, double seconds)
{
    static const char chatter[] = "\nalive 7/9, step 12 soon\n";
    double            until_s = night->now_s + seconds;

    for (; night->look_s <= until_s; night->look_s += HEARTBEAT_S) {
        night->now_s = night->look_s;
        look(night);
    }
    night->now_s = until_s;
    step_watch_add(&night->watch, chatter, sizeof chatter - 1, false,
                   (int64_t)(night->now_s * NS));
}

static void step(struct night *night, int number)
{
    char line[200];
    int  size;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    size = snprintf(line, sizeof line, night->form, number);
#pragma GCC diagnostic pop
    step_watch_add(&night->watch, line, (size_t)size, false, (int64_t)(night->now_s * NS));
    if (night->stepped_s >= 0 && night->now_s - night->stepped_s > night->longest_s)
        night->longest_s = night->now_s - night->stepped_s;
    night->stepped_s = night->now_s;
}

/* How late may it be noticed that there are no more steps? The launcher hears of steps with
 * heartbeats. */
static double latest_s(const struct night *night)
{
    double steps_s = 10 * (1.5 * night->step_s + HEARTBEAT_S);
    double pauses_s = 2 * (night->longest_s + HEARTBEAT_S);

    return fmax(300, fmax(steps_s, pauses_s)) + HEARTBEAT_S;
}

/* Trains until the ranks stop. */
static void train(struct night *night)
{
    double stop_s = NIGHT_S * (0.1 + 0.9 * draw(night));
    int    number;

    pass(night, draw_s(night, 60, 1) + night->step_s); /* compiling */
    for (number = 1; night->now_s < stop_s; number++) {
        pass(night, draw_s(night, night->step_s, 0.2));
        step(night, number);
        if (number % night->evaluation_steps == 0)
            pass(night, draw_s(night, night->evaluation_s, 0.1));
        if (number % night->checkpoint_steps == 0)
            pass(night, draw_s(night, night->checkpoint_s, 0.3));
        if (number == night->late_step)
            pass(night, night->late_s);
    }
}

static void test_nights(void **state)
{
    struct night night;
    double       longest_s = 0;
    int          i, false_alarms = 0;

    (void)state;
    for (i = 0; i < NIGHTS; i++) {
        begin(&night, i);
        train(&night);
        if (night.watch.count < 4)
            fail_msg("night %d: %s shows no steps", i, night.form);
        if (night.alarm_s >= 0) {
            print_message("night %d: taken for a hang, after %.0f s, at steps of %.1f s\n", i,
                          night.alarm_s, night.step_s);
            false_alarms++;
            continue;
        }
        pass(&night, 12 * 3600);
        if (night.alarm_s < 0)
            fail_msg("night %d: its stop was not noticed", i);
        longest_s = fmax(longest_s, night.alarm_s - night.stepped_s);
        if (night.alarm_s - night.stepped_s > latest_s(&night))
            fail_msg("night %d: noticed after %.0f s, not %.0f s", i,
                     night.alarm_s - night.stepped_s, latest_s(&night));
    }
    print_message("%d of %d nights without a false alarm; the last stop was noticed after %.0f s\n",
                  NIGHTS - false_alarms, NIGHTS, longest_s);
    assert_true(false_alarms <= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_nights) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

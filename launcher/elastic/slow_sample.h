/* slow_sample.h - how fast the GPUs and network ports of a node are, as its agent says
 *
 * A sample is a list of points. In each kind of point more is better, so that one rule compares
 * them all (slow_node.h).
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_SLOW_SAMPLE_H
#define MUSTER_SLOW_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#define SLOW_DEVICES_MAX 32 /* GPUs of a node, and ports: more do not count */
#define SLOW_BUSY        50 /* percent: a GPU with less to do slows itself down */
#define SLOW_NAME_SIZE   32
#define SLOW_DETAIL_SIZE 96

/* The first kind counts first when muster says why a node is slow. */
enum slow_kind {
    SLOW_PORT_STATE, /* 1: the port is active; 0: it is not */
    SLOW_CLOCK,      /* part of the highest clock of a GPU, if it is busy */
    SLOW_BRAKE,      /* 1: nothing slows the GPU down; 0: heat, or too little power */
    SLOW_PORT_RATE,  /* Gb/s, if the port is active */
    SLOW_PCIE,       /* GT/s of all lanes of a GPU, if it is busy */
    SLOW_HEAT,       /* 1: no processor is too hot; 0: one is */
    SLOW_PACE,       /* steps in a second, of the rank that is ahead */
    SLOW_KINDS
};

struct slow_point {
    enum slow_kind kind;
    char           device[SLOW_NAME_SIZE]; /* "5", "mlx5_0/1", "" */
    double         value;
    double         scale;                    /* value times scale is in MHz, Gb/s or GT/s */
    char           detail[SLOW_DETAIL_SIZE]; /* "hardware thermal slowdown, 412 of 700 W, 88 C" */
};

/* Starts as { 0 }. */
struct slow_sample {
    struct slow_point *point;
    size_t             points;
    double             at_s;    /* when it came; valid if points > 0 */
    double             every_s; /* between two samples of this node */
};

void slow_sample_clear(struct slow_sample *sample);

/* Takes the body of SAMPLES, which may hold anything: what makes no sense is left out. */
void slow_sample_read(struct slow_sample *sample, const json_t *body, double now_s);
/* Begins a sample of a node that sends none, for slow_sample_add_pace(). */
void slow_sample_begin(struct slow_sample *sample, double every_s, double now_s);
/* Adds how many steps its ranks do in a second, once. */
void slow_sample_add_pace(struct slow_sample *sample, double pace);

/* The steps of a node so far. Starts as { 0 }. */
struct slow_pace {
    struct slow_mark {
        int64_t step;
        double  at_s;
    } old, young; /* valid by marks */
    int marks;
};

/* The last step of a node: at that time it was done. Returns how many it does in a second, from
 * window_s to twice that before; negative: not known. */
double slow_pace_note(struct slow_pace *pace, int64_t step, double at_s, double window_s);

#endif

/* setup.h - all that a training needs, before its first step and after the last
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_SETUP_H
#define MUSTER_SETUP_H

#include "data/text_source.h"
#include "report/monitor.h"
#include "train/evaluation.h"
#include "train/notice.h"
#include "train/save.h"
#include "train/step.h"
#include "train/train_options.h"
#include "weights/tuning.h"

struct train {
    struct train_options options;
    struct ds_config    *config;
    struct world         world;
    struct ops          *ops;
    struct model        *model;
    uint64_t             base;    /* see start_training() */
    struct tuning        tuning;
    const char          *from; /* the model's directory; NULL: its shape has a name */
    bool                 has_weights; /* they are in that directory */
    size_t               activations, parked; /* bytes, of a pass; parked: on the host */
    struct text_source   source; /* the tokens of text */
    struct samples       samples;
    struct data_shards  *shards; /* NULL: no --data-shards */
    struct zero_device  *device; /* NULL: zero uses the CPU */
    struct zero         *zero, *frozen; /* frozen NULL: no parameter is frozen */
    struct state         state;
    struct step          step;
    struct evaluation    evaluation; /* open if there is --eval-data */
    struct monitor      *monitor; /* NULL: not configured, or this is not rank 0 */
    int64_t              last; /* the last step */
    struct save          save;
    int64_t              saved; /* the step of the last save; -1: none */
    struct notice        notice;
};

/* Connects the ranks, reads configuration, model and data, and sets parameters and state to where
 * the training begins. The caller has set the options. Rank 0 prints the plan. -1 with err, and
 * then the caller ends the program. */
int setup_open(struct train *train, struct error *err);

/* All ranks call it after the last step. */
int setup_close(struct train *train, struct error *err);

#endif

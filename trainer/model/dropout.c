/* dropout.c - a model's dropout, see model_run.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "model/model_run.h"

struct dropout model_dropout(const struct model *model, int layer, enum drop_site site)
{
    const struct model_config *c = &model->config;
    const double rates[] = { [DROP_EMBEDDED] = c->embedding_dropout,
                             [DROP_WEIGHTS] = c->attention_dropout,
                             [DROP_MIXED] = c->hidden_dropout,
                             [DROP_DOWN] = c->hidden_dropout };
    const double rate = site < DROP_ADAPTERS ? rates[site] : model->lora_dropout;

    return (struct dropout){ .rate = model->drops ? rate : 0, .seed = model->drop_seed,
                             .sample = model->run->sample,
                             .site = (uint32_t)(layer * DROP_SITES + (int)site) };
}

const void *drop_rows(struct model *model, int layer, enum drop_site site, void *room,
                      const void *x)
{
    const struct dropout drop = model_dropout(model, layer, site);

    if (drop.rate == 0)
        return x;
    model->ops->dropout(model->ops, &drop, room, x, model->run->sequences,
                        (size_t)model->run->length * (size_t)model->config.width);
    return room;
}

/* model_keys.c - see model_keys.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "model/shape/model_keys.h"

#define FIELD(NAME) offsetof(struct model_config, NAME)

const struct model_kind_name model_kind_names[MODEL_KINDS] = {
    [MODEL_GPT2] = { "gpt2", "GPT2LMHeadModel" },
    [MODEL_BERT] = { "bert", "BertForMaskedLM" },
    [MODEL_ROBERTA] = { "roberta", "RobertaForMaskedLM" },
    [MODEL_LLAMA] = { "llama", "LlamaForCausalLM" },
    [MODEL_MISTRAL] = { "mistral", "MistralForCausalLM" },
    [MODEL_QWEN2] = { "qwen2", "Qwen2ForCausalLM" },
    [MODEL_QWEN3] = { "qwen3", "Qwen3ForCausalLM" },
};

/* Width stands before what may follow from it. */
const struct number_key number_keys[] = {
    { "vocab_size", IN_GPT2 | IN_BERTS, FIELD(vocabulary), KEY_REQUIRED, false },
    { "vocab_size", IN_LLAMA | IN_MISTRAL, FIELD(vocabulary), 32000, false },
    { "vocab_size", IN_QWENS, FIELD(vocabulary), 151936, false },
    { "n_positions", IN_GPT2, FIELD(positions), 1024, false },
    { "max_position_embeddings", IN_BERT, FIELD(positions), 512, false },
    { "max_position_embeddings", IN_ROBERTA, FIELD(positions), 514, false },
    { "max_position_embeddings", IN_LLAMA, FIELD(positions), 2048, false },
    { "max_position_embeddings", IN_MISTRAL, FIELD(positions), 131072, false },
    { "max_position_embeddings", IN_QWENS, FIELD(positions), 32768, false },
    { "type_vocab_size", IN_BERT, FIELD(types), 2, false },
    { "type_vocab_size", IN_ROBERTA, FIELD(types), 1, false },
    { "n_embd", IN_GPT2, FIELD(width), KEY_REQUIRED, false },
    { "hidden_size", IN_BERTS, FIELD(width), KEY_REQUIRED, false },
    { "hidden_size", IN_FAMILY, FIELD(width), 4096, false },
    { "n_head", IN_GPT2, FIELD(heads), KEY_REQUIRED, false },
    { "num_attention_heads", IN_BERTS, FIELD(heads), KEY_REQUIRED, false },
    { "num_attention_heads", IN_FAMILY, FIELD(heads), 32, false },
    { "num_key_value_heads", IN_LLAMA, FIELD(kv_heads), 0, true },
    { "num_key_value_heads", IN_MISTRAL, FIELD(kv_heads), 8, true },
    { "num_key_value_heads", IN_QWENS, FIELD(kv_heads), 32, true },
    { "head_dim", IN_LLAMA | IN_MISTRAL | IN_QWEN2, FIELD(head_width), 0, true },
    { "head_dim", IN_QWEN3, FIELD(head_width), 128, true },
    { "n_layer", IN_GPT2, FIELD(blocks), KEY_REQUIRED, false },
    { "num_hidden_layers", IN_BERTS, FIELD(blocks), KEY_REQUIRED, false },
    { "num_hidden_layers", IN_FAMILY, FIELD(blocks), 32, false },
    { "n_inner", IN_GPT2, FIELD(inner), KEY_FOUR_WIDTHS, false },
    { "intermediate_size", IN_BERTS, FIELD(inner), KEY_REQUIRED, false },
    { "intermediate_size", IN_LLAMA, FIELD(inner), 11008, false },
    { "intermediate_size", IN_MISTRAL, FIELD(inner), 14336, false },
    { "intermediate_size", IN_QWENS, FIELD(inner), 22016, false },
    { NULL, 0, 0, 0, false },
};

/* Where a key for dropout is missing, GPT-2 and BERT of Hugging Face use 0.1; this program uses
 * none. BERT has no separate key for embeddings. */
const struct real_key real_keys[] = {
    { "layer_norm_epsilon", IN_GPT2, FIELD(norm_epsilon), 1e-5 },
    { "layer_norm_eps", IN_BERT, FIELD(norm_epsilon), 1e-12 },
    { "layer_norm_eps", IN_ROBERTA, FIELD(norm_epsilon), 1e-5 },
    { "rms_norm_eps", IN_FAMILY, FIELD(norm_epsilon), 1e-6 },
    { "initializer_range", IN_ALL, FIELD(deviation), 0.02 },
    { "embd_pdrop", IN_GPT2, FIELD(embedding_dropout), 0 },
    { "attn_pdrop", IN_GPT2, FIELD(attention_dropout), 0 },
    { "resid_pdrop", IN_GPT2, FIELD(hidden_dropout), 0 },
    { "hidden_dropout_prob", IN_BERTS, FIELD(embedding_dropout), 0 },
    { "hidden_dropout_prob", IN_BERTS, FIELD(hidden_dropout), 0 },
    { "attention_probs_dropout_prob", IN_BERTS, FIELD(attention_dropout), 0 },
    { "attention_dropout", IN_FAMILY, FIELD(attention_dropout), 0 },
    { NULL, 0, 0, 0 },
};

const struct flag_key flag_keys[] = {
    { "tie_word_embeddings", IN_FAMILY, FIELD(is_untied), true },
    { "attention_bias", IN_LLAMA | IN_QWEN3, FIELD(qkv_bias), false },
    { "attention_bias", IN_LLAMA | IN_QWEN3, FIELD(project_bias), false },
    { "mlp_bias", IN_LLAMA, FIELD(inner_bias), false },
    { NULL, 0, 0, false },
};

const struct fixed_key fixed_keys[] = {
    { "activation_function", "\"gelu_new\"", IN_GPT2 },
    { "scale_attn_weights", "true", IN_GPT2 },
    { "scale_attn_by_inverse_layer_idx", "false", IN_GPT2 },
    { "add_cross_attention", "false", IN_GPT2 | IN_BERTS },
    { "tie_word_embeddings", "true", IN_GPT2 | IN_BERTS },
    { "hidden_act", "\"gelu\"", IN_BERTS },
    { "hidden_act", "\"silu\"", IN_FAMILY },
    { "position_embedding_type", "\"absolute\"", IN_BERTS },
    { "is_decoder", "false", IN_BERTS },
    { "pruned_heads", "{}", IN_ALL },
    { NULL, NULL, 0 },
};

/* auto_map is not here: it names code beside the model, which may compute something else. */
const struct other_key other_keys[] = {
    /* What code reads. */
    { "model_type", IN_ALL },
    { "rope_theta", IN_FAMILY },
    { "rope_scaling", IN_FAMILY },
    { "rope_parameters", IN_FAMILY },
    { "original_max_position_embeddings", IN_FAMILY },
    { "layer_types", IN_FAMILY },
    { "sliding_window", IN_MISTRAL | IN_QWENS },
    { "use_sliding_window", IN_QWENS },
    { "max_window_layers", IN_QWENS },
    /* Where the file comes from, and how the weights are stored and loaded. */
    { "architectures", IN_ALL },
    { "name_or_path", IN_ALL },
    { "transformers_version", IN_ALL },
    { "unsloth_*", IN_ALL },
    { "dtype", IN_ALL },
    { "torch_dtype", IN_ALL },
    { "use_bfloat16", IN_ALL },
    { "torchscript", IN_ALL },
    { "tokenizer_class", IN_ALL },
    { "model_max_length", IN_ALL }, /* of the tokenizer */
    { "max_sequence_length", IN_FAMILY },
    { "n_ctx", IN_GPT2 },
    /* The same numbers by another way. */
    { "attn_implementation", IN_ALL },
    { "chunk_size_feed_forward", IN_ALL },
    { "gradient_checkpointing", IN_ALL },
    { "pretraining_tp", IN_ALL },
    { "reorder_and_upcast_attn", IN_GPT2 },
    /* What a call returns, and how text is generated. */
    { "use_cache", IN_ALL },
    { "return_dict*", IN_ALL },
    { "use_return_dict", IN_ALL },
    { "output_*", IN_ALL },
    { "*_token_id", IN_ALL },
    { "bad_words_ids", IN_ALL },
    { "begin_suppress_tokens", IN_ALL },
    { "suppress_tokens", IN_ALL },
    { "diversity_penalty", IN_ALL },
    { "do_sample", IN_ALL },
    { "early_stopping", IN_ALL },
    { "exponential_decay_length_penalty", IN_ALL },
    { "length_penalty", IN_ALL },
    { "repetition_penalty", IN_ALL },
    { "max_length", IN_ALL },
    { "max_new_tokens", IN_ALL },
    { "min_length", IN_ALL },
    { "no_repeat_ngram_size", IN_ALL },
    { "encoder_no_repeat_ngram_size", IN_ALL },
    { "num_beams", IN_ALL },
    { "num_beam_groups", IN_ALL },
    { "num_return_sequences", IN_ALL },
    { "prefix", IN_ALL },
    { "remove_invalid_values", IN_ALL },
    { "temperature", IN_ALL },
    { "top_k", IN_ALL },
    { "top_p", IN_ALL },
    { "typical_p", IN_ALL },
    /* Other heads than that for words. */
    { "finetuning_task", IN_ALL },
    { "task_specific_params", IN_ALL },
    { "problem_type", IN_ALL },
    { "id2label", IN_ALL },
    { "label2id", IN_ALL },
    { "num_labels", IN_ALL },
    { "classifier_dropout", IN_ALL },
    { "summary_*", IN_GPT2 },
    { "predict_special_tokens", IN_GPT2 },
    { "directionality", IN_BERTS },
    { "pooler_*", IN_BERTS },
    { NULL, 0 },
};

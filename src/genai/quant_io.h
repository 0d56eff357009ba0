#pragma once
#include "genai/graph_bundle.h"

// What the border of a quantized decoder looks like. The pass quantized-io moves the border to the integers; this tells which dtypes they
// must have, and gives the runner the parameters under the names that it asks for.
namespace edgec::genai {

struct DecoderShapes {
  int64_t ar_len = 1, context_len = 1, head_dim = 1, vocab_size = 1;
};
// From the signature: tokens [1, ar], mask [1, 1, ar, context], caches [..., head_dim, context - ar] or turned, logits [1, ar, vocab]. None
// when the graph is no decoder of that form.
std::optional<DecoderShapes> decoder_shapes(const Method& method);

// The dtype of an input or output at the border, by its shape: KV caches kv_type, logits and masks io_type; tokens, positions and all
// others none.
std::optional<DType> tag_of(const TensorType& type, const DecoderShapes& shapes, const QuantIoDtypes& dtypes);

// Scale, zero point and so on of the outputs that the graph dequantizes last: get_logits_scale, get_logits_zero_point,
// get_kv_output_<i>_quant_attr (scale, zero point, least, largest, dtype), unless `meta` has them. Kind Usage when the graph quantizes to
// another dtype than the bundle says.
Status add_quant_attributes(const Method& method, const QuantIoDtypes& dtypes, Meta& meta);

}  // namespace edgec::genai

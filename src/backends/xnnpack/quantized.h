#pragma once
#include "backends/xnnpack/conv.h"

// What values quantized ahead of time and while the program runs share.
namespace edgec::xnnpack {

inline Call call_of(const Site& s, NodeId n) { return Call(s.g, *s.g.node(n).op, s.g.node(n).args); }

bool symmetric(const QuantizedWeight&);
// The same weight with a scale for each output channel, where it has one for all.
QuantizedWeight by_channels(QuantizedWeight);
// The nodes that use a value, each once.
std::vector<NodeId> users(const Graph&, ValueId, bool& is_output);

// ---- quantized while the program runs (dynamic.cpp)
struct DynamicSource {
  ValueId x;           // floats that are quantized to 8 bits by their own range, and dequantized
  bool whole = false;  // one scale for all; else one for each row of the last dim
};
std::optional<DynamicSource> dynamic_source(const Site&, ValueId);
// The float operand of a product that the delegate computes so: x quantized by rows (or images), times an integer weight.
std::optional<ValueId> dynamic_operand(const Site& product);

}  // namespace edgec::xnnpack

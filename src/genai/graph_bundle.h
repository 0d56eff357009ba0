#pragma once
#include <any>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <edgec/program.h>
#include <edgec/result.h>
#include "genai/names.h"
#include "genai/ordered_map.h"

namespace edgec::genai {

// One exported graph with its weights and signature: a program of one method in the ATen stage, shared and never changed.
using Module = std::shared_ptr<const Program>;
Result<Module> load_module(const std::string& pt2);

// The dtypes of a quantized graph's KV caches and of its other tensors at the border. A bundle has both or neither.
struct QuantIoDtypes {
  DType kv_type = DType::F32, io_type = DType::F32;
  friend bool operator==(const QuantIoDtypes&, const QuantIoDtypes&) = default;
};
// {"kv_type": ..., "io_type": ...}. One key of two, or another key, is a failure of kind Usage: the tagger reads both.
Result<QuantIoDtypes> quant_io_dtypes(const std::map<std::string, DType>& by_key);
// As the reference flow decides: f32 unless quantized; KV of 8 bits is u8, of 16 u16; logits of 16 bits u16. Others are refused (kind
// Model).
Result<QuantIoDtypes> quant_io_dtypes(std::optional<int> kv_bits, std::optional<int> logits_bits);

// Constant methods: name -> values, in order.
using Meta = OrderedMap<std::string, std::vector<Arg>>;

// How a program is written. The defaults are the pipeline's: with shared buffers the application supplies the memory of graph I/O.
struct EmitOptions {
  bool alloc_graph_input = false, alloc_graph_output = false;
  bool quantized_io = true;  // tagged inputs and outputs are the quantized tensors themselves
};

struct GraphBundleFields {
  Module module;                                                 // required
  std::optional<std::vector<TensorType>> inputs = std::nullopt;  // positional; none: the module's own
  Meta meta = {};                                                // none by default
  std::map<std::string, DType> quant_io_dtypes = {};             // empty: quantization was skipped
  std::vector<std::any> modality_inputs = {};                    // opaque, handed on for encoders
  std::optional<EmitOptions> executorch_config = {};             // overrides the pipeline's
};

// One deployed graph on its way from quantization to compilation. Frozen: made once, then only read.
class GraphBundle {
 public:
  // Fails (kind Usage) without a module of exactly one method, with inputs that are not the signature's, with sizes that are not static,
  // and with one quantization key of two.
  static Result<GraphBundle> make(GraphBundleFields fields);
  const Module& module() const { return fields_.module; }
  const std::vector<TensorType>& inputs() const { return *fields_.inputs; }
  const Meta& meta() const { return fields_.meta; }
  const std::optional<QuantIoDtypes>& quant_io_dtypes() const { return quant_io_; }
  bool is_quantized() const { return quant_io_.has_value(); }
  const std::vector<std::any>& modality_inputs() const { return fields_.modality_inputs; }
  const std::optional<EmitOptions>& executorch_config() const { return fields_.executorch_config; }

 private:
  GraphBundle(GraphBundleFields fields, std::optional<QuantIoDtypes> quant_io)
      : fields_(std::move(fields)), quant_io_(std::move(quant_io)) {}
  GraphBundleFields fields_;
  std::optional<QuantIoDtypes> quant_io_;
};

using GraphBundles = OrderedMap<GraphName, GraphBundle>;

}  // namespace edgec::genai

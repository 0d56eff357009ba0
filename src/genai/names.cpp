#include "genai/names.h"

#include <algorithm>

#include "genai/name_table.h"

namespace edgec::genai {
namespace {

constexpr Named<ArtifactKey> kKeys[] = {
    {ArtifactKey::TextDecoder, "text_decoder"},   {ArtifactKey::TokEmbedding, "tok_embedding"},
    {ArtifactKey::AudioEncoder, "audio_encoder"}, {ArtifactKey::VisionEncoder, "vision_encoder"},
    {ArtifactKey::TextEncoder, "text_encoder"},   {ArtifactKey::AttentionSinkEvictor, "attention_sink_evictor"},
};
constexpr Named<GraphName> kGraphs[] = {
    {GraphName::KvForward, "kv_forward"},
    {GraphName::PrefillForward, "prefill_forward"},
    {GraphName::TokEmbeddingKvForward, "tok_embedding_kv_forward"},
    {GraphName::TokEmbeddingPrefillForward, "tok_embedding_prefill_forward"},
    {GraphName::Forward, "forward"},
};
constexpr Named<ModelMode> kModes[] = {{ModelMode::Kv, "kv"}, {ModelMode::Hybrid, "hybrid"}, {ModelMode::Lookahead, "lookahead"}};

}  // namespace

std::string_view name(ArtifactKey key) { return text_of(kKeys, key); }
std::string_view name(GraphName graph) { return text_of(kGraphs, graph); }
std::string_view name(ModelMode mode) { return text_of(kModes, mode); }
Result<ArtifactKey> artifact_key(std::string_view text) { return value_of(kKeys, text, "artifact key"); }
Result<GraphName> graph_name(std::string_view text) { return value_of(kGraphs, text, "graph name"); }
Result<ModelMode> model_mode(std::string_view text) { return value_of(kModes, text, "model mode"); }

std::vector<GraphName> graph_names(ArtifactKey key, size_t graphs) {
  std::vector<GraphName> out;
  if (key == ArtifactKey::TextDecoder)
    out.assign(kDecoderGraphNames.begin(), kDecoderGraphNames.end());
  else if (key == ArtifactKey::TokEmbedding)
    out.assign(kTokEmbeddingGraphNames.begin(), kTokEmbeddingGraphNames.end());
  else
    out = {GraphName::Forward};
  out.resize(std::min(graphs, out.size()));
  return out;
}

Result<ArtifactKey> artifact_of(GraphName graph) {
  if (std::find(kDecoderGraphNames.begin(), kDecoderGraphNames.end(), graph) != kDecoderGraphNames.end()) return ArtifactKey::TextDecoder;
  if (graph != GraphName::Forward) return ArtifactKey::TokEmbedding;
  return usage_error("a graph named forward does not tell its artifact: give it under its artifact key");
}

size_t decoder_graph_count(ModelMode mode) { return mode == ModelMode::Kv ? 1 : 2; }

RunnerMethods decoder_methods(ModelMode mode) {
  return {mode == ModelMode::Kv ? GraphName::KvForward : GraphName::PrefillForward, GraphName::KvForward};
}

RunnerMethods embedding_methods(ModelMode mode) {
  return {mode == ModelMode::Kv ? GraphName::TokEmbeddingKvForward : GraphName::TokEmbeddingPrefillForward,
          GraphName::TokEmbeddingKvForward};
}

int64_t next_power_of_two(int64_t n) {
  int64_t p = 1;
  while (p < n && p < (int64_t{1} << 62)) p *= 2;
  return p;
}

ArLengths ar_lengths(ModelMode mode, int64_t prefill_ar_len, int64_t max_context_len, const LookaheadSizes& sizes) {
  ArLengths out;
  if (mode == ModelMode::Lookahead) out.decode = next_power_of_two((sizes.window + sizes.gcap) * (sizes.ngram - 1));
  out.prefill = prefill_ar_len;
  out.calibration = max_context_len;
  return out;
}

bool uses_kv_cache(int64_t ar_len, int64_t max_context_len) { return ar_len != max_context_len; }

std::string script_file_name(ArtifactKey key, ModelMode mode, std::string_view decoder_model) {
  if (key == ArtifactKey::AttentionSinkEvictor) return std::string(name(key));
  if (key != ArtifactKey::TextDecoder) return std::string(name(key)) + "_qnn";
  const std::string prefix = decoder_model == "stories260k" ? "stories260k_" : "";
  return prefix + std::string(name(mode)) + "_llama_qnn";
}

}  // namespace edgec::genai

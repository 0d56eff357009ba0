#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <edgec/result.h>

// Two name spaces that must not mix: an artifact key names a .pte file, a graph name a method inside one. They equal those of the official
// scripts (decoder_constants.py), whose runner finds files and methods by them.
namespace edgec::genai {

enum class ArtifactKey : uint8_t { TextDecoder, TokEmbedding, AudioEncoder, VisionEncoder, TextEncoder, AttentionSinkEvictor };
inline constexpr std::array kAllArtifactKeys = {ArtifactKey::TextDecoder,   ArtifactKey::TokEmbedding, ArtifactKey::AudioEncoder,
                                                ArtifactKey::VisionEncoder, ArtifactKey::TextEncoder,  ArtifactKey::AttentionSinkEvictor};
std::string_view name(ArtifactKey);  // "text_decoder"
Result<ArtifactKey> artifact_key(std::string_view text);

// The calibration graph that the SQNR evaluation reads: a file name, not a key.
inline constexpr std::string_view kDecodeQdqFilename = "decode_qdq.pt2";

enum class GraphName : uint8_t { KvForward, PrefillForward, TokEmbeddingKvForward, TokEmbeddingPrefillForward, Forward };
std::string_view name(GraphName);  // "kv_forward"
Result<GraphName> graph_name(std::string_view text);

// Decode comes first: kv mode builds only the first, and decode's constant methods are the artifact's.
inline constexpr std::array kDecoderGraphNames = {GraphName::KvForward, GraphName::PrefillForward};
inline constexpr std::array kTokEmbeddingGraphNames = {GraphName::TokEmbeddingKvForward, GraphName::TokEmbeddingPrefillForward};
// The graphs of an artifact in order, cut to the number that exists. Encoders and the evictor have `forward` alone.
std::vector<GraphName> graph_names(ArtifactKey, size_t graphs);
// The artifact that a graph is part of. `forward` does not tell: kind Usage.
Result<ArtifactKey> artifact_of(GraphName);

enum class ModelMode : uint8_t { Kv = 0, Hybrid = 1, Lookahead = 2 };
std::string_view name(ModelMode);
Result<ModelMode> model_mode(std::string_view text);
size_t decoder_graph_count(ModelMode);  // 1 or 2

// Which methods a runner calls for the prompt and for each further token.
struct RunnerMethods {
  GraphName prompt, generate;
};
RunnerMethods decoder_methods(ModelMode);
RunnerMethods embedding_methods(ModelMode);

// Tokens that one step of a graph takes. Lookahead decodes the next power of two of (window + gcap) * (ngram - 1) at once.
struct ArLengths {
  int64_t decode = 1, prefill = 1, calibration = 1;
};
struct LookaheadSizes {
  int64_t window = 8, gcap = 8, ngram = 5;
};
ArLengths ar_lengths(ModelMode, int64_t prefill_ar_len, int64_t max_context_len, const LookaheadSizes& = {});
// A deployed graph has a KV cache unless it sees the whole context at once; calibration always has one.
bool uses_kv_cache(int64_t ar_len, int64_t max_context_len);
int64_t next_power_of_two(int64_t n);

// File name (without .pte) as in the script flow: hybrid_llama_qnn, stories260k_kv_llama_qnn, audio_encoder_qnn, attention_sink_evictor.
std::string script_file_name(ArtifactKey, ModelMode, std::string_view decoder_model);

}  // namespace edgec::genai

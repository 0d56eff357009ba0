#pragma once
#include <functional>
#include <span>

#include "emit/program.h"

namespace edgec::genai {

// Delegate bytes of the QnnBackend: a header of 256 bytes (magic, signature, size of the context; the rest zero), then the context binary.
inline constexpr size_t kContextHeaderBytes = 256;
inline constexpr uint32_t kContextMagic = 0x5678ABCD;
std::vector<std::byte> with_context_header(std::span<const std::byte> context, int64_t signature = 0);
// The context in a delegate's bytes; nothing when they are no context: a graph that is not compiled yet.
std::optional<std::span<const std::byte>> context_of(std::span<const std::byte> delegate);

// The spill-fill size that a context wants, in bytes. It lies in the vendor's part of the binary, so who has the vendor's library supplies
// this.
using SpillFillReader = std::function<Result<int64_t>(std::span<const std::byte> context)>;

// Contexts of one model that are loaded as a group share one spill-fill buffer: the largest size over all HTP delegates with
// use_multi_contexts, in all the programs, becomes max_sf_buf_size of each of them. Gives that size (0: there is no such delegate). A size
// above int32 is a failure and changes nothing.
Result<int64_t> share_spill_fill(std::span<pte::Program* const> programs, const SpillFillReader& size_of);

}  // namespace edgec::genai

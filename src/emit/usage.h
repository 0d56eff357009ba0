#pragma once
#include <cstdint>
#include <vector>

#include "emit/program.h"

namespace edgec::pte {

// Counts that both descriptions of a method show. Indices may be out of bounds in a broken program; those count
// nowhere.
struct Usage {
  std::vector<uint64_t> operator_calls, delegate_calls;
  std::vector<bool> written;  // values whose content is not the stored one: inputs, results, all that meets a delegate
};
Usage usage_of(const Plan& plan);

uint64_t total_bytes(const std::vector<Blob>& blobs);
// Bytes of the payload of a delegate; 0 when the index is broken.
uint64_t payload_bytes(const Program& program, const Delegate& delegate);

}  // namespace edgec::pte

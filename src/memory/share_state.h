#pragma once
#include <edgec/program.h>

#include <map>

namespace edgec::memory {

// Marks buffers as mutable in all methods when one method writes a buffer of that name: what the others read is then the state and not
// the initial value. For programs in the Functional stage. Fails (kind Model) when the buffers of a name differ in dtype, size or
// initial value.
Status mark_shared_state(Program& program);

// The offset of every mutable buffer in the memory that the methods share, by name; none lies over another. Fails when buffers of a
// name differ in dtype, size or dim order.
Result<std::map<std::string, int64_t>> shared_state_offsets(const Program& program, int64_t alignment);

}  // namespace edgec::memory

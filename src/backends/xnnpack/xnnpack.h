#pragma once
#include <edgec/backend.h>

// XNNPACK: the runtime's kernels for CPUs, as a delegate. See README.md.
namespace edgec::xnnpack {

std::unique_ptr<Backend> backend();

}  // namespace edgec::xnnpack

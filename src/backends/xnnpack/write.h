#pragma once
#include <edgec/backend.h>

#include "backends/xnnpack/net.h"

namespace edgec::xnnpack {

// The payload: a 32-byte header, the graph, and small constants that are copied at load. Other constants are named data, by content,
// so that methods and delegates share them. Values that nothing uses are left out. Fails (kind Internal) on a size without bound.
Result<Payload> write(const Net& net);

}  // namespace edgec::xnnpack

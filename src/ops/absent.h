#pragma once
#include <string_view>

namespace edgec::ops {

// Why the table lacks an operator of torch ("aten.linalg_svd", "aten.avg_pool2d_backward"); empty when no reason is known.
// docs/limits.md lists the same.
std::string_view reason_absent(std::string_view op);

}  // namespace edgec::ops

#pragma once
#include <string>
#include <vector>

#include <edgec/op.h>

// Named dtype rules.
namespace edgec::ops {

DTypeRule same_as(std::string param);
DTypeRule fixed(DType);                                     // bool of comparisons, i64 of argmax
DTypeRule promoted(std::vector<std::string> params);        // torch.result_type over tensors and numbers
DTypeRule promoted_float(std::vector<std::string> params);  // the same, integers and bool give f32
DTypeRule dtype_arg(std::string param, DType otherwise);    // a ScalarType? argument
DTypeRule dtype_arg_or(std::string param, DTypeRule otherwise);
DTypeRule summed(std::string param,
                 std::string dtype_param);  // sums and products: integers and bool give i64, unless dtype says

}  // namespace edgec::ops

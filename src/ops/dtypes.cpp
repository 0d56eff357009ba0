#include "ops/dtypes.h"

namespace edgec::ops {

DTypeRule same_as(std::string param) {
  return [param](const Call& c) -> Result<DType> { return c.tensor(param).dtype; };
}

DTypeRule fixed(DType d) {
  return [d](const Call&) -> Result<DType> { return d; };
}

static DType promote(const Call& c, const std::vector<std::string>& params) {
  std::vector<Arg> args;
  for (const auto& p : params) args.push_back(c.arg(p));
  return result_type(c.graph(), args);
}

DTypeRule promoted(std::vector<std::string> params) {
  return [params](const Call& c) -> Result<DType> { return promote(c, params); };
}

DTypeRule promoted_float(std::vector<std::string> params) {
  return [params](const Call& c) -> Result<DType> {
    const DType d = promote(c, params);
    return is_float(d) || is_complex(d) ? d : DType::F32;
  };
}

DTypeRule dtype_arg(std::string param, DType otherwise) {
  return [=](const Call& c) -> Result<DType> { return c.dtype(param, otherwise); };
}

DTypeRule dtype_arg_or(std::string param, DTypeRule otherwise) {
  return [=](const Call& c) -> Result<DType> {
    if (c.has(param)) return c.dtype(param, DType::F32);
    return otherwise(c);
  };
}

DTypeRule summed(std::string param, std::string dtype_param) {
  return [=](const Call& c) -> Result<DType> {
    if (c.has(dtype_param)) return c.dtype(dtype_param, DType::F32);
    const DType d = c.tensor(param).dtype;
    return is_integral(d) || d == DType::Bool ? DType::I64 : d;
  };
}

}  // namespace edgec::ops

// Kernels of the operators in tests/cli/make_data.py, for `edgec run --plugin`.
#include <executorch/extension/kernel_util/make_boxed_from_unboxed_functor.h>
#include <executorch/runtime/core/exec_aten/util/tensor_util.h>

#include <cstdint>

using executorch::aten::Tensor;
using executorch::runtime::EValue;
using executorch::runtime::KernelRuntimeContext;
using executorch::runtime::Span;

// n copies of x * scale beside each other, plus the sum of w.
static Tensor& scaled_out(KernelRuntimeContext& context, const Tensor& x, const Tensor& w, int64_t n, double scale, Tensor& out) {
  const auto rows = static_cast<int32_t>(x.size(0)), columns = static_cast<int32_t>(x.size(1)), wide = static_cast<int32_t>(n) * columns;
  const executorch::aten::SizesType sizes[] = {rows, wide};
  if (executorch::runtime::resize_tensor(out, {sizes, 2}) != executorch::runtime::Error::Ok) {
    context.fail(executorch::runtime::Error::InvalidArgument);
    return out;
  }
  float sum = 0;
  for (ssize_t i = 0; i < w.numel(); ++i) sum += w.const_data_ptr<float>()[i];
  for (int32_t i = 0; i < rows; ++i)
    for (int32_t j = 0; j < wide; ++j)
      out.mutable_data_ptr<float>()[i * wide + j] = x.const_data_ptr<float>()[i * columns + j % columns] * static_cast<float>(scale) + sum;
  return out;
}
EXECUTORCH_LIBRARY(my, "scaled.out", scaled_out);

// state = state * rate + x. Without a result there is no out variant: the kernel takes the schema's arguments as they come.
static void decay(KernelRuntimeContext&, Span<EValue*> args) {
  auto state = args[0]->toTensor();
  const auto x = args[1]->toTensor();
  const auto rate = static_cast<float>(args[2]->toDouble());
  for (ssize_t i = 0; i < state.numel(); ++i) {
    float& s = state.mutable_data_ptr<float>()[i];
    s = s * rate + x.const_data_ptr<float>()[i];
  }
}
static const auto decay_registered = executorch::runtime::register_kernel(executorch::runtime::Kernel("my::decay_", decay));

// a = a + x * rate, b = b * rate; gives a * b.
static void step(KernelRuntimeContext&, Span<EValue*> args) {
  auto a = args[0]->toTensor(), b = args[2]->toTensor(), out = args[4]->toTensor();
  const auto x = args[1]->toTensor();
  const auto rate = static_cast<float>(args[3]->toDouble());
  for (ssize_t i = 0; i < a.numel(); ++i) {
    float &p = a.mutable_data_ptr<float>()[i], &q = b.mutable_data_ptr<float>()[i];
    p += x.const_data_ptr<float>()[i] * rate;
    q *= rate;
    out.mutable_data_ptr<float>()[i] = p * q;
  }
}
static const auto step_registered = executorch::runtime::register_kernel(executorch::runtime::Kernel("my::step.out", step));

#include "emit/usage.h"

#include <utility>

namespace edgec::pte {
namespace {

template <class V>
bool in(int64_t i, const V& v) {
  return i >= 0 && std::cmp_less(i, v.size());
}

}  // namespace

Usage usage_of(const Plan& plan) {
  Usage u;
  u.operator_calls.resize(plan.operators.size());
  u.delegate_calls.resize(plan.delegates.size());
  u.written.resize(plan.values.size());
  auto write = [&](int32_t v) {
    if (in(v, plan.values)) u.written[static_cast<size_t>(v)] = true;
  };
  for (int32_t i : plan.inputs) write(i);
  for (const Instruction& i : plan.instructions) {
    if (const auto* k = std::get_if<KernelCall>(&i)) {
      if (in(k->op, plan.operators)) ++u.operator_calls[static_cast<size_t>(k->op)];
      if (!k->args.empty()) write(k->args.back());
    } else if (const auto* d = std::get_if<DelegateCall>(&i)) {
      if (in(d->delegate, plan.delegates)) ++u.delegate_calls[static_cast<size_t>(d->delegate)];
      for (int32_t v : d->args) write(v);  // which of them are outputs is not told
    } else if (const auto* m = std::get_if<MoveCall>(&i)) {
      write(m->to);
    }
  }
  return u;
}

uint64_t total_bytes(const std::vector<Blob>& blobs) {
  uint64_t n = 0;
  for (const Blob& b : blobs) n += b.size;
  return n;
}

uint64_t payload_bytes(const Program& program, const Delegate& delegate) {
  return delegate.payload < program.payloads.size() ? program.payloads[delegate.payload].size : 0;
}

}  // namespace edgec::pte

#include "backends/xnnpack/net.h"

#include <algorithm>

namespace edgec::xnnpack {
namespace {

// Operators that copy their constant operands (all but the first) when the program is loaded. The others read them where they are.
bool packs(Op op) { return op == Op::FullyConnected || op == Op::Conv || op == Op::DepthwiseConv || op == Op::TransposedConv; }

}  // namespace

std::vector<double> numbers_of(const TensorData& data) {
  const std::vector<std::byte> bytes = gather(data);
  std::vector<double> out(static_cast<size_t>(data.numel()));
  for (size_t i = 0; i < out.size(); ++i) out[i] = read_element(bytes, data.dtype, static_cast<int64_t>(i));
  return out;
}

TensorData tensor_of(DType dtype, std::vector<int64_t> sizes, const std::vector<double>& numbers) {
  std::vector<std::byte> bytes;
  bytes.reserve(numbers.size() * size_of(dtype));
  for (double v : numbers) append_element(bytes, dtype, v);
  return make_tensor_data(dtype, std::move(sizes), std::move(bytes));
}

NetNode& Net::add(NetNode n) {
  for (size_t i = 0; i < n.in.size(); ++i) {
    if (n.in[i] == kNone) continue;
    ++values_[n.in[i]].consumers;
    if (i == 0 || !packs(n.op)) values_[n.in[i]].packed = false;
  }
  values_[n.out].producer = static_cast<uint32_t>(nodes_.size());
  nodes_.push_back(std::move(n));
  return nodes_.back();
}

void Net::replace_operand(NetNode& n, size_t index, Id with) {
  if (n.in[index] != kNone) --values_[n.in[index]].consumers;
  n.in[index] = with;
  if (with == kNone) return;
  ++values_[with].consumers;
  if (index == 0 || !packs(n.op)) values_[with].packed = false;
}

void Net::remove_dead() {
  std::vector<NetNode> kept;
  for (size_t i = nodes_.size(); i-- > 0;) {
    NetValue& out = values_[nodes_[i].out];
    if (out.consumers > 0 || out.output) {
      kept.push_back(std::move(nodes_[i]));
      continue;
    }
    out.producer = kNone;
    for (Id in : nodes_[i].in)
      if (in != kNone) --values_[in].consumers;
  }
  std::reverse(kept.begin(), kept.end());
  nodes_ = std::move(kept);
  for (size_t i = 0; i < nodes_.size(); ++i) values_[nodes_[i].out].producer = static_cast<uint32_t>(i);
}

}  // namespace edgec::xnnpack

#include "backends/xnnpack/write.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "support/hash.h"
#include "xnnpack_generated.h"

namespace edgec::xnnpack {
namespace {

template <class T>
using Offset = flatbuffers::Offset<T>;

constexpr int64_t kInlineBytes = 256;  // smaller constants cost less behind the graph than a named entry and its padding
constexpr size_t kAlign = 16;
constexpr uint32_t kExternalInput = 1, kExternalOutput = 2;

static_assert(static_cast<int>(Op::Cos) == static_cast<int>(fb::Op::Cos));
static_assert(static_cast<int>(Op::BatchMatMul) == static_cast<int>(fb::Op::BatchMatMul));
static_assert(static_cast<int>(Op::Reshape) == static_cast<int>(fb::Op::Reshape));
static_assert(static_cast<int>(DataType::QBInt4) == static_cast<int>(fb::DataType::QBInt4));

std::string letters(std::span<const std::byte> bytes) {  // base64, without padding
  constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string out;
  uint32_t left = 0, bits = 0;
  for (std::byte b : bytes) {
    left = left << 8 | std::to_integer<uint32_t>(b);
    for (bits += 8; bits >= 6; bits -= 6) out += kLetters[left >> (bits - 6) & 63];
  }
  if (bits > 0) out += kLetters[left << (6 - bits) & 63];
  return out;
}

// Contents of the same key are the same: short ones are their own key; the length keeps two others apart that only a chosen collision
// could bring together. Keys are short, since they stand in the program and in each payload.
Result<std::string> key_of(const TensorData& data) {
  constexpr int64_t kOwnKey = 16;
  if (data.nbytes() <= kOwnKey) return "xc" + letters(gather(data));
  Hasher128 hasher;
  EDGEC_TRY_VOID(stream(data, {}, [&](std::span<const std::byte> piece) -> Status {
    hasher.add(piece);
    return {};
  }));
  const Hash128 hash = hasher.digest();
  std::vector<std::byte> bytes;
  for (uint64_t part : {hash.high, hash.low})
    for (int shift = 56; shift >= 0; shift -= 8) bytes.push_back(static_cast<std::byte>(part >> shift));
  return fmt::format("xh{}{:x}", letters(bytes), data.nbytes());
}

class Writer {
 public:
  explicit Writer(const Net& net) : net_(net) {}

  Result<Payload> run() {
    std::vector<Offset<fb::Value>> values;
    std::vector<uint32_t> inputs, outputs;
    for (Id id = 0; id < net_.values().size(); ++id) {
      const NetValue& v = net_.value(id);
      if (v.consumers == 0 && v.external == kNone && v.producer == kNone) continue;
      EDGEC_TRY(auto offset, value(id, v));
      values.push_back(offset);
      if (v.input) inputs.push_back(id);
      if (v.output) outputs.push_back(id);
    }
    std::vector<Offset<fb::Node>> nodes;
    for (size_t i = 0; i < net_.nodes().size(); ++i) {
      nodes.push_back(node(net_.nodes()[i], static_cast<uint32_t>(i)));
      out_.debug_handles.emplace_back(static_cast<uint32_t>(i), net_.nodes()[i].sources);
    }
    std::vector<Offset<fb::Constant>> constants = {fb::CreateConstant(b_, 0, 0)};
    constants.insert(constants.end(), constants_.begin(), constants_.end());
    const auto version = b_.CreateString("0");
    uint32_t count = 0;
    for (const NetValue& v : net_.values())
      if (v.external != kNone) count = std::max(count, v.external + 1);
    const auto nodes_at = b_.CreateVector(nodes);
    const auto values_at = b_.CreateVector(values);
    const auto inputs_at = b_.CreateVector(inputs), outputs_at = b_.CreateVector(outputs);
    const auto constants_at = b_.CreateVector(constants);
    fb::FinishGraphBuffer(b_, fb::CreateGraph(b_, version, nodes_at, values_at, count, inputs_at, outputs_at, constants_at));
    frame();
    return std::move(out_);
  }

 private:
  // Sizes of a value as the delegate first hears of them; every call brings its own. Its workspace is made for these when the program is
  // loaded, zeroed, and grows with the calls: the least ones cost the least.
  Result<std::vector<uint32_t>> least_sizes(const Dims& dims) {
    std::vector<uint32_t> out;
    for (const Dim& d : dims) {
      const auto least = sym::lower_bound(d);
      if (!least || *least < 0 || *least > int64_t{0x7fffffff})
        return internal_error(fmt::format("a value of the XNNPACK payload has size {}, which has no usable bound", d.str()));
      out.push_back(static_cast<uint32_t>(*least));
    }
    return out;
  }

  // Index into the table of constants.
  Result<uint32_t> constant(const TensorData& data, bool packed) {
    if (packed && data.nbytes() <= kInlineBytes) {
      inline_.resize((inline_.size() + kAlign - 1) / kAlign * kAlign);
      const std::vector<std::byte> bytes = gather(data);
      constants_.push_back(fb::CreateConstant(b_, inline_.size(), bytes.size()));
      inline_.insert(inline_.end(), bytes.begin(), bytes.end());
      return static_cast<uint32_t>(constants_.size());
    }
    EDGEC_TRY(const std::string key, key_of(data));
    const auto [known, fresh] = by_key_.try_emplace(key, static_cast<uint32_t>(constants_.size() + 1));
    if (fresh) {
      constants_.push_back(
          fb::CreateConstantDirect(b_, std::numeric_limits<uint64_t>::max(), static_cast<uint64_t>(data.nbytes()), key.c_str()));
      out_.named_data.push_back({key, data, static_cast<uint32_t>(kAlign)});
    }
    return known->second;
  }

  // Lists of equal numbers are stored once.
  Offset<flatbuffers::Vector<uint32_t>> numbers(const std::vector<uint32_t>& list) {
    const auto [known, fresh] = lists_.try_emplace(list);
    if (fresh) known->second = b_.CreateVector(list);
    return known->second;
  }

  Result<Offset<fb::Value>> value(Id id, const NetValue& v) {
    EDGEC_TRY(const std::vector<uint32_t> dims, least_sizes(v.dims));
    uint32_t constant_index = 0;
    if (v.data) EDGEC_TRY_VOID(assign(constant_index, constant(*v.data, v.packed)));
    const uint32_t flags = (v.input ? kExternalInput : 0) | (v.output ? kExternalOutput : 0);
    const auto tensor = fb::CreateTensor(b_, static_cast<fb::DataType>(v.type), static_cast<uint32_t>(dims.size()), numbers(dims),
                                         constant_index, v.external, flags, id);
    if (std::holds_alternative<std::monostate>(v.quant)) return fb::CreateValue(b_, fb::AnyTensor::Tensor, tensor.Union());
    fb::Quant kind = fb::Quant::NONE;
    Offset<void> quant;
    if (const auto* q = std::get_if<PerTensor>(&v.quant)) {
      kind = fb::Quant::PerTensor;
      quant = fb::CreatePerTensor(b_, q->scale, q->zero_point).Union();
    } else if (const auto* c = std::get_if<PerChannel>(&v.quant)) {
      kind = fb::Quant::PerChannel;
      quant = fb::CreatePerChannelDirect(b_, &c->scales, static_cast<int32_t>(c->axis), 0, static_cast<uint32_t>(c->scales.size())).Union();
    } else if (const auto* r = std::get_if<PerRow>(&v.quant)) {
      kind = fb::Quant::PerRow;
      quant = fb::CreatePerRow(b_, static_cast<int32_t>(r->nonbatch_dims)).Union();
    } else {
      const auto& g = std::get<PerGroup>(v.quant);
      const auto count = static_cast<int64_t>(g.scales.size());
      uint32_t scales = 0;
      EDGEC_TRY_VOID(assign(scales, constant(make_tensor_data(DType::BF16, {count}, g.scales), true)));
      kind = fb::Quant::PerGroup;
      quant = fb::CreatePerGroup(b_, 0, 0, static_cast<int32_t>(g.group_size), scales, static_cast<uint32_t>(count)).Union();
    }
    const auto quantized = fb::CreateQuantizedTensor(b_, tensor, kind, quant);
    return fb::CreateValue(b_, fb::AnyTensor::QuantizedTensor, quantized.Union());
  }
  static Status assign(uint32_t& to, Result<uint32_t> from) {
    if (!from) return std::move(from).failure();
    to = *from;
    return {};
  }

  Offset<fb::Node> node(const NetNode& n, uint32_t handle) {
    const Offset<void> op = operation(n);
    const Offset<fb::OutputRange> range = n.has_range() ? fb::CreateOutputRange(b_, n.min, n.max) : 0;
    return fb::CreateNode(b_, static_cast<fb::Op>(n.op), op, handle, range);
  }

  Offset<void> operation(const NetNode& n) {
    const auto in = [&](size_t i) { return i < n.in.size() ? n.in[i] : kNone; };
    const auto* lists = std::get_if<ListAttrs>(&n.attrs);
    const auto rank = lists ? static_cast<uint32_t>(lists->first.size()) : 0;
    switch (n.op) {
      case Op::Add:
      case Op::Divide:
      case Op::Minimum:
      case Op::Multiply:
      case Op::Subtract:
      case Op::Maximum:
      case Op::PRelu:
      case Op::BatchMatMul:
        return fb::CreateBinary(b_, in(0), in(1), n.out, n.flags).Union();
      case Op::FullyConnected:
        return fb::CreateFullyConnected(b_, in(0), in(1), in(2), n.out, n.flags).Union();
      case Op::Conv:
      case Op::DepthwiseConv:
      case Op::TransposedConv:
        return conv(n, std::get<ConvAttrs>(n.attrs));
      case Op::AveragePool:
      case Op::MaxPool:
        return pool(n, std::get<ConvAttrs>(n.attrs));
      case Op::Transpose:
        return fb::CreateTranspose(b_, rank, numbers(lists->first), in(0), n.out, n.flags).Union();
      case Op::Reshape:
        return fb::CreateReshape(b_, rank, numbers(lists->first), in(0), n.out, n.flags).Union();
      case Op::Slice:
        return fb::CreateSlice(b_, rank, numbers(lists->first), numbers(lists->second), in(0), n.out, n.flags).Union();
      case Op::ConstantPad:
        return fb::CreateConstantPad(b_, numbers(lists->first), numbers(lists->second), n.number, in(0), n.out, n.flags).Union();
      case Op::ResizeBilinear:
        return fb::CreateResizeBilinear(b_, lists->first[0], lists->first[1], in(0), n.out, n.flags).Union();
      case Op::LeakyRelu:
        return fb::CreateLeakyRelu(b_, n.number, in(0), n.out, n.flags).Union();
      case Op::Elu:
        return fb::CreateElu(b_, n.number, in(0), n.out, n.flags).Union();
      case Op::Concatenate2:
      case Op::Concatenate3:
      case Op::Concatenate4:
      case Op::Concatenate5: {
        const auto or_zero = [&](size_t i) { return i < n.in.size() ? n.in[i] : 0; };
        return fb::CreateConcatenate(b_, lists->first[0], in(0), in(1), or_zero(2), or_zero(3), n.out, n.flags, or_zero(4)).Union();
      }
      default:
        return fb::CreateUnary(b_, in(0), n.out, n.flags).Union();
    }
  }

  Offset<void> conv(const NetNode& n, const ConvAttrs& a) {
    fb::ConvBuilder c(b_);
    c.add_padding_top(a.padding[0]);
    c.add_padding_right(a.padding[1]);
    c.add_padding_bottom(a.padding[2]);
    c.add_padding_left(a.padding[3]);
    c.add_kernel_height(a.kernel[0]);
    c.add_kernel_width(a.kernel[1]);
    c.add_stride_height(a.stride[0]);
    c.add_stride_width(a.stride[1]);
    c.add_dilation_height(a.dilation[0]);
    c.add_dilation_width(a.dilation[1]);
    c.add_group_input_channels(a.group_input_channels);
    c.add_group_output_channels(a.group_output_channels);
    c.add_groups(a.groups);
    c.add_adjustment_height(a.adjustment[0]);
    c.add_adjustment_width(a.adjustment[1]);
    c.add_input(n.in[0]);
    c.add_filter(n.in[1]);
    c.add_bias(n.in[2]);
    c.add_output(n.out);
    c.add_flags(n.flags);
    return c.Finish().Union();
  }
  Offset<void> pool(const NetNode& n, const ConvAttrs& a) {
    return fb::CreatePool(b_, a.padding[0], a.padding[1], a.padding[2], a.padding[3], a.kernel[0], a.kernel[1], a.stride[0], a.stride[1],
                          a.dilation[0], a.dilation[1], n.in[0], n.out, n.flags)
        .Union();
  }

  // Header, graph, constants.
  void frame() {
    const auto align = [](size_t n) { return (n + kAlign - 1) / kAlign * kAlign; };
    constexpr size_t kHeader = 32;
    const size_t graph = b_.GetSize(), constants = align(kHeader + graph);
    out_.bytes.assign(constants + inline_.size(), std::byte{0});
    const auto put = [&](size_t at, uint64_t number, size_t bytes) {
      for (size_t i = 0; i < bytes; ++i) out_.bytes[at + i] = static_cast<std::byte>(number >> (8 * i));
    };
    std::memcpy(out_.bytes.data() + 4, "XH00", 4);
    put(8, 30, 2);
    put(10, kHeader, 4);
    put(14, graph, 4);
    put(18, constants, 4);
    put(22, inline_.size(), 8);
    std::memcpy(out_.bytes.data() + kHeader, b_.GetBufferPointer(), graph);
    std::copy(inline_.begin(), inline_.end(), out_.bytes.begin() + static_cast<std::ptrdiff_t>(constants));
  }

  const Net& net_;
  flatbuffers::FlatBufferBuilder b_;
  Payload out_;
  std::vector<Offset<fb::Constant>> constants_;
  std::map<std::string, uint32_t> by_key_;
  std::map<std::vector<uint32_t>, Offset<flatbuffers::Vector<uint32_t>>> lists_;
  std::vector<std::byte> inline_;
};

}  // namespace

Result<Payload> write(const Net& net) { return Writer(net).run(); }

}  // namespace edgec::xnnpack

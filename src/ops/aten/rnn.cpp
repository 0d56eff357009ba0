#include <fmt/format.h>

#include "ops/build.h"
#include "ops/numeric.h"
#include "ops/table.h"

// Recurrent networks over a sequence of known length: the input's part of all gates is one linear over the whole sequence, the hidden
// state's part is unrolled step by step.
namespace edgec::ops {
namespace {

enum class Kind { Lstm, Gru, Tanh, Relu };

// One direction of one layer.
struct Weights {
  ValueId input, hidden;
  Arg input_bias, hidden_bias;
  ValueId projection;  // LSTM with proj_size; none otherwise
};
struct State {
  ValueId h, c;  // c: LSTM only
};

ValueId linear(Builder& b, ValueId x, ValueId w, const Arg& bias) { return b.call("aten.linear", {x, w, bias}); }

// Part i of the last dim, cut into pieces as wide as `width`.
ValueId gate(Builder& b, ValueId x, int64_t first, int64_t count, const Dim& width) {
  if (b.failed()) return {};
  return slice(b, x, b.tensor(x).rank() - 1, width * first, width * (first + count));
}
Dim last_size(Builder& b, ValueId x) { return sizes_of(b, x, 1).back(); }

State lstm_step(Builder& b, ValueId from_input, const State& s, const Weights& w) {
  const ValueId gates = b.add(from_input, linear(b, s.h, w.hidden, w.hidden_bias));
  const Dim width = last_size(b, s.c);
  const auto sigmoid = [&](int64_t i) { return b.unary("aten.sigmoid", gate(b, gates, i, 1, width)); };
  const ValueId fresh = b.mul(sigmoid(0), b.unary("aten.tanh", gate(b, gates, 2, 1, width)));
  const ValueId c = b.add(b.mul(sigmoid(1), s.c), fresh);
  const ValueId h = b.mul(sigmoid(3), b.unary("aten.tanh", c));
  return {w.projection ? linear(b, h, w.projection, Arg()) : h, c};
}

State gru_step(Builder& b, ValueId from_input, const State& s, const Weights& w) {
  const ValueId from_hidden = linear(b, s.h, w.hidden, w.hidden_bias);
  const Dim width = last_size(b, s.h);
  const ValueId both = b.unary("aten.sigmoid", b.add(gate(b, from_input, 0, 2, width), gate(b, from_hidden, 0, 2, width)));
  const ValueId reset = gate(b, both, 0, 1, width), update = gate(b, both, 1, 1, width);
  const ValueId fresh = b.unary("aten.tanh", b.add(gate(b, from_input, 2, 1, width), b.mul(reset, gate(b, from_hidden, 2, 1, width))));
  return {b.add(b.mul(b.sub(s.h, fresh), update), fresh), {}};
}

State step(Builder& b, Kind kind, ValueId from_input, const State& s, const Weights& w) {
  if (kind == Kind::Lstm) return lstm_step(b, from_input, s, w);
  if (kind == Kind::Gru) return gru_step(b, from_input, s, w);
  const ValueId sum = b.add(from_input, linear(b, s.h, w.hidden, w.hidden_bias));
  return {b.unary(kind == Kind::Tanh ? "aten.tanh" : "aten.relu", sum), {}};
}

// One direction over the sequence [T, B, I]: the hidden states [T, B, H] and the last state.
ValueId run(Builder& b, Kind kind, ValueId x, State& s, const Weights& w, int64_t length, bool backward) {
  const ValueId from_input = linear(b, x, w.input, w.input_bias);
  Values hidden(static_cast<size_t>(length));
  for (int64_t i = 0; i < length; ++i) {
    const int64_t t = backward ? length - 1 - i : i;
    s = step(b, kind, select(b, from_input, 0, t), s, w);
    hidden[static_cast<size_t>(t)] = s.h;
  }
  return stack(b, hidden, 0);
}

// ---- whole networks ------------------------------------------------------------------------------------------------------------------

size_t directions(const Call& c) { return c.flag("bidirectional") ? 2 : 1; }
Values states_of(const Call& c) { return c.values("hx"); }
bool is_projected(const Call& c, Kind kind) {
  const Values hx = states_of(c);
  return kind == Kind::Lstm && hx.size() == 2 && c.graph().tensor(hx[0]).sizes != c.graph().tensor(hx[1]).sizes;
}

Result<size_t> sequence_axis(const Call& c) {
  const TensorType& x = c.tensor("input");
  const Values hx = states_of(c);
  for (ValueId s : hx)
    if (x.rank() != 3 || c.graph().tensor(s).rank() != 3)
      return model_error(fmt::format("{} takes an input and initial states of three dims", c.op().name()));
  return c.flag("batch_first") ? size_t{1} : size_t{0};
}

// The hidden states of all steps, then the last states. `input`: the name of the sequence.
InferRule network_types(const std::string& input) {
  return [input](const Call& c) -> Result<std::vector<Type>> {
    if (input == "input") EDGEC_TRY_VOID(sequence_axis(c));
    const Values hx = states_of(c);
    TensorType y = c.tensor(input);
    if (hx.empty() || y.sizes.empty() || c.graph().tensor(hx[0]).rank() != 3)
      return model_error(c.op().name() + " lacks initial states of three dims");
    y.sizes.back() = c.graph().tensor(hx[0]).sizes[2] * static_cast<int64_t>(directions(c));
    y.dim_order.clear();
    y.strides.clear();
    std::vector<Type> out = {Type::of(y)};
    for (ValueId s : hx) {
      y.sizes = c.graph().tensor(s).sizes;
      out.push_back(Type::of(y));
    }
    return out;
  };
}

std::vector<Weights> weights_of(Builder& b, const Call& c, Kind kind) {
  const Values params = c.values("params");
  const bool biases = c.flag("has_biases"), projected = is_projected(c, kind);
  const size_t each = 2 + (biases ? 2u : 0u) + (projected ? 1u : 0u);
  std::vector<Weights> out(static_cast<size_t>(std::max<int64_t>(c.integer("num_layers"), 0)) * directions(c));
  if (params.size() != each * out.size()) {
    b.fail(fmt::format("{} has {} weights where its layers need {}", c.op().name(), params.size(), each * out.size()));
    return {};
  }
  for (size_t i = 0; i < out.size(); ++i) {
    const ValueId* p = &params[i * each];
    out[i] = {p[0], p[1], biases ? Arg(p[2]) : Arg(), biases ? Arg(p[3]) : Arg(), projected ? p[each - 1] : ValueId{}};
  }
  return out;
}

Values network(Builder& b, const Call& c, Kind kind) {
  if (is_half(c.tensor("input").dtype)) return recomputed(b, c, DType::F32);
  auto axis = sequence_axis(c);
  const Values hx = states_of(c);
  if (!axis || hx.size() != (kind == Kind::Lstm ? 2u : 1u)) {
    b.fail(axis ? fmt::format("{} has {} initial states", c.op().name(), hx.size()) : axis.failure().message);
    return {};
  }
  const Dim length = c.tensor("input").sizes[*axis];
  if (!length.constant() || *length.constant() < 1) {
    b.fail(fmt::format(
        "{}: the sequence length {} (dim {} of the input) is not known: the network is unrolled over it; export with a fixed one",
        c.op().name(), length.str(), *axis));
    return {};
  }
  if (c.flag("train") && c.number("dropout") != 0 && c.integer("num_layers") > 1) refuse_training(b, c);
  const std::vector<Weights> weights = weights_of(b, c, kind);
  if (b.failed()) return {};
  const bool batch_first = *axis == 1;
  ValueId x = batch_first ? transposed(b, c.value("input"), 0, 1) : c.value("input");
  Values last_h, last_c;
  for (size_t i = 0; i < weights.size();) {
    Values sides;
    for (size_t d = 0; d < directions(c); ++d, ++i) {
      const auto initial = [&](size_t k) { return select(b, hx[k], 0, static_cast<int64_t>(i)); };
      State s{initial(0), kind == Kind::Lstm ? initial(1) : ValueId{}};
      sides.push_back(run(b, kind, x, s, weights[i], *length.constant(), d == 1));
      last_h.push_back(s.h);
      last_c.push_back(s.c);
    }
    x = cat(b, sides, 2);
  }
  Values out = {batch_first ? transposed(b, x, 0, 1) : x, stack(b, last_h, 0)};
  if (kind == Kind::Lstm) out.push_back(stack(b, last_c, 0));
  return out;
}

void define_network(Table& ops, const std::string& name, Kind kind) {
  const std::string states = kind == Kind::Lstm ? "Tensor[] hx" : "Tensor hx";
  const std::string returns = kind == Kind::Lstm ? "(Tensor, Tensor, Tensor)" : "(Tensor, Tensor)";
  const std::string rest = ", Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional";
  ops.define("aten::" + name + ".input(Tensor input, " + states + rest + ", bool batch_first) -> " + returns)
      .infer(network_types("input"))
      .expand([kind](Builder& b, const Call& c) { return network(b, c, kind); });
  ops.define("aten::" + name + ".data(Tensor data, Tensor batch_sizes, " + states + rest + ") -> " + returns)
      .infer(network_types("data"))
      .expand([](Builder& b, const Call& c) {
        b.fail(c.op().name() + " runs over a packed sequence, which is not supported: give the padded tensor");
        return Values{};
      });
}

// ---- cells ---------------------------------------------------------------------------------------------------------------------------

Values cell(Builder& b, const Call& c, Kind kind) {
  if (is_half(c.tensor("input").dtype)) return recomputed(b, c, DType::F32);
  const Values hx = states_of(c);
  if (hx.size() != (kind == Kind::Lstm ? 2u : 1u)) {
    b.fail(fmt::format("{} has {} states", c.op().name(), hx.size()));
    return {};
  }
  const Weights w = {c.value("w_ih"), c.value("w_hh"), c.arg("b_ih"), c.arg("b_hh"), {}};
  const State s = step(b, kind, linear(b, c.value("input"), w.input, w.input_bias), {hx[0], hx.back()}, w);
  return kind == Kind::Lstm ? Values{s.h, s.c} : Values{s.h};
}

void define_cell(Table& ops, const std::string& name, Kind kind) {
  const bool lstm = kind == Kind::Lstm;
  ops.define(fmt::format("aten::{}_cell(Tensor input, {} hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> {}", name,
                         lstm ? "Tensor[]" : "Tensor", lstm ? "(Tensor, Tensor)" : "Tensor"))
      .infer([](const Call& c) -> Result<std::vector<Type>> {
        std::vector<Type> out;
        for (ValueId s : states_of(c)) {
          TensorType t = c.graph().tensor(s);
          t.dim_order.clear();
          t.strides.clear();
          out.push_back(Type::of(t));
        }
        return out;
      })
      .expand([kind](Builder& b, const Call& c) { return cell(b, c, kind); });
}

}  // namespace

void define_rnn(Table& ops) {
  for (const auto& [name, kind] :
       {std::pair("lstm", Kind::Lstm), std::pair("gru", Kind::Gru), std::pair("rnn_tanh", Kind::Tanh), std::pair("rnn_relu", Kind::Relu)}) {
    define_network(ops, name, kind);
    define_cell(ops, name, kind);
  }
}

}  // namespace edgec::ops

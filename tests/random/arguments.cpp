#include "arguments.h"

#include <algorithm>
#include <set>
#include <sstream>

#include "operands.h"

namespace edgec::random_graphs {
namespace {

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::vector<std::string> alternatives(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string one; std::getline(in, one, '|');) out.push_back(one);
  return out;
}

// The arguments of one call, chosen parameter by parameter.
class Chooser {
 public:
  Chooser(Draft& draft, const OpDef& op) : draft_(draft), rng_(draft.rng()), op_(op), operands_(draft, op) {}

  std::optional<std::vector<Arg>> run() {
    const auto& params = op_.schema().params;
    // Tensors first: sizes and dims refer to them.
    for (const bool tensors : {true, false}) {
      if (!tensors && operands_.has_first() && !special()) return std::nullopt;
      for (const Param& p : params) {
        if ((p.type == ArgType::Tensor) != tensors || chosen_.count(p.name)) continue;
        if (tensors && operands_.has_first() && !special()) return std::nullopt;
        if (chosen_.count(p.name)) continue;
        auto a = tensors ? tensor(p) : number(p);
        if (!a) return std::nullopt;
        chosen_[p.name] = *std::move(a);
      }
    }
    if (!takes_empty(op_) && some_operand_is_empty()) return std::nullopt;
    std::vector<Arg> out;
    for (const Param& p : params) out.push_back(with_symbol_values(p, chosen_.at(p.name)));
    return out;
  }

 private:
  size_t rank() const { return operands_.has_first() ? operands_.first_type().rank() : 2; }
  const Dims& sizes() const {
    static const Dims none;
    return operands_.has_first() ? operands_.first_type().sizes : none;
  }
  int64_t some_axis(size_t r) {
    const auto n = static_cast<int64_t>(std::max<size_t>(r, 1));
    return rng_.between(-n, n - 1);
  }
  size_t from_front(int64_t axis) const { return static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(rank()) : axis); }
  int64_t least(const Dim& d) const {
    const auto all = draft_.numbers(d);
    return *std::min_element(all.begin(), all.end());
  }

  bool some_operand_is_empty() const {
    bool found = false;
    for (const auto& [param, a] : chosen_)
      for_each_value(a, [&](const ValueId& v) {
        found = found || (draft_.graph().type(v).is_tensor() && least(numel(draft_.graph().tensor(v).sizes)) == 0);
      });
    return found;
  }

  // ---- tensors ----

  std::optional<Arg> tensor(const Param& p) {
    if (const std::string* h = operands_.hint(p.name)) {
      if (p.list && *h != "none") return operands_.list_by_pattern(*h);
      return operands_.by_pattern(*h);
    }
    if (p.optional && rng_.chance(60)) return Arg();
    if (p.list) return list();
    if (!operands_.has_first() && p.name == "condition") {
      const ValueId v = draft_.add_input(DType::Bool, draft_.random_sizes(rng_.below(5)));
      operands_.set_first(v);
      return Arg(v);
    }
    if (!operands_.has_first() && p.name == "other" && operands_.divisor_domain() != Domain()) {  // remainder(7, x)
      const ValueId v =
          operands_.like(draft_.random_sizes(rng_.below(4)), rng_.chance(50) || operands_.hint("kind") ? DType::I64 : draft_.random_float(),
                         operands_.divisor_domain());
      operands_.set_first(v);
      return Arg(v);
    }
    if (!operands_.has_first()) {
      auto v = operands_.any();
      return v ? std::optional(Arg(*v)) : std::nullopt;
    }
    if (p.name == "std") return Arg(operands_.like(sizes(), operands_.first_type().dtype, {Domain::Kind::Positive, 0}));
    if (is_one_of(p.name, {"prepend", "append"})) return Arg(operands_.like(sizes(), operands_.first_type().dtype));
    if (p.name == "mask") return Arg(operands_.bool_peer());
    if (p.name == "value" && op_.schema().name != "where") return Arg(operands_.like({}, operands_.first_type().dtype));
    return Arg(operands_.peer());
  }

  std::optional<Arg> list() {
    auto first = operands_.any();
    if (!first) return std::nullopt;
    ArgList out = {Arg(*first)};
    const DType dtype = draft_.graph().tensor(*first).dtype;
    for (size_t more = rng_.below(3); more > 0; --more) {
      Dims s = sizes();
      if (op_.schema().name == "cat" && !s.empty() && rng_.chance(40)) {
        s[0] = draft_.random_dim();
        choose("dim", 0);
      }
      out.emplace_back(operands_.like(s, dtype));
    }
    return Arg(out);
  }

  void choose(const std::string& param, Arg a) {
    if (op_.schema().find(param) >= 0) chosen_[param] = std::move(a);
  }

  std::optional<ValueId> index(Dims s, int64_t limit) {
    if (limit <= 0) return std::nullopt;
    return operands_.like(s, DType::I64, {Domain::Kind::Below, limit});
  }

  // Operators whose operands depend on a dim. False: not possible here.
  bool special() {
    if (special_done_) return true;
    special_done_ = true;
    std::string name = op_.schema().name;
    if (name.ends_with('_') && !name.starts_with("__")) name.pop_back();
    if (is_one_of(name, {"gather", "scatter", "scatter_add", "scatter_reduce", "take_along_dim"})) return along_dim();
    if (is_one_of(name, {"index_select", "index_add", "index_copy", "index_fill", "index_reduce"})) return by_index();
    if (is_one_of(name, {"take", "put"})) return flat_index();
    if (is_one_of(name, {"select", "select_copy", "narrow", "narrow_copy", "topk", "kthvalue", "unfold", "unfold_copy"}))
      return within_dim(name);
    if (is_one_of(name, {"movedim", "moveaxis"}) && op_.schema().overload == "intlist") {
      choose("source", ArgList{some_axis(rank())});
      choose("destination", ArgList{some_axis(rank())});
    }
    if (is_one_of(name, {"clamp", "clip"}) && op_.schema().overload == "Tensor") choose("min", operands_.peer());
    if (is_one_of(name, {"clamp", "clip"}) && op_.schema().overload.empty()) choose("max", rng_.between(1, 5));
    if (is_one_of(name, {"index", "_unsafe_index", "index_put", "_unsafe_index_put", "_unsafe_masked_index",
                         "_unsafe_masked_index_put_accumulate"}))
      return indices(name);
    if (name == "gradient" && op_.schema().overload.starts_with("tensor")) return coordinates();
    if (name == "sum_to_size") return smaller_sizes();
    if (is_one_of(name, {"select_scatter", "slice_scatter", "diagonal_scatter"})) return view_scatter(name);
    return true;
  }

  bool along_dim() {
    const int64_t dim = some_axis(rank());
    choose("dim", dim);
    const int64_t limit = rank() == 0 ? 1 : least(sizes()[from_front(dim)]);
    Dims s = sizes();
    if (op_.schema().name == "take_along_dim" && rng_.chance(50) && rank() > 0) s[from_front(dim)] = 2;
    for (Dim& d : s)
      if (op_.schema().name != "take_along_dim" && rng_.chance(20)) d = std::min<int64_t>(least(d), 2);
    const auto i = index(s, limit);
    if (!i) return false;
    choose("index", *i);
    choose("indices", *i);
    choose("src", operands_.like(s, operands_.first_type().dtype));
    return true;
  }

  bool by_index() {
    const int64_t dim = some_axis(rank());
    choose("dim", dim);
    const Dim length = rng_.between(0, 3);
    const auto i = index({length}, rank() == 0 ? 1 : least(sizes()[from_front(dim)]));
    if (!i) return false;
    choose("index", *i);
    Dims s = sizes();
    if (rank() > 0) s[from_front(dim)] = length;
    choose("source", operands_.like(s, operands_.first_type().dtype));
    if (op_.schema().overload == "int_Tensor") choose("value", operands_.like({}, operands_.first_type().dtype));
    return true;
  }

  // An index, a length or a count that the dim has at all sizes.
  bool within_dim(const std::string& name) {
    const int64_t dim = some_axis(rank());
    const int64_t size = rank() == 0 ? 1 : least(sizes()[from_front(dim)]);
    if (size < 1 || rank() == 0) return false;
    choose(name.starts_with("unfold") ? "dimension" : "dim", dim);
    choose("index", rng_.between(-size, size - 1));
    choose("k", rng_.between(1, size));
    choose("size", rng_.between(1, size));
    const int64_t start = rng_.between(0, size - 1);
    choose("start", rng_.chance(20) ? start - size : start);
    choose("length", rng_.between(rng_.chance(10) ? 0 : 1, size - start));
    if (rng_.chance(15) && name.starts_with("narrow")) {
      choose("start", 0);
      choose("length", sizes()[from_front(dim)] - Dim(size - 1));
    }
    return true;
  }

  bool flat_index() {
    const Dims s = draft_.random_sizes(rng_.below(3));
    const auto i = index(s, least(numel(sizes())));
    if (!i) return false;
    choose("index", *i);
    choose("source", operands_.like(s, operands_.first_type().dtype));
    return true;
  }

  bool indices(const std::string& name) {
    if (rank() == 0) return false;
    ArgList list;
    const Dim length = rng_.between(1, 3);
    const size_t count = 1 + rng_.below(rank());
    bool some = false;
    for (size_t d = 0; d < count; ++d) {
      if ((d + 1 < count || some) && rng_.chance(35)) {
        list.emplace_back();
        continue;
      }
      const auto i = index({length}, least(sizes()[d]));
      if (!i) return false;
      list.emplace_back(*i);
      some = true;
    }
    while (!list.empty() && list.back().is_none()) list.pop_back();
    choose("indices", list);
    if (name == "index" || name == "_unsafe_index") return true;
    const auto types = draft_.types_of(Registry::global().get("aten.index.Tensor"), {Arg(operands_.first()), Arg(list)});
    if (types.empty()) return false;
    choose("mask", operands_.like(types[0].tensor.sizes, DType::Bool));
    if (name.find("put") == std::string::npos) return true;
    choose("values", operands_.like(rng_.chance(30) ? Dims() : types[0].tensor.sizes, operands_.first_type().dtype));
    return true;
  }

  bool coordinates() {
    if (rank() == 0) return false;
    const int64_t dim = some_axis(rank());
    const Dim size = sizes()[from_front(dim)];
    if (least(size) < 3) return false;
    choose("dim", op_.schema().overload == "tensorarray" ? Arg(ArgList{dim}) : Arg(dim));
    choose("spacing", ArgList{operands_.like({size}, draft_.random_float(), {Domain::Kind::Sorted, 0})});
    return true;
  }

  bool smaller_sizes() {
    Dims to = sizes();
    to.erase(to.begin(), to.begin() + static_cast<ptrdiff_t>(rng_.below(to.size() + 1)));
    for (Dim& d : to)
      if (rng_.chance(40)) d = 1;
    choose("size", to);
    return true;
  }

  bool view_scatter(const std::string& name) {
    const std::string view = name == "select_scatter" ? "aten.select.int" : name == "slice_scatter" ? "aten.slice.Tensor" : "aten.diagonal";
    const OpDef& op = Registry::global().get(view);
    std::vector<Arg> args = {Arg(operands_.first())};
    for (size_t i = 1; i < op.schema().params.size(); ++i) {
      auto a = number(op.schema().params[i]);
      if (!a) return false;
      choose(op.schema().params[i].name, *a);
      args.push_back(*std::move(a));
    }
    if (name == "select_scatter" && !within_dim(name)) return false;
    for (size_t i = 1; i < args.size(); ++i) args[i] = chosen_.at(op.schema().params[i].name);
    const auto types = draft_.types_of(op, args);
    if (types.empty()) return false;
    choose("src", operands_.like(types[0].tensor.sizes, operands_.first_type().dtype));
    return true;
  }

  // ---- numbers and the rest ----

  std::optional<Arg> number(const Param& p) {
    // Overloads share hints: a pattern with a dtype or domain is for those that take a tensor.
    if (const std::string* h = operands_.hint(p.name); h && h->find(':') == std::string::npos) return from_hint(p, *h);
    switch (p.type) {
      case ArgType::Int:
      case ArgType::SymInt:
        if (p.list) return int_list(p);
        if (p.optional && rng_.chance(50)) return Arg();
        return one_int(p);
      case ArgType::Float:
        return p.list ? Arg(ArgList{2.0, 2.0}) : p.optional && rng_.chance(50) ? Arg() : some_float(p);
      case ArgType::Bool:
        if (p.name == "pin_memory") return Arg();
        if (p.name == "implicit" || p.name == "train" || p.name == "half_to_float" || p.name == "training" || p.name == "sparse")
          return Arg(false);
        if (p.optional && rng_.chance(50)) return Arg();
        return Arg(rng_.chance(p.default_value ? 25 : 50));
      case ArgType::Scalar:
        return p.optional && rng_.chance(40) ? Arg() : scalar(p);
      case ArgType::String:
        return string(p);
      case ArgType::DType:
        return dtype(p);
      case ArgType::MemoryFormat:
        if (rank() == 4 && rng_.chance(20)) return Arg(MemoryFormat::ChannelsLast);
        return p.name == "memory_format" && !p.optional ? Arg(MemoryFormat::Contiguous) : Arg();
      default:
        return Arg();
    }
  }

  std::optional<Arg> from_hint(const Param& p, const std::string& h) {
    if (h == "none") return Arg();
    if (h == "true" || h == "false") return Arg(h == "true");
    if (h[0] == '\'') return Arg(rng_.pick(alternatives(h.substr(1, h.size() - 2))));
    if (h[0] == '#') {
      ArgList list;
      std::istringstream in(h.substr(1));
      for (std::string one; std::getline(in, one, ',');) list.emplace_back(static_cast<int64_t>(std::stoll(one)));
      if (!p.list && p.type == ArgType::Float) return Arg(static_cast<double>(*list[0].expr().constant()));
      return p.list ? Arg(list) : list[0];
    }
    Dims dims;
    for (char c : h.substr(1)) dims.push_back(operands_.letter(c) ? *operands_.letter(c) : draft_.random_dim());
    return p.list ? Arg(dims) : Arg(numel(dims));
  }

  std::optional<Arg> one_int(const Param& p) {
    const std::string& n = p.name;
    if (is_one_of(n, {"dim", "dim0", "dim1", "dim2", "axis0", "axis1", "source", "destination", "start_dim", "end_dim", "dimension"}))
      return Arg(some_axis(rank() + (is_one_of(op_.schema().name, {"unsqueeze", "unsqueeze_copy", "stack"}) ? 1 : 0)));
    if (is_one_of(n, {"diagonal", "offset"})) return Arg(rng_.between(-2, 2));
    if (is_one_of(n, {"index", "start"}))
      return Arg(rng_.chance(70) || sizes().empty() ? Arg(rng_.between(-2, 2)) : Arg(rng_.pick(sizes()) - Dim(1)));
    if (n == "end")
      return rng_.chance(20)                      ? Arg(int64_t{INT64_MAX})
             : rng_.chance(60) || sizes().empty() ? Arg(rng_.between(-2, 3))
                                                  : Arg(rng_.pick(sizes()));
    if (is_one_of(n, {"reduction", "low"})) return Arg(rng_.between(0, 2));
    if (is_one_of(n, {"high"})) return Arg(int64_t{10});
    if (is_one_of(n, {"groups", "group"})) return Arg(1);
    if (is_one_of(n, {"dtype", "compute_mode", "divisor_override", "max_shifts"})) return Arg();
    if (is_one_of(n, {"steps", "n", "m", "num_classes", "row", "col"}))
      return p.type == ArgType::SymInt && rng_.chance(25) ? Arg(draft_.random_dim()) : Arg(rng_.between(1, 4));
    return Arg(rng_.between(1, 3));
  }

  std::optional<Arg> int_list(const Param& p) {
    const std::string& n = p.name;
    if (is_one_of(n, {"dim", "dims", "source", "destination"}) && op_.schema().name != "tile") return axes(p);
    if (is_one_of(n, {"kernel_size"})) return repeated(p, 2, 2);  // padding is at most half of it
    if (is_one_of(n, {"stride"}) && p.list_size > 0) return p.default_value && rng_.chance(40) ? default_arg(p) : repeated(p, 1, 2);
    if (is_one_of(n, {"padding"}) && p.list_size > 0) return repeated(p, 0, 1);
    if (is_one_of(n, {"dilation", "output_padding"})) return repeated(p, n == "dilation" ? 1 : 0, n == "dilation" ? 1 : 0);
    if (n == "output_size") return repeated(p, 1, 3);
    if (is_one_of(n, {"repeats", "dims"})) {
      ArgList out;
      for (size_t i = rank() + (rng_.chance(20) ? 1 : 0); i > 0; --i) out.emplace_back(rng_.between(1, 2));
      return Arg(out);
    }
    if (n == "shifts") return Arg(ArgList{rng_.between(-2, 2)});
    if (n == "pad" || n == "padding") {
      ArgList out;
      const size_t count = p.list_size > 0 ? static_cast<size_t>(p.list_size) : 2 * rng_.below(rank() + 1);
      for (size_t i = 0; i < count; ++i) out.emplace_back(rng_.between(rng_.chance(10) ? -1 : 0, 2));
      return Arg(out);
    }
    if (n == "split_sizes") return split_sizes();
    if (n == "indices") return Arg(ArgList{1, 2});
    if (n == "normalized_shape") return sizes().empty() ? std::optional<Arg>() : Arg(Dims{sizes().back()});
    if (is_one_of(n, {"size", "shape", "sizes"})) return new_sizes();
    if (p.optional) return Arg();
    return Arg(draft_.random_sizes(p.list_size > 0 ? static_cast<size_t>(p.list_size) : rng_.below(4)));
  }

  Arg repeated(const Param& p, int64_t low, int64_t high) {
    ArgList out;
    for (int i = 0; i < std::max(p.list_size, 1); ++i) out.emplace_back(rng_.between(low, high));
    return out;
  }

  Arg axes(const Param& p) {
    std::vector<int64_t> all;
    for (size_t i = 0; i < rank(); ++i) all.push_back(static_cast<int64_t>(i) - (rng_.chance(30) ? static_cast<int64_t>(rank()) : 0));
    rng_.shuffle(all);
    const bool permutes = op_.schema().name.starts_with("permute");
    if (!permutes && p.optional && rng_.chance(25)) return {};
    if (!permutes && !all.empty()) all.resize(1 + rng_.below(std::min<size_t>(all.size(), 2)));
    if (op_.schema().name == "roll") all.resize(std::min<size_t>(all.size(), 1));
    return Arg::ints(all);
  }

  std::optional<Arg> split_sizes() {
    const int64_t dim = some_axis(rank());
    if (rank() == 0) return std::nullopt;
    chosen_["dim"] = dim;
    const Dim total = sizes()[from_front(dim)];
    if (least(total) < 1) return std::nullopt;
    return Arg(Dims{Dim(1), total - Dim(1)});
  }

  std::optional<Arg> new_sizes() {
    const std::string& n = op_.schema().name;
    if (n.starts_with("as_strided")) return std::nullopt;
    if (n.starts_with("expand") || n == "broadcast_to") {
      Dims out = sizes();
      for (Dim& d : out)
        if (d == Dim(1)) d = draft_.random_dim();
      if (rng_.chance(40)) out.insert(out.begin(), draft_.random_dim());
      return Arg(out);
    }
    if (n.find("view") != std::string::npos || n == "reshape") return regrouped();
    if (n == "unflatten") {
      const int64_t dim = some_axis(rank());
      if (rank() == 0) return std::nullopt;
      chosen_["dim"] = dim;
      return Arg(Dims{Dim(1), sizes()[from_front(dim)]});
    }
    return Arg(draft_.random_sizes(rng_.below(5)));
  }

  // The same elements: neighbours are multiplied, ones come and go, a size becomes two, one is left to infer.
  Arg regrouped() {
    Dims out;
    for (const Dim& d : sizes()) {
      const auto c = d.constant();
      if (d == Dim(1) && rng_.chance(50)) continue;
      if (!out.empty() && rng_.chance(35))
        out.back() = out.back() * d;
      else if (c && *c == 4 && rng_.chance(50))
        out.insert(out.end(), {Dim(2), Dim(2)});
      else
        out.push_back(d);
      if (rng_.chance(10)) out.push_back(1);
    }
    if (!out.empty() && rng_.chance(25) && least(numel(sizes())) > 0) out[rng_.below(out.size())] = -1;
    return out;
  }

  Arg some_float(const Param& p) {
    if (is_one_of(p.name, {"p", "q", "dropout_p"})) return rng_.pick({0.25, 0.5});
    if (p.name.find("eps") != std::string::npos) return 1e-5;
    return rng_.pick({0.5, 1.0, 2.0, 0.25});
  }

  std::optional<Arg> scalar(const Param& p) {
    const bool real = operands_.has_first() && is_float(operands_.first_type().dtype);
    if (is_one_of(p.name, {"correction", "p", "ord"})) return Arg(rng_.between(p.name == "correction" ? 0 : 1, 2));
    if (is_one_of(p.name, {"step"})) return Arg(1);
    if (is_one_of(p.name, {"end"}))
      return !draft_.symbols().empty() && rng_.chance(40) ? Arg(rng_.pick(draft_.symbols())) : Arg(rng_.between(2, 5));
    if (is_one_of(p.name, {"start"})) return Arg(rng_.between(0, 2));
    if (is_one_of(p.name, {"beta", "alpha", "lambd", "exponent"}) || operands_.divisor_domain() != Domain())
      return real && rng_.chance(50) ? Arg(0.5) : Arg(rng_.between(1, 2));
    if (real && rng_.chance(60)) return Arg(rng_.pick({-1.5, 0.5, 2.0, 0.25}));
    const bool is_unsigned = !operands_.has_first() || !is_signed(operands_.first_type().dtype);
    return Arg(rng_.between(is_unsigned || p.name == "fill_value" ? 0 : -3, 4));
  }

  Arg string(const Param& p) {
    if (p.name == "approximate") return rng_.pick({"none", "tanh"});
    if (p.name == "rounding_mode") return rng_.chance(30) && p.optional ? Arg() : Arg(rng_.pick({"floor", "trunc"}));
    if (p.name == "reduce")
      return op_.schema().overload == "two" ? rng_.pick({"sum", "prod", "amax", "amin", "mean"}) : rng_.pick({"add", "multiply"});
    if (p.name == "mode") return "constant";
    if (p.name == "padding") return "valid";
    if (p.name == "indexing") return rng_.pick({"ij", "xy"});
    if (p.name == "interpolation") return rng_.pick({"linear", "lower", "higher", "midpoint", "nearest"});
    return p.optional ? Arg() : p.default_value ? default_arg(p) : Arg("fro");
  }

  Arg dtype(const Param& p) {
    if (p.optional && rng_.chance(65) && !p.default_value) return {};
    if (p.default_value && rng_.chance(65)) return default_arg(p);
    if (is_one_of(op_.schema().name, {"cumsum_", "cumprod_"})) return {};  // the dtype of the target
    if (op_.schema().name == "arange") return rng_.pick({DType::I64, DType::F32, DType::I32});
    if (is_one_of(op_.schema().name, {"rand", "randn"})) return draft_.random_float();
    if (op_.schema().name.ends_with("norm")) return DType::F64;  // not narrower than the operand
    if (op_.schema().name.ends_with("_indices")) return DType::I64;
    return operands_.hint("kind") && *operands_.hint("kind") == "float" ? draft_.random_float() : draft_.random_dtype();
  }

  // Sizes in arguments may be values of the graph: aten.view(%x, [%n]).
  Arg with_symbol_values(const Param& p, const Arg& a) {
    if (p.type != ArgType::SymInt) return a;
    if (a.is_list()) {
      ArgList out;
      for (const Arg& item : a.list()) out.push_back(with_symbol_values(p, item));
      return out;
    }
    if (!a.is_expr() || a.expr().constant()) return a;
    for (size_t i = draft_.value_count(); i-- > 0;) {
      const ValueId v(static_cast<uint32_t>(i));
      const Type& t = draft_.graph().type(v);
      if (t.is_sym() && t.expr == a.expr() && rng_.chance(70)) return v;
    }
    return a;
  }

  Draft& draft_;
  Rng& rng_;
  const OpDef& op_;
  Operands operands_;
  std::map<std::string, Arg> chosen_;
  bool special_done_ = false;
};

bool is_usable(const OpDef& op) {
  const Schema& s = op.schema();
  if (s.ns != "aten" || op.side_effect || op.defines_symbols) return false;
  if (s.mutates())
    return functional_form(op) && !functional_form(op)->random && !s.params.empty() && s.params[0].written && !s.params[0].list;
  if (!op.infer && !(op.shape && op.dtype)) return false;
  // No results that random inputs specify: sizes by data, strides, recurrent nets (tests/ops has them).
  return !is_one_of(s.name, {"nonzero",
                             "masked_select",
                             "argwhere",
                             "_local_scalar_dense",
                             "item",
                             "lstm",
                             "gru",
                             "rnn_tanh",
                             "rnn_relu",
                             "empty_strided",
                             "new_empty_strided",
                             "empty_permuted",
                             "embedding_bag",
                             "sym_stride",
                             "_embedding_bag",
                             "_embedding_bag_forward_only",
                             "col2im",
                             "istft",
                             "view_as_real",
                             "_fft_c2r",
                             "detach_",
                             "gru_cell",
                             "lstm_cell",
                             "rnn_tanh_cell",
                             "rnn_relu_cell"}) &&
         op.name() != "aten.to.device" && s.name.find("as_strided") == std::string::npos && op.name() != "aten.where" &&
         !is_one_of(op.name(), {"aten.repeat_interleave.Tensor", "aten.repeat_interleave.self_Tensor"});
}

}  // namespace

bool takes_empty(const OpDef& op) {
  std::string name = op.schema().name;
  if (name.ends_with('_') && !name.starts_with("__")) name.pop_back();
  if (is_one_of(name, {"amax", "amin", "argmax", "argmin", "max", "min", "aminmax", "median", "nanmedian", "mode", "kthvalue", "cummax",
                       "cummin", "linalg_vector_norm", "linalg_norm", "linalg_matrix_norm", "norm", "pad", "topk"}))
    return false;
  return hints_for(op).empty() || is_one_of(name, {"mm", "bmm", "matmul", "addmm", "baddbmm", "linear", "mv", "dot", "t", "embedding"});
}

const std::vector<const OpDef*>& usable_operators() {
  static const auto all = [] {
    std::vector<const OpDef*> out;
    for (const OpDef* op : Registry::global().all())
      if (is_usable(*op)) out.push_back(op);
    return out;
  }();
  return all;
}

std::optional<std::vector<Arg>> choose_arguments(Draft& draft, const OpDef& op) { return Chooser(draft, op).run(); }

}  // namespace edgec::random_graphs

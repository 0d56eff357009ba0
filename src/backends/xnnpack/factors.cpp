#include "backends/xnnpack/factors.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace edgec::xnnpack {
namespace {

class Factors {
 public:
  explicit Factors(Net& net) : net_(net) {
    users_.resize(net.values().size());
    for (uint32_t i = 0; i < net.nodes().size(); ++i)
      for (Id in : net.nodes()[i].in)
        if (in != kNone) users_[in].push_back(i);
  }

  void run() {
    // From the last on, so that a sum is gone before the product that it is of.
    for (size_t i = net_.nodes().size(); i-- > 0;) {
      NetNode& n = net_.nodes()[i];
      if (n.op == Op::Multiply || n.op == Op::Add) fold(static_cast<uint32_t>(i));
    }
  }

 private:
  struct Operands {
    Id x, constant;
  };

  // x and a constant that is one number, or one for each channel of the last dim.
  std::optional<Operands> operands(const NetNode& n) const {
    for (size_t i : {0u, 1u}) {
      const NetValue &x = net_.value(n.in[1 - i]), &c = net_.value(n.in[i]);
      if (!c.data || x.data || c.type != DataType::F32 || x.dims != net_.value(n.out).dims) continue;
      const int64_t count = c.data->numel();
      if (count == 1 || (!c.dims.empty() && !x.dims.empty() && c.dims.back() == x.dims.back() && Dim(count) == c.dims.back()))
        return Operands{n.in[1 - i], n.in[i]};
    }
    return std::nullopt;
  }

  void fold(uint32_t at) {
    const NetNode& n = net_.nodes()[at];
    const NetValue& out = net_.value(n.out);
    if (n.has_range() || out.output || users_[n.out].empty()) return;
    const auto of = operands(n);
    if (!of) return;
    const std::vector<double> c = numbers(of->constant);
    if (!std::all_of(c.begin(), c.end(), [](double v) { return std::isfinite(v); })) return;
    if (n.op == Op::Multiply ? scale_matrices_behind(n.out, c) : add_to_matrices_behind(n.out, c)) return bypass(at, of->x);
    if (n.op == Op::Multiply && c.size() == 1 && scale_matrices_before(of->x, at, c[0])) bypass(at, of->x);
  }

  // ---- constants

  std::vector<double> numbers(Id id) const { return numbers_of(*net_.value(id).data); }

  Id constant(const std::vector<double>& values, const Dims& dims) {
    std::vector<int64_t> sizes;
    for (const Dim& d : dims) sizes.push_back(*d.constant());
    NetValue v;
    v.dims = dims;
    v.data = tensor_of(DType::F32, std::move(sizes), values);
    users_.emplace_back();
    return net_.add(std::move(v));
  }

  // A float constant that this node alone uses: another in its place adds no bytes.
  bool own(Id id) const {
    const NetValue& v = net_.value(id);
    return v.data && v.type == DataType::F32 && users_[id].size() == 1;
  }

  // A product with a constant matrix, whose last two dims are [n, k], or [k, n]. Beside a large one the factor's time is nothing, and
  // its numbers stay where they are, unread.
  bool is_product(const NetNode& n) const {
    constexpr int64_t kMostNumbers = 1 << 20;
    if (n.op != Op::FullyConnected && n.op != Op::BatchMatMul) return false;
    const NetValue& w = net_.value(n.in[1]);
    return own(n.in[1]) && w.data->numel() <= kMostNumbers && w.dims.size() >= 2 && net_.value(n.in[0]).type == DataType::F32;
  }
  bool rows_are_results(const NetNode& n) const { return n.op == Op::FullyConnected || (n.flags & kTransposeB) != 0; }

  void forget(Id used, uint32_t by) { users_[used].erase(std::find(users_[used].begin(), users_[used].end(), by)); }

  void replace(NetNode& n, size_t index, Id with) {
    const auto at = static_cast<uint32_t>(&n - net_.nodes().data());
    forget(n.in[index], at);
    net_.replace_operand(n, index, with);
    users_[with].push_back(at);
  }

  // Users of a node's result take x instead; the node is dead.
  void bypass(uint32_t at, Id x) {
    const Id out = net_.nodes()[at].out;
    for (Id in : net_.nodes()[at].in) forget(in, at);
    for (uint32_t user : std::vector<uint32_t>(users_[out])) {
      NetNode& n = net_.nodes()[user];
      for (size_t i = 0; i < n.in.size(); ++i)
        if (n.in[i] == out) replace(n, i, x);
      n.sources.insert(n.sources.end(), net_.nodes()[at].sources.begin(), net_.nodes()[at].sources.end());
    }
  }

  // ---- behind

  // All users of a value multiply it, as the first operand, by constant matrices.
  bool only_multiplied(Id x) const {
    return std::all_of(users_[x].begin(), users_[x].end(), [&](uint32_t user) {
      const NetNode& n = net_.nodes()[user];
      return is_product(n) && n.in[0] == x;
    });
  }

  bool scale_matrices_behind(Id x, const std::vector<double>& factors) {
    if (!only_multiplied(x)) return false;
    for (uint32_t user : std::vector<uint32_t>(users_[x])) {
      NetNode& n = net_.nodes()[user];
      const Dims dims = net_.value(n.in[1]).dims;
      const auto columns = static_cast<size_t>(*dims.back().constant()), rows = static_cast<size_t>(*dims[dims.size() - 2].constant());
      std::vector<double> w = numbers(n.in[1]);
      for (size_t i = 0; i < w.size(); ++i)
        w[i] *= factors[factors.size() == 1 ? 0 : rows_are_results(n) ? i % columns : i / columns % rows];
      replace(n, 1, constant(w, dims));
    }
    return true;
  }

  bool add_to_matrices_behind(Id x, const std::vector<double>& summands) {
    const auto has_bias = [&](uint32_t user) {
      const NetNode& n = net_.nodes()[user];
      return n.op == Op::FullyConnected && n.in[2] != kNone && own(n.in[2]);
    };
    if (!only_multiplied(x) || !std::all_of(users_[x].begin(), users_[x].end(), has_bias)) return false;
    for (uint32_t user : users_[x]) {
      NetNode& n = net_.nodes()[user];
      const std::vector<double> w = numbers(n.in[1]);
      std::vector<double> bias = numbers(n.in[2]);
      const size_t k = w.size() / bias.size();
      for (size_t i = 0; i < w.size(); ++i) bias[i / k] += w[i] * summands[summands.size() == 1 ? 0 : i % k];
      replace(n, 2, constant(bias, net_.value(n.in[2]).dims));
    }
    return true;
  }

  // ---- before

  // What a factor behind goes through on its way to the products that make a value.
  struct Linear {
    std::set<uint32_t> through, products;
  };

  bool collect(Id x, Linear& to) const {
    constexpr size_t kMost = 32;
    const NetValue& v = net_.value(x);
    if (v.data || v.output || v.producer == kNone || to.through.size() > kMost) return false;
    const uint32_t at = v.producer;
    if (to.through.count(at) != 0 || to.products.count(at) != 0) return true;
    const NetNode& n = net_.nodes()[at];
    if (n.has_range()) return false;
    if (is_product(n)) {
      if (n.op == Op::FullyConnected && n.in[2] != kNone && !own(n.in[2])) return false;
      return to.products.insert(at).second;
    }
    to.through.insert(at);
    const auto all = [&] { return std::all_of(n.in.begin(), n.in.end(), [&](Id in) { return collect(in, to); }); };
    switch (n.op) {
      case Op::Reshape:
      case Op::Transpose:
      case Op::Slice:
      case Op::Copy:
      case Op::Negate:
      case Op::Add:
      case Op::Subtract:
      case Op::Concatenate2:
      case Op::Concatenate3:
      case Op::Concatenate4:
      case Op::Concatenate5:
        return all();
      case Op::Multiply:
        for (Id in : n.in) {
          Linear tried = to;
          if (collect(in, tried)) {
            to = std::move(tried);
            return true;
          }
        }
        return false;
      default:
        return false;
    }
  }

  // A product of two values that both have the factor would have it twice.
  bool once_in_products(const Linear& linear) const {
    const auto has_factor = [&](Id in) {
      const uint32_t at = net_.value(in).producer;
      return at != kNone && (linear.through.count(at) != 0 || linear.products.count(at) != 0);
    };
    return std::all_of(linear.through.begin(), linear.through.end(), [&](uint32_t at) {
      const NetNode& n = net_.nodes()[at];
      return n.op != Op::Multiply || std::count_if(n.in.begin(), n.in.end(), has_factor) == 1;
    });
  }

  bool scale_matrices_before(Id x, uint32_t factor, double by) {
    Linear linear;
    if (!collect(x, linear) || !once_in_products(linear)) return false;
    const auto scaled = [&](uint32_t at) { return linear.through.count(at) != 0 || at == factor; };
    for (const auto* part : {&linear.through, &linear.products})
      for (uint32_t at : *part) {
        const auto& users = users_[net_.nodes()[at].out];
        if (!std::all_of(users.begin(), users.end(), scaled)) return false;
      }
    for (uint32_t at : linear.products) {
      NetNode& n = net_.nodes()[at];
      for (size_t i = 1; i < n.in.size(); ++i) {
        if (n.in[i] == kNone) continue;
        std::vector<double> w = numbers(n.in[i]);
        for (double& v : w) v *= by;
        replace(n, i, constant(w, net_.value(n.in[i]).dims));
      }
    }
    return true;
  }

  Net& net_;
  std::vector<std::vector<uint32_t>> users_;  // of values, a node once for each operand
};

}  // namespace

void fold_factors(Net& net) { Factors(net).run(); }

}  // namespace edgec::xnnpack

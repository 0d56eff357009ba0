#include <edgec/expr.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>

#include "sym/node.h"

namespace edgec::sym {
namespace {

// Constants need no context. A float constant is this node plus the bits of its value in the Expr.
constinit const ExprNode kInvalidNode(Kind::Invalid, Sort::Int);
constinit const ExprNode kFloatNode(Kind::FloatConst, Sort::Float);
constinit const ExprNode kTrueNode(Kind::BoolConst, Sort::Bool);
constinit const ExprNode kFalseNode(Kind::BoolConst, Sort::Bool);

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

void collect_symbols(const Expr& e, std::set<Expr, ExprLess>& found, std::set<const ExprNode*>& seen) {
  const ExprNode* node = ExprNode::of(e);
  if (node == nullptr || node->context == nullptr || !seen.insert(node).second) return;
  if (node->kind == Kind::Symbol) found.insert(e);
  for (const Expr& o : node->operands()) collect_symbols(o, found, seen);
}

template <class T>
int three_way(const T& a, const T& b) {
  return a < b ? -1 : b < a ? 1 : 0;
}

}  // namespace

Expr invalid() { return ExprNode::wrap(&kInvalidNode); }
Expr boolean(bool value) { return ExprNode::wrap(value ? &kTrueNode : &kFalseNode); }

Kind Expr::kind() const { return node_ == nullptr ? Kind::IntConst : node_->kind; }
Sort Expr::sort() const { return node_ == nullptr ? Sort::Int : node_->sort; }

Expr Expr::of(double value, Context&) { return real(value); }
Expr Expr::of(bool value, Context&) { return boolean(value); }
Expr Expr::invalid(Context&) { return sym::invalid(); }

std::optional<double> Expr::constant_float() const {
  if (node_ == nullptr) return static_cast<double>(value_);
  if (node_ == &kFloatNode) return std::bit_cast<double>(value_);
  return std::nullopt;
}

std::optional<bool> Expr::constant_bool() const {
  if (node_ == &kTrueNode) return true;
  if (node_ == &kFalseNode) return false;
  return std::nullopt;
}

std::span<const Expr> Expr::operands() const { return node_ == nullptr ? std::span<const Expr>() : node_->operands(); }
std::string_view Expr::symbol_name() const { return node_ == nullptr ? std::string_view() : node_->name; }
Context* Expr::context() const { return node_ == nullptr ? nullptr : node_->context; }

Expr real(double value) {
  if (!std::isfinite(value)) return invalid();
  return ExprNode::wrap(&kFloatNode, std::bit_cast<int64_t>(value + 0.0));  // + 0.0: one zero, not two
}

bool is_symbol_name(std::string_view name) {
  static constexpr std::string_view kWords[] = {"and", "or", "not", "true", "false", "invalid"};
  if (name.empty() || name.size() > 200 || !is_letter(name[0])) return false;
  for (char c : name)
    if (!is_letter(c) && !(c >= '0' && c <= '9')) return false;
  return std::find(std::begin(kWords), std::end(kWords), name) == std::end(kWords);
}

int structural_compare(const Expr& a, const Expr& b) {
  if (a == b) return 0;
  if (a.kind() != b.kind()) return three_way(a.kind(), b.kind());
  if (a.is_static()) return three_way(*a.constant(), *b.constant());
  if (auto x = a.constant_float()) return three_way(*x, *b.constant_float());
  if (auto x = a.constant_bool()) return three_way(*x, *b.constant_bool());
  if (a.kind() == Kind::Symbol) return three_way(a.symbol_name(), b.symbol_name());
  // Interned: the first differing pair of operands decides, so equal parts are never walked.
  auto x = a.operands(), y = b.operands();
  for (size_t i = 0; i < std::min(x.size(), y.size()); ++i)
    if (!(x[i] == y[i])) return structural_compare(x[i], y[i]);
  if (x.size() != y.size()) return three_way(x.size(), y.size());
  return three_way(a.sort(), b.sort());
}

bool structural_less(const Expr& a, const Expr& b) { return structural_compare(a, b) < 0; }

bool last_if_constant(const Expr& a, const Expr& b) {
  bool x = a.constant_float().has_value(), y = b.constant_float().has_value();
  return x != y ? y : structural_less(a, b);
}

std::vector<Expr> free_symbols(Expr e) {
  std::set<Expr, ExprLess> found;
  std::set<const ExprNode*> seen;
  collect_symbols(e, found, seen);
  return {found.begin(), found.end()};
}

}  // namespace edgec::sym

#include <algorithm>
#include <new>
#include <unordered_map>

#include "support/assert.h"
#include "sym/node.h"

namespace edgec::sym {
namespace {

size_t hash_key(Kind kind, Sort sort, std::span<const Expr> operands) {
  size_t h = static_cast<size_t>(kind) * 31 + static_cast<size_t>(sort);
  for (const Expr& o : operands) h = (h ^ ExprNode::hash_of(o)) * 0x100000001b3u + (h >> 29);
  return h;
}

}  // namespace

bool Context::Impl::Same::operator()(const Key& a, const ExprNode* b) const {
  return a.kind == b->kind && a.sort == b->sort && std::ranges::equal(a.operands, b->operands());
}

const ExprNode* Context::Impl::intern(Context* cx, Kind kind, Sort sort, std::span<const Expr> operands, uint32_t depth, uint32_t size) {
  Key key{kind, sort, operands, hash_key(kind, sort, operands)};
  if (auto it = nodes.find(key); it != nodes.end()) return *it;
  auto* copy = static_cast<Expr*>(arena.allocate(operands.size_bytes(), alignof(Expr)));
  std::uninitialized_copy(operands.begin(), operands.end(), copy);
  auto* node = new (arena.allocate(sizeof(ExprNode), alignof(ExprNode))) ExprNode(kind, sort);
  node->depth = depth;
  node->size = size;
  node->count = static_cast<uint32_t>(operands.size());
  node->first = copy;
  node->context = cx;
  node->hash = key.hash;
  if (kind == Kind::Mul && operands[0].is_static())
    node->monomial = operands.size() == 2 ? operands[1] : make(kind, sort, operands.subspan(1));
  nodes.insert(node);
  return node;
}

Expr make(Kind kind, Sort sort, std::span<const Expr> operands) {
  Context* cx = nullptr;
  uint32_t depth = 0;
  uint64_t size = 1;
  for (const Expr& o : operands) {
    const ExprNode* node = ExprNode::of(o);
    size += node == nullptr ? 1 : node->size;
    if (node == nullptr) continue;
    if (node->kind == Kind::Invalid) return invalid();
    depth = std::max(depth, node->depth);
    if (node->context == nullptr) continue;
    EDGEC_ASSERT(cx == nullptr || cx == node->context);
    cx = node->context;
  }
  if (depth >= kMaxDepth || size > kMaxSize) return invalid();
  EDGEC_ASSERT(cx != nullptr);  // operations on constants alone are folded
  return ExprNode::wrap(cx->impl().intern(cx, kind, sort, operands, depth + 1, static_cast<uint32_t>(size)));
}

void count_work(const Expr& any, size_t terms) {
  if (Context* cx = any.context()) cx->impl().work += terms;
}

Context::Context() : impl_(std::make_unique<Impl>()) {}
Context::~Context() = default;

Expr Context::symbol(std::string_view name, Sort sort) {
  if (auto found = find_symbol(name)) {
    EDGEC_ASSERT(found->sort() == sort);
    return *found;
  }
  EDGEC_ASSERT(is_symbol_name(name));
  auto it = impl_->symbols.emplace(std::string(name), Expr()).first;
  auto* node = new (impl_->arena.allocate(sizeof(ExprNode), alignof(ExprNode))) ExprNode(Kind::Symbol, sort);
  node->context = this;
  node->name = it->first;
  return it->second = ExprNode::wrap(node);
}

std::optional<Expr> Context::find_symbol(std::string_view name) const {
  auto it = impl_->symbols.find(name);
  if (it == impl_->symbols.end()) return std::nullopt;
  return it->second;
}

std::vector<Expr> Context::symbols() const {
  std::vector<Expr> all;
  for (const auto& [name, symbol] : impl_->symbols) all.push_back(symbol);
  return all;
}

void Context::set_range(Expr symbol, Range range) {
  EDGEC_ASSERT(symbol.kind() == Kind::Symbol && symbol.context() == this);
  symbol.node_->range = range.lo && range.hi && *range.lo > *range.hi ? Range{} : range;
  ++impl_->epoch;
}

Range Context::range_of(Expr symbol) const {
  EDGEC_ASSERT(symbol.kind() == Kind::Symbol && symbol.context() == this);
  return symbol.node_->range;
}

Expr Context::import(Expr e) {
  std::unordered_map<const ExprNode*, Expr> done;
  auto copy = [&](auto& self, const Expr& x) -> Expr {
    const ExprNode* node = x.node_;
    if (node == nullptr || node->context == nullptr || node->context == this) return x;
    if (auto it = done.find(node); it != done.end()) return it->second;
    Expr result;
    if (node->kind == Kind::Symbol) {
      auto mine = find_symbol(node->name);
      result = mine ? *mine : symbol(node->name, node->sort);
      if (!mine) set_range(result, node->range);
      if (result.sort() != node->sort) result = sym::invalid();
    } else {
      std::vector<Expr> operands;
      for (const Expr& o : node->operands()) operands.push_back(self(self, o));
      result = rebuild(x, operands);
    }
    return done[node] = result;
  };
  return copy(copy, e);
}

}  // namespace edgec::sym

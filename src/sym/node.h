#pragma once
#include <memory_resource>
#include <string>
#include <unordered_set>

#include <edgec/expr.h>

// What stands behind an Expr; private to src/sym.
namespace edgec::sym {

// Limits on one expression, so that hostile input stays cheap for every walk over the tree. Beyond them is Invalid.
inline constexpr uint32_t kMaxDepth = 200;
inline constexpr uint32_t kMaxSize = 20'000;     // nodes, counted as a tree
inline constexpr size_t kMaxTerms = 1'000;       // of a sum
inline constexpr size_t kMaxProducts = 10'000;   // of terms, while a product expands
inline constexpr uint64_t kMaxWork = 1'000'000;  // terms touched while one text is read

struct ExprNode {
  constexpr ExprNode(Kind k, Sort s) : kind(k), sort(s) {}

  Kind kind;
  Sort sort;
  uint32_t depth = 1;
  uint32_t size = 1;
  uint32_t count = 0;
  const Expr* first = nullptr;  // operands, in the arena
  Context* context = nullptr;
  std::string_view name;  // of a symbol
  Expr monomial;          // a product with a number in front: the same without it
  size_t hash = 0;
  mutable Range range;  // of a symbol: as set; else a cache, good while range_epoch is the context's
  mutable uint64_t range_epoch = 0;

  std::span<const Expr> operands() const { return {first, count}; }

  static const ExprNode* of(const Expr& e) { return e.node_; }
  static Expr wrap(const ExprNode* node, int64_t value = 0) {
    Expr e(value);
    e.node_ = node;
    return e;
  }
  static size_t hash_of(const Expr& e) {
    return (reinterpret_cast<size_t>(e.node_) >> 4) * 0x9e3779b97f4a7c15u + static_cast<size_t>(e.value_);
  }
};

Expr invalid();
Expr boolean(bool value);
Expr real(double value);  // Invalid unless finite

// The interned node. Invalid when an operand is, or when it would be too deep or too large.
Expr make(Kind kind, Sort sort, std::span<const Expr> operands);
inline Expr make(Kind kind, Sort sort, std::initializer_list<Expr> operands) {
  return make(kind, sort, std::span<const Expr>(operands.begin(), operands.size()));
}

int structural_compare(const Expr& a, const Expr& b);  // <0, 0, >0
bool last_if_constant(const Expr& a, const Expr& b);   // structural_less, but constants come after everything else

inline bool is_number(const Expr& e) { return !e.is_invalid() && e.sort() != Sort::Bool; }
inline bool is_int(const Expr& e) { return !e.is_invalid() && e.sort() == Sort::Int; }
inline bool is_bool(const Expr& e) { return !e.is_invalid() && e.sort() == Sort::Bool; }
// Both Int or, with the Int one converted, both Float. False when one is neither.
bool unify(Expr& a, Expr& b);

// Arithmetic of Float operands (real.cpp).
Expr real_add(Expr a, Expr b);
Expr real_mul(Expr a, Expr b);
Expr real_pow(Expr a, int64_t exponent);
// The Int x of float(x), or of a float constant that is a whole number below 2^53.
std::optional<Expr> whole(const Expr& e);

// The same operation on other operands, simplified.
Expr rebuild(const Expr& e, std::span<const Expr> operands);

void count_work(const Expr& any, size_t terms);  // towards Context's meter

struct Context::Impl {
  struct Key {
    Kind kind;
    Sort sort;
    std::span<const Expr> operands;
    size_t hash;
  };
  struct Hash {
    using is_transparent = void;
    size_t operator()(const Key& key) const { return key.hash; }
    size_t operator()(const ExprNode* node) const { return node->hash; }
  };
  struct Same {
    using is_transparent = void;
    bool operator()(const ExprNode* a, const ExprNode* b) const { return a == b; }
    bool operator()(const Key& a, const ExprNode* b) const;
    bool operator()(const ExprNode* a, const Key& b) const { return (*this)(b, a); }
  };

  const ExprNode* intern(Context* cx, Kind kind, Sort sort, std::span<const Expr> operands, uint32_t depth, uint32_t size);

  std::pmr::monotonic_buffer_resource arena;
  std::unordered_set<const ExprNode*, Hash, Same> nodes;
  std::map<std::string, Expr, std::less<>> symbols;
  uint64_t epoch = 1;  // moves on when a range changes
  uint64_t work = 0;
};

}  // namespace edgec::sym

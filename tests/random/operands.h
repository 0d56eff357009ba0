#pragma once
#include <functional>
#include <map>
#include <string>

#include "draft.h"

namespace edgec::random_graphs {

// What operators want of their operands, as text: "self=nk mat2=km". A pattern is a letter or digit a dim (equal
// letters are equal sizes), '*' in front for any leading dims, '?' in front for "or none", "a|b" for a list, then ':'
// and a dtype or a domain: float (default for the first), num, int, bool, any, <c (below dim c), positive, unit,
// sorted. Numbers: "dim=#1", "output_padding=#0,0", "N=%n" (the size of dim n), "reduce='sum|prod'", "weight=none",
// "training=false".
using Hints = std::map<std::string, std::string>;
const Hints& hints_for(const OpDef& op);

// Chooses tensors from the draft or makes inputs.
class Operands {
 public:
  Operands(Draft& draft, const OpDef& op);

  const std::string* hint(const std::string& param) const;
  // By the parameter's pattern. None: no such operand can be had.
  std::optional<Arg> by_pattern(std::string pattern);
  std::optional<Arg> list_by_pattern(const std::string& pattern);
  std::optional<ValueId> any();  // the first operand where nothing is known of it
  ValueId peer();                // broadcasts with the first
  ValueId bool_peer();
  ValueId like(const Dims& sizes, DType dtype, Domain domain = {});  // of exactly these sizes
  bool has_first() const { return first_.has_value(); }
  ValueId first() const { return *first_; }
  void set_first(ValueId v) {
    if (!first_) first_ = v;
  }
  const TensorType& first_type() const { return draft_.graph().tensor(*first_); }
  std::optional<Dim> letter(char c) const;
  Domain divisor_domain() const { return divides_ ? Domain{Domain::Kind::Positive, 0} : Domain{}; }

 private:
  std::optional<ValueId> existing(const std::function<bool(ValueId)>& accepts);
  DType dtype_for(const std::string& kind);
  bool dtype_fits(DType d, const std::string& kind) const;
  bool matches(ValueId v, const std::string& dims);

  Draft& draft_;
  const OpDef& op_;
  const Hints& hints_;
  bool divides_;  // integers by zero end the run: the other operand is positive
  std::optional<ValueId> first_;
  std::map<char, Dim> letters_;
};

}  // namespace edgec::random_graphs

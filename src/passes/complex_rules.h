#pragma once
#include <edgec/rewriter.h>

#include <functional>
#include <map>
#include <string_view>

// How single operators work on the real and imaginary parts of complex tensors (passes/complex_parts).
namespace edgec::passes {

// A tensor by its parts; without `im` it is real.
struct Parts {
  ValueId re, im;
};

struct ComplexCall {
  Method& method;  // new constants go here
  Builder& b;
  Call c;
  const Node& node;
  std::function<Parts(ValueId)> parts_of;

  // An operand's parts: of a tensor, a real number or a complex one (a list of two).
  Parts parts(std::string_view param) const;
  // Both parts, zeros where there was none.
  Parts both_parts(std::string_view param) const;
  DType part_dtype() const;  // of the node's first result
  ValueId constant(std::string_view name, std::vector<int64_t> sizes, const std::vector<double>& values, DType dtype) const;
};

// One entry per result of the node; what is complex has both parts.
using ComplexRule = std::vector<Parts> (*)(const ComplexCall&);
using ComplexRules = std::map<std::string_view, ComplexRule>;

// Operators that treat the parts alike (views, joins, sums): nothing for others.
bool is_componentwise(std::string_view op);
const ComplexRule* find_complex_rule(std::string_view op);
void add_fourier_rules(ComplexRules&);
DType part_of(DType complex);  // c64 -> f32

}  // namespace edgec::passes

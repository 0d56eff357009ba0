#pragma once
#include <memory>
#include <string>
#include <vector>

#include <edgec/op.h>
#include <edgec/program.h>
#include "calls.h"
#include "rng.h"

namespace edgec::random_graphs {

// A program under construction, next to a twin with numbers for symbols for each call that will be made: a call enters
// the graph when it is well-typed in all of them and the sizes agree. (What holds for symbols only by a guard of the
// exporter, say that two sizes are equal, is left out so.)
class Draft {
 public:
  // `for_delegate`: dtypes and sizes that a delegate takes, for the most part.
  explicit Draft(Rng& rng, bool for_delegate = false);

  // What is known of a value beside its type.
  struct Facts {
    size_t storage = 0;     // views share it
    bool readable = true;   // its elements are specified: not those of empty or rand
    bool writable = false;  // no two elements in one place, and it is known what it aliases
    bool dense = true;      // in torch's memory too, so that `view` takes it
  };

  Graph& graph() { return *method_->graph; }
  const Graph& graph() const { return *method_->graph; }
  Rng& rng() { return rng_; }
  const Facts& facts(ValueId v) const { return facts_[v.index]; }
  size_t value_count() const { return facts_.size(); }
  const std::vector<sym::Expr>& symbols() const { return symbols_; }
  bool is_frozen(ValueId v) const { return frozen_[facts_[v.index].storage]; }
  // The numbers that an expression stands for, one a call.
  std::vector<int64_t> numbers(const sym::Expr& e) const;

  DType random_dtype();
  DType random_float();
  Dim random_dim();
  Dims random_sizes(size_t rank);
  // A new user input, parameter or buffer; weights only where the sizes are numbers.
  ValueId add_input(DType dtype, Dims sizes, Domain domain = {});
  // Appends the call when it is well-typed; the reason when it is not.
  Status add_call(const OpDef& op, const std::vector<Arg>& args);
  // Types of a call that is not made; empty when it is not well-typed.
  std::vector<Type> types_of(const OpDef& op, const std::vector<Arg>& args) const;
  std::vector<int64_t> sizes_in_twin(ValueId v, size_t twin) const;
  size_t twins() const { return twins_.size(); }

  std::unique_ptr<Program> finish();

 private:
  Arg numbered(const Arg& a, size_t twin) const;
  Status check_types(const std::vector<Type>& types, const std::vector<std::vector<Type>>& in_twins) const;
  Status check_write(const OpDef& op, const std::vector<Arg>& args) const;
  void note_results(const OpDef& op, const std::vector<Arg>& args, const std::vector<ValueId>& results);
  void choose_outputs();

  Rng& rng_;
  bool for_delegate_ = false;
  std::unique_ptr<Program> program_ = std::make_unique<Program>();
  Method* method_ = nullptr;
  std::vector<sym::Expr> symbols_;
  std::vector<sym::Bindings> sizes_;
  std::vector<std::unique_ptr<Graph>> twins_;
  std::vector<Facts> facts_;
  std::vector<bool> frozen_;  // by storage: never written
};

// "aten.add_.Tensor" -> "aten.add.Tensor"; null when there is none.
const OpDef* functional_form(const OpDef& op);

// A program of the kept nodes and of what they need: results of others become inputs. Unused inputs go.
std::unique_ptr<Program> rebuilt(const Program& p, const std::vector<bool>& keep, const std::vector<size_t>& outputs);

// A random program of at most `max_nodes` nodes; with a backend most of them are of operators that it takes.
std::unique_ptr<Program> generate(uint64_t seed, size_t max_nodes = 30, const std::string& backend = {});

}  // namespace edgec::random_graphs

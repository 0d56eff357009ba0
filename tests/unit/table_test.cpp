#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include <edgec/op.h>
#include "ops/absent.h"
#include "ops/table.h"

// The operator table beside torch's schemas and ExecuTorch's edge dtype rows (tests/ops/*.txt, made by scripts/gen_torch_facts.py).
namespace edgec {
namespace {

std::vector<std::string> lines_of(const std::string& file) {
  std::ifstream in(std::string(EDGEC_TESTS_DIR) + "/ops/" + file);
  std::vector<std::string> out;
  for (std::string line; std::getline(in, line);)
    if (!line.empty() && line[0] != '#') out.push_back(line);
  return out;
}

bool same(const Param& a, const Param& b) {
  // torch prints these defaults by number or by name, depending on the operator.
  const bool numbered = a.type == ArgType::MemoryFormat || a.type == ArgType::DType;
  return a.name == b.name && a.type == b.type && a.optional == b.optional && a.list == b.list && a.list_of_optional == b.list_of_optional &&
         a.list_size == b.list_size && a.kwarg_only == b.kwarg_only && a.alias == b.alias && a.written == b.written &&
         a.default_value.has_value() == b.default_value.has_value() &&
         (!a.default_value || numbered || a.default_value->value == b.default_value->value);
}

bool same(const Return& a, const Return& b) { return a.type == b.type && a.list == b.list && a.alias == b.alias && a.written == b.written; }

bool same(const Schema& a, const Schema& b) {
  return std::equal(a.params.begin(), a.params.end(), b.params.begin(), b.params.end(),
                    [](const Param& x, const Param& y) { return same(x, y); }) &&
         std::equal(a.returns.begin(), a.returns.end(), b.returns.begin(), b.returns.end(),
                    [](const Return& x, const Return& y) { return same(x, y); });
}

TEST(Table, SchemasAreTorchs) {
  ops::register_all();
  std::map<std::string, Schema> torch;
  for (const std::string& line : lines_of("torch_schemas.txt")) {
    auto s = parse_schema(line);
    ASSERT_TRUE(s) << line;
    torch.emplace(s->full_name(), *s);
  }
  ASSERT_GT(torch.size(), 300u);
  int compared = 0;
  for (const OpDef* op : Registry::global().all()) {
    const Schema& ours = op->schema();
    if (ours.ns != "aten") continue;
    auto it = torch.find(op->name());
    if (it == torch.end()) {
      ADD_FAILURE() << op->name() << " is no operator of torch";
      continue;
    }
    ++compared;
    const Schema& theirs = it->second;
    EXPECT_TRUE(same(ours, theirs)) << op->schema_text;
  }
  EXPECT_GT(compared, 300);
}

// torch.add(x, y, out=z): the form is made of the plain operator when its name comes up, with torch's schema.
TEST(Table, FormsThatWriteIntoGivenTensorsAreTorchs) {
  ops::register_all();
  // What has no plain form, or one of other parameters.
  const std::set<std::string> without = {"aten._convolution.out",
                                         "aten._native_batch_norm_legit.out",
                                         "aten.addmm.dtype_out",
                                         "aten.baddbmm.dtype_out",
                                         "aten.bernoulli.float_out",
                                         "aten.bmm.dtype_out",
                                         "aten.mm.dtype_out",
                                         "aten.normal.out",
                                         "aten.rand.generator_out",
                                         "aten.rand_like.generator_out",
                                         "aten.randint.generator_out",
                                         "aten.randint.low_generator_out",
                                         "aten.randint_like.Tensor_generator_out",
                                         "aten.randint_like.Tensor_out",
                                         "aten.randint_like.generator_out",
                                         "aten.randint_like.low_generator_dtype_out",
                                         "aten.randn.generator_out",
                                         "aten.randn_like.generator_out",
                                         "aten.randperm.generator_out",
                                         "aten.view_copy.dtype_out"};
  std::set<std::string> missing;
  size_t compared = 0;
  for (const std::string& line : lines_of("torch_schemas.txt")) {
    const Schema theirs = *parse_schema(line);
    if (!std::any_of(theirs.params.begin(), theirs.params.end(), [](const Param& p) { return p.kwarg_only && p.written; })) continue;
    const OpDef* op = Registry::global().unknown(theirs.full_name(), {}, 1);
    ASSERT_NE(op, nullptr) << line;
    if (!op->known) {
      missing.insert(theirs.full_name());
      continue;
    }
    ++compared;
    const Schema& ours = op->schema();
    EXPECT_TRUE(same(ours, theirs)) << op->schema_text << "\n" << line;
  }
  EXPECT_GT(compared, 500u);
  EXPECT_EQ(missing, without);
}

// What torch.export may give is in the table, or left out for a reason that docs/limits.md tells.
TEST(Table, CoreOperatorsAreThereOrHaveAReason) {
  ops::register_all();
  std::ifstream in(std::string(EDGEC_TESTS_DIR) + "/../docs/limits.md");
  const std::string limits((std::istreambuf_iterator<char>(in)), {});
  size_t present = 0, absent = 0;
  for (const std::string& name : lines_of("core_operators.txt")) {
    if (Registry::global().find(name) || Registry::global().unknown(name, {}, 1)->known) {
      ++present;
      continue;
    }
    ++absent;
    const std::string reason(ops::reason_absent(name));
    if (reason.empty())
      ADD_FAILURE() << name << " is neither in the table nor left out for a reason";
    else
      EXPECT_NE(limits.find(reason), std::string::npos) << "docs/limits.md does not say: " << reason;
  }
  EXPECT_GT(present, 700u);
  EXPECT_LT(absent, 330u);
}

// "T1:u8|i8" -> its dtypes; the class ties arguments of one row together.
struct DTypeSet {
  std::string cls;
  std::vector<DType> dtypes;
};

DType edge_dtype(const std::string& name) {
  static const std::map<std::string, DType> names = {{"b", DType::Bool},   {"u8", DType::U8},   {"i8", DType::I8},   {"i16", DType::I16},
                                                     {"i32", DType::I32},  {"i64", DType::I64}, {"f16", DType::F16}, {"bf16", DType::BF16},
                                                     {"f32", DType::F32},  {"f64", DType::F64}, {"u16", DType::U16}, {"c64", DType::C64},
                                                     {"c128", DType::C128}};
  return names.at(name);
}

DTypeSet parse_set(const std::string& text) {
  DTypeSet out;
  const size_t colon = text.find(':');
  out.cls = text.substr(0, colon);
  std::istringstream in(text.substr(colon + 1));
  for (std::string d; std::getline(in, d, '|');) out.dtypes.push_back(edge_dtype(d));
  return out;
}

// An argument that a row says nothing of.
std::optional<Arg> neutral(const Param& p) {
  if (p.name == "rounding_mode") return Arg("trunc");  // the rows are those of rounded division
  if (p.default_value) return default_arg(p);
  if (p.optional) return Arg();
  if (p.name == "dim" || p.name == "dims") return p.list ? Arg::ints({0}) : Arg(0);
  if (p.list && (p.type == ArgType::Int || p.type == ArgType::SymInt))
    return Arg::ints(std::vector<int64_t>(static_cast<size_t>(std::max(p.list_size, 1)), 1));
  if (p.type == ArgType::Int || p.type == ArgType::SymInt || p.type == ArgType::Scalar) return Arg(0);
  if (p.type == ArgType::Bool) return Arg(false);
  if (p.type == ArgType::Float) return Arg(0.5);
  return std::nullopt;
}

Arg number_of(DType d) {
  if (d == DType::Bool) return Arg(true);
  if (is_float(d)) return Arg(1.5);
  return Arg(2);
}

// Every combination of dtypes that a row allows gives the result dtype that the row says.
TEST(Table, ResultDTypesAreThoseOfTheEdgeRows) {
  ops::register_all();
  std::map<std::string, std::vector<std::map<std::string, DTypeSet>>> rows;
  for (const std::string& line : lines_of("edge_dtypes.txt")) {
    std::istringstream in(line);
    std::string op, item;
    in >> op;
    std::map<std::string, DTypeSet> row;
    while (in >> item) {
      const size_t eq = item.find('=');
      row[item.substr(0, eq)] = parse_set(item.substr(eq + 1));
    }
    rows[op].push_back(std::move(row));
  }
  const std::set<std::string> deviations = {};  // operators whose rows are wrong against torch itself; at most 30, each with its reason
  int checked = 0, operators = 0;
  std::set<std::string> wrong;
  for (const auto& [name, alternatives] : rows) {
    std::string ours = "aten." + name.substr(6);
    const OpDef* op = Registry::global().find(ours);
    if (!op && ours.find("_copy") != std::string::npos) op = Registry::global().find(std::string(ours).replace(ours.find("_copy"), 5, ""));
    if (!op || (!op->infer && !(op->shape && op->dtype))) continue;
    ++operators;
    // Argument dtypes -> allowed results, over all rows.
    std::map<std::vector<std::pair<std::string, DType>>, std::set<DType>> allowed;
    for (const auto& row : alternatives) {
      std::vector<std::string> args;
      for (const auto& [arg, set] : row)
        if (!arg.starts_with("__ret")) args.push_back(arg);
      if (!row.count("__ret_0")) continue;
      std::vector<size_t> at(args.size(), 0);
      for (bool more = true; more;) {
        std::map<std::string, DType> classes;
        std::vector<std::pair<std::string, DType>> key;
        bool consistent = true;
        for (size_t i = 0; i < args.size(); ++i) {
          const DTypeSet& s = row.at(args[i]);
          const DType d = s.dtypes[at[i]];
          consistent = consistent && (!classes.count(s.cls) || classes[s.cls] == d);
          classes[s.cls] = d;
          key.emplace_back(args[i], d);
        }
        if (consistent) {
          const DTypeSet& ret = row.at("__ret_0");
          for (DType d : ret.dtypes)
            if (!classes.count(ret.cls) || classes[ret.cls] == d) allowed[key].insert(d);
        }
        more = false;
        for (size_t i = 0; i < at.size() && !more; ++i) {
          if (++at[i] < row.at(args[i]).dtypes.size())
            more = true;
          else
            at[i] = 0;
        }
      }
    }
    for (const auto& entry : allowed) {
      const auto& key = entry.first;
      const auto& results = entry.second;
      // "f16|bf16" stands for either half type, not for a mixture.
      const auto has = [&](DType d) { return std::any_of(key.begin(), key.end(), [&](const auto& k) { return k.second == d; }); };
      if (has(DType::F16) && has(DType::BF16)) continue;
      Graph g(std::make_shared<sym::Context>());
      std::map<std::string, DType> given(key.begin(), key.end());
      std::vector<Arg> args;
      bool callable = true;
      for (const Param& p : op->schema().params) {
        auto it = given.find(p.name);
        if (it != given.end() && p.type == ArgType::DType) {
          args.push_back(it->second);
        } else if (it != given.end() && p.type == ArgType::Tensor) {
          const ValueId v = g.add_input(p.name, Type::of(TensorType{it->second, {Dim(1), Dim(1), Dim(1), Dim(1)}, {}, {}}));
          args.push_back(p.list ? Arg(ArgList{v}) : Arg(v));
        } else if (it != given.end()) {
          args.push_back(number_of(it->second));
        } else if (auto a = neutral(p)) {
          args.push_back(*a);
        } else {
          callable = false;
        }
      }
      if (!callable) continue;
      auto types = infer(g, *op, args);
      if (!types || types->empty() || !(*types)[0].is_tensor()) continue;  // the sizes made up here do not suit the operator
      ++checked;
      if (!results.count((*types)[0].tensor.dtype) && wrong.insert(name).second && !deviations.count(name)) {
        std::string text;
        for (const auto& [arg, d] : key) text += " " + arg + "=" + std::string(edgec::name(d));
        ADD_FAILURE() << name << text << ": we give " << edgec::name((*types)[0].tensor.dtype) << ", the row "
                      << edgec::name(*results.begin());
      }
    }
  }
  EXPECT_GT(operators, 80);
  EXPECT_GT(checked, 2000);
  EXPECT_LE(deviations.size(), 30u);
}

}  // namespace
}  // namespace edgec

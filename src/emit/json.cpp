#include "emit/json.h"

#include <array>
#include <cmath>
#include <iterator>

#include <fmt/format.h>

#include "emit/memory_use.h"
#include "emit/operators.h"
#include "emit/scalar_type.h"
#include "emit/usage.h"

namespace edgec::pte {
namespace {

// Length of the UTF-8 sequence that `s` starts with; 0 when it is none.
size_t utf8_length(std::string_view s) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(s[i]); };
  size_t n = byte(0) < 0x80 ? 1 : byte(0) < 0xc2 ? 0 : byte(0) < 0xe0 ? 2 : byte(0) < 0xf0 ? 3 : byte(0) < 0xf5 ? 4 : 0;
  if (n == 0 || n > s.size()) return 0;
  for (size_t i = 1; i < n; ++i)
    if (byte(i) < 0x80 || byte(i) > 0xbf) return 0;
  bool overlong = (byte(0) == 0xe0 && byte(1) < 0xa0) || (byte(0) == 0xf0 && byte(1) < 0x90);
  bool surrogate = byte(0) == 0xed && byte(1) > 0x9f;
  bool too_large = byte(0) == 0xf4 && byte(1) > 0x8f;
  return overlong || surrogate || too_large ? 0 : n;
}

class JsonWriter {
 public:
  explicit JsonWriter(const Program& program) : program_(program) {}

  std::string run() {
    put("{{\"kind\": \"program\", \"methods\": ");
    list(program_.plans, [&](const Plan& plan) { method(plan); });
    auto sizes = [&](const char* key, const std::vector<Blob>& blobs) {
      put(", \"{}\": ", key);
      list(blobs, [&](const Blob& b) { put("{{\"bytes\": {}}}", b.size); });
    };
    sizes("constants", program_.constants);
    sizes("initial_states", program_.initial_states);
    sizes("payloads", program_.payloads);
    put(", \"named_data\": ");
    list(program_.named_data, [&](const NamedData& n) { put("{{\"key\": {}, \"bytes\": {}}}", quoted(n.key), n.data.size); });
    put("}}\n");
    return std::move(out_);
  }

 private:
  template <class... T>
  void put(fmt::format_string<T...> format, T&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<T>(args)...);
  }
  template <class T, class F>
  void list(const std::vector<T>& items, F&& put_one) {
    out_ += '[';
    for (size_t i = 0; i < items.size(); ++i) {
      if (i) out_ += ", ";
      put_one(items[i]);
    }
    out_ += ']';
  }
  template <class T>
  void numbers(const std::vector<T>& items) {
    list(items, [&](auto x) { number(x); });
  }
  template <class T>
  void number(T x) {
    put("{}", x);
  }
  void number(double x) {  // JSON has no words for these
    if (std::isfinite(x))
      put("{}", x);
    else
      put("\"{}\"", std::isnan(x) ? "NaN" : x > 0 ? "Infinity" : "-Infinity");
  }

  void method(const Plan& plan) {
    Usage usage = usage_of(plan);
    put("{{\"name\": {}, \"inputs\": ", quoted(plan.name));
    numbers(plan.inputs);
    put(", \"outputs\": ");
    numbers(plan.outputs);
    put(", \"in_spec\": {}, \"out_spec\": {}, \"memory_bytes\": ", quoted(plan.in_spec), quoted(plan.out_spec));
    numbers(plan.buffer_sizes);
    auto most = max_live_bytes(plan);
    put(", \"max_live_bytes\": {}", most ? fmt::format("{}", *most) : "null");
    most = max_live_bytes(plan, 16);  // the alignment of offsets unless more is asked for
    put(", \"max_live_bytes_aligned\": {}", most ? fmt::format("{}", *most) : "null");
    put(", \"live\": ");
    list(live_bytes(plan).value_or(std::vector<LiveBytes>()), [&](const LiveBytes& l) {
      put("{{\"memory\": {}, \"begin\": {}, \"end\": {}, \"from\": {}, \"to\": {}}}", l.memory, l.begin, l.end, l.from, l.to);
    });
    put(", \"operators\": ");
    size_t op = 0;
    list(plan.operators, [&](const Operator& o) {
      std::string name = full_name(o);
      auto library = library_of(name);
      put("{{\"name\": {}, \"calls\": {}, \"library\": {}}}", quoted(name), usage.operator_calls[op++],
          library ? quoted(name_of(*library)) : "null");
    });
    put(", \"delegates\": ");
    size_t delegate = 0;
    list(plan.delegates, [&](const Delegate& d) {
      put("{{\"backend\": {}, \"payload\": {}, \"payload_bytes\": {}, \"calls\": {}, \"compile_specs\": ", quoted(d.backend_id), d.payload,
          payload_bytes(program_, d), usage.delegate_calls[delegate++]);
      list(d.compile_specs, [&](const CompileSpec& s) { put("{{\"key\": {}, \"bytes\": {}}}", quoted(s.key), s.value.size()); });
      put("}}");
    });
    put(", \"values\": ");
    list(plan.values, [&](const Value& v) { std::visit([&](const auto& x) { value(x); }, v); });
    put(", \"instructions\": ");
    list(plan.instructions, [&](const Instruction& i) { std::visit([&](const auto& x) { instruction(plan, x); }, i); });
    put("}}");
  }

  void value(const Null&) { put("{{\"kind\": \"none\"}}"); }
  void value(int64_t i) { put("{{\"kind\": \"int\", \"value\": {}}}", i); }
  void value(bool b) { put("{{\"kind\": \"bool\", \"value\": {}}}", b); }
  void value(double d) {
    put("{{\"kind\": \"float\", \"value\": ");
    number(d);
    put("}}");
  }
  void value(const std::string& s) { put("{{\"kind\": \"string\", \"value\": {}}}", quoted(s)); }
  void value(const IntList& l) { value_list("int_list", l.items); }
  void value(const DoubleList& l) { value_list("float_list", l.items); }
  void value(const BoolList& l) { value_list("bool_list", l.items); }
  void value(const TensorList& l) { value_list("tensor_list", l.items); }
  void value(const OptionalTensorList& l) { value_list("optional_tensor_list", l.items); }
  template <class T>
  void value_list(const char* kind, const std::vector<T>& items) {
    put("{{\"kind\": \"{}\", \"items\": ", kind);
    numbers(items);
    put("}}");
  }
  void value(const Tensor& t) {
    static constexpr std::array kDynamism = {"static", "bound", "unbound"};
    const ScalarType* type = scalar_type(t.scalar_type);
    put("{{\"kind\": \"tensor\", \"dtype\": {}, \"sizes\": ", type ? quoted(type->name) : fmt::format("{}", t.scalar_type));
    numbers(t.sizes);
    put(", \"dim_order\": ");
    list(t.dim_order, [&](uint8_t d) { put("{}", static_cast<int>(d)); });
    put(", \"dynamism\": \"{}\"", kDynamism[static_cast<size_t>(t.dynamism) % kDynamism.size()]);
    if (auto bytes = byte_count(t)) put(", \"bytes\": {}", *bytes);
    if (t.place) put(", \"place\": {{\"memory\": {}, \"offset\": {}}}", t.place->memory_id, t.place->offset);
    if (!t.external_name.empty())
      put(", \"external\": {}", quoted(t.external_name));
    else if (t.data_buffer_idx > 0)
      put(", \"{}\": {}", t.place ? "initial_state" : "constant", t.data_buffer_idx - 1);
    put("}}");
  }

  void instruction(const Plan& plan, const KernelCall& c) {
    bool known = c.op >= 0 && std::cmp_less(c.op, plan.operators.size());
    put("{{\"kind\": \"kernel\", \"operator\": {}, \"args\": ",
        known ? quoted(full_name(plan.operators[static_cast<size_t>(c.op)])) : "null");
    numbers(c.args);
    put("}}");
  }
  void instruction(const Plan&, const DelegateCall& c) {
    put("{{\"kind\": \"delegate\", \"delegate\": {}, \"args\": ", c.delegate);
    numbers(c.args);
    put("}}");
  }
  void instruction(const Plan&, const MoveCall& c) { put("{{\"kind\": \"move\", \"from\": {}, \"to\": {}}}", c.from, c.to); }
  void instruction(const Plan&, const JumpFalse& c) {
    put("{{\"kind\": \"jump_false\", \"condition\": {}, \"target\": {}}}", c.cond, c.target);
  }

  const Program& program_;
  std::string out_;
};

}  // namespace

std::string quoted(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    size_t n = utf8_length(text);
    char c = text[0];
    if (n == 0)
      out += "\\ufffd";
    else if (c == '"' || c == '\\')
      (out += '\\') += c;
    else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      out += c == '\n' ? "\\n" : c == '\t' ? "\\t" : fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else
      out += text.substr(0, n);
    text.remove_prefix(n ? n : 1);
  }
  return out += '"';
}

std::string describe_json(const Program& program) { return JsonWriter(program).run(); }

}  // namespace edgec::pte

#include "cases.h"

#include <fmt/format.h>

#include <charconv>
#include <fstream>
#include <numeric>
#include <sstream>

#include <edgec/tensor_data.h>

namespace edgec::op_tests {
namespace {

// The same numbers as in make_cases.py.
uint64_t mixed(uint64_t seed, uint64_t i) {
  uint64_t z = seed * 0x9E3779B97F4A7C15u + (i + 1) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

std::vector<std::string> words(const std::string& text, char separator) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string w; std::getline(in, w, separator);)
    if (!w.empty()) out.push_back(w);
  return out;
}

std::vector<int64_t> sizes_from(const std::string& text) {
  std::vector<int64_t> out;
  if (text != "-")
    for (const std::string& w : words(text, ',')) out.push_back(std::stoll(w));
  return out;
}

void append_text(std::vector<std::byte>& to, DType dtype, const std::string& number) {
  if (number.find_first_of(".enN") == std::string::npos) return append_integer(to, dtype, std::stoll(number));
  append_element(to, dtype, std::strtod(number.c_str(), nullptr));  // stod refuses subnormal numbers
}

// "grid SEED LOW HIGH DENOMINATOR [SPECIALS]", "shuffled SEED DENOMINATOR", "values A,B,..."
std::vector<std::byte> elements(DType dtype, int64_t count, const std::vector<std::string>& how) {
  std::vector<std::byte> out;
  const std::string& kind = how.at(0);
  if (kind == "values") {
    if (count > 0)
      for (const std::string& v : words(how.at(1), ',')) append_text(out, dtype, v);
  } else if (kind == "shuffled") {
    std::vector<int64_t> order(static_cast<size_t>(count));
    std::iota(order.begin(), order.end(), -count / 2);
    for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[mixed(std::stoull(how.at(1)), i) % i]);
    for (int64_t v : order) append_element(out, dtype, static_cast<double>(v) / std::stod(how.at(2)));
  } else {
    const uint64_t seed = std::stoull(how.at(1));
    const int64_t low = std::stoll(how.at(2)), high = std::stoll(how.at(3));
    const auto specials = how.size() > 5 ? words(how[5], ',') : std::vector<std::string>{};
    for (int64_t i = 0; i < count; ++i) {
      const uint64_t z = mixed(seed, static_cast<uint64_t>(i));
      if (!specials.empty() && (z >> 40) % 4 == 0) {
        append_text(out, dtype, specials[(z >> 44) % specials.size()]);
        continue;
      }
      const int64_t k = low + static_cast<int64_t>((z >> 8) % static_cast<uint64_t>(high - low + 1));
      append_element(out, dtype, static_cast<double>(k) / std::stod(how.at(4)));
    }
  }
  return out;
}

std::vector<std::byte> from_base64(const std::string& text) {
  std::vector<std::byte> out;
  uint32_t bits = 0;
  int have = 0;
  for (char c : text) {
    const int v = c >= 'A' && c <= 'Z'   ? c - 'A'
                  : c >= 'a' && c <= 'z' ? c - 'a' + 26
                  : c >= '0' && c <= '9' ? c - '0' + 52
                  : c == '+'             ? 62
                  : c == '/'             ? 63
                                         : -1;
    if (v < 0) break;
    bits = bits << 6 | static_cast<uint32_t>(v);
    if ((have += 6) >= 8) out.push_back(static_cast<std::byte>(bits >> (have -= 8)));
  }
  return out;
}

int64_t count_of(const std::vector<int64_t>& sizes) { return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>()); }

Tensor input_from(const std::vector<std::string>& w) {
  Tensor t;
  t.dtype = dtype_from_name(w.at(1)).value();
  t.sizes = sizes_from(w.at(2));
  t.bytes = elements(t.dtype, count_of(t.sizes), {w.begin() + 3, w.end()});
  return t;
}

Expected output_from(const std::vector<std::string>& w) {
  Expected e;
  if (w.at(1) == "number") {
    e.is_tensor = false;
    e.number = std::stod(w.at(2));
    return e;
  }
  e.tensor.dtype = dtype_from_name(w.at(1)).value();
  e.tensor.sizes = sizes_from(w.at(2));
  if (w.size() > 3) e.tensor.bytes = from_base64(w[3]);
  return e;
}

void read_line(std::vector<Case>& cases, const std::string& line, const std::string& file, int number) {
  if (line.empty() || line[0] == '#') return;
  if (line[0] == '|') {
    cases.back().program += line.substr(std::min<size_t>(2, line.size())) + "\n";
    return;
  }
  const auto w = words(line, ' ');
  if (w[0] == "case") {
    cases.emplace_back();
    cases.back().op = w.at(1);
    cases.back().name = w.at(2);
    cases.back().file = file;
    cases.back().line = number;
  } else if (w[0] == "tolerance") {
    cases.back().rtol = std::stod(w.at(1));
    cases.back().atol = std::stod(w.at(2));
  } else if (w[0] == "refused") {
    cases.back().refused = line.substr(8);
  } else if (w[0] == "step") {
    cases.back().step = std::stod(w.at(1));
  } else if (w[0] == "integers") {
    cases.back().integers = std::stoi(w.at(1));
    cases.back().integer_weights = std::stoi(w.at(2));
  } else if (w[0] == "within") {
    cases.back().random = true;
    cases.back().low = std::stod(w.at(1));
    cases.back().high = std::stod(w.at(2));
  } else if (w[0] == "call") {
    cases.back().calls.emplace_back();
  } else if (w[0] == "in") {
    cases.back().calls.back().inputs.push_back(input_from(w));
  } else if (w[0] == "out") {
    cases.back().calls.back().outputs.push_back(output_from(w));
  } else {
    throw std::invalid_argument(w[0]);
  }
}

}  // namespace

Result<std::vector<Case>> read_cases(const std::string& path) {
  std::ifstream in(path);
  if (!in) return input_error(fmt::format("error: cannot read {}", path));
  std::vector<Case> cases;
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    try {
      read_line(cases, line, path, number);
    } catch (const std::exception& e) {
      return input_error(fmt::format("error: {}:{}: {}", path, number, e.what()));
    }
  }
  return cases;
}

}  // namespace edgec::op_tests

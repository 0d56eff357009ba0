#include "memory/instance.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>

namespace edgec::memory {
namespace {

constexpr size_t kMaxRows = 1'000'000;
constexpr int64_t kMaxSum = int64_t{1} << 60;
constexpr std::array<std::string_view, 4> kColumns = {"id", "lower", "upper", "size"};

std::string_view trimmed(std::string_view s) {
  while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
  while (!s.empty() && (s.back() == ' ' || s.back() == '\t' || s.back() == '\r')) s.remove_suffix(1);
  return s;
}

std::vector<std::string_view> fields_of(std::string_view line) {
  std::vector<std::string_view> out;
  for (;;) {
    const size_t comma = line.find(',');
    out.push_back(trimmed(line.substr(0, comma)));
    if (comma == std::string_view::npos) return out;
    line.remove_prefix(comma + 1);
  }
}

class Reader {
 public:
  Reader(std::string_view csv, std::string_view name) : rest_(csv), name_(name) {}

  Result<Instance> run() {
    if (rest_.starts_with("\xef\xbb\xbf")) rest_.remove_prefix(3);
    EDGEC_TRY_VOID(header());
    while (!rest_.empty()) {
      const std::string_view line = next_line();
      if (!trimmed(line).empty()) EDGEC_TRY_VOID(row(fields_of(line)));
    }
    set_times();
    return std::move(out_);
  }

 private:
  std::string_view next_line() {
    ++line_;
    const size_t end = rest_.find('\n');
    const std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
    return line;
  }
  Failure error(std::string_view what) const { return input_error(fmt::format("error: {}: line {}: {}", name_, line_, what)); }

  Status header() {
    const auto names = fields_of(next_line());
    columns_ = names.size();
    for (size_t c = 0; c < kColumns.size(); ++c) {
      const auto at = std::find(names.begin(), names.end(), kColumns[c]);
      if (at == names.end()) return error(fmt::format("there is no column \"{}\"; an instance has id, lower, upper and size", kColumns[c]));
      if (std::find(at + 1, names.end(), kColumns[c]) != names.end())
        return error(fmt::format("two columns are called \"{}\"", kColumns[c]));
      at_[c] = static_cast<size_t>(at - names.begin());
    }
    return {};
  }

  Result<int64_t> number(std::string_view text, std::string_view column) const {
    int64_t n = 0;
    const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (ec != std::errc() || end != text.data() + text.size() || text.empty())
      return error(fmt::format("the {} is no whole number of 64 bits", column));
    return n;
  }

  Status row(const std::vector<std::string_view>& fields) {
    if (fields.size() != columns_) return error(fmt::format("{} fields where the header has {}", fields.size(), columns_));
    if (out_.blocks.size() == kMaxRows) return error(fmt::format("more than {} buffers", kMaxRows));
    MemoryBlock b;
    b.name = std::string(fields[at_[0]]);
    EDGEC_TRY(const int64_t lower, number(fields[at_[1]], "lower"));
    EDGEC_TRY(const int64_t upper, number(fields[at_[2]], "upper"));
    EDGEC_TRY(b.bytes, number(fields[at_[3]], "size"));
    if (lower >= upper) return error(fmt::format("the buffer is gone at {} before it is there at {}", upper, lower));
    if (b.bytes < 0) return error("the size is negative");
    if (b.bytes > kMaxSum - sum_) return error("the sizes are too large together");
    sum_ += b.bytes;
    out_.blocks.push_back(std::move(b));
    out_.times.emplace_back(lower, upper);
    return {};
  }

  // Times as far from the first as they are, or where that is too far, numbered.
  void set_times() {
    std::vector<int64_t> all;
    for (const auto& [lower, upper] : out_.times) all.insert(all.end(), {lower, upper});
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    const bool near = !all.empty() && static_cast<uint64_t>(all.back()) - static_cast<uint64_t>(all.front()) <= UINT32_MAX;
    const auto time = [&](int64_t t) {
      return static_cast<uint32_t>(near ? t - all.front() : std::lower_bound(all.begin(), all.end(), t) - all.begin());
    };
    for (size_t i = 0; i < out_.blocks.size(); ++i) {
      out_.blocks[i].first = time(out_.times[i].first);
      out_.blocks[i].last = time(out_.times[i].second) - 1;
    }
  }

  std::string_view rest_, name_;
  size_t line_ = 0, columns_ = 0;
  std::array<size_t, kColumns.size()> at_{};
  int64_t sum_ = 0;
  Instance out_;
};

}  // namespace

Result<Instance> parse_instance(std::string_view csv, std::string_view name) { return Reader(csv, name).run(); }

std::string solution_csv(const Instance& instance) {
  std::string out = "id,lower,upper,size,offset\n";
  for (size_t i = 0; i < instance.blocks.size(); ++i)
    fmt::format_to(std::back_inserter(out), "{},{},{},{},{}\n", instance.blocks[i].name, instance.times[i].first, instance.times[i].second,
                   instance.blocks[i].bytes, instance.blocks[i].offset);
  return out;
}

}  // namespace edgec::memory

#include "runtime/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>

#include "support/mapped_file.h"
#include "support/output_file.h"

namespace edgec::runtime {
namespace {

constexpr std::string_view kMagic("\x93NUMPY", 6);
constexpr size_t kMaxRank = 64;  // NumPy's own limit

struct Descr {
  std::string_view code;  // without the byte order
  Element element;
};
constexpr Descr kReadable[] = {
    {"b1", Element::Bool},    {"?", Element::Bool},     {"i1", Element::Int8},    {"u1", Element::UInt8},     {"i2", Element::Int16},
    {"u2", Element::UInt16},  {"i4", Element::Int32},   {"u4", Element::UInt32},  {"i8", Element::Int64},     {"u8", Element::UInt64},
    {"f2", Element::Float16}, {"f4", Element::Float32}, {"f8", Element::Float64}, {"c8", Element::Complex64}, {"c16", Element::Complex128},
};

std::string_view descr_of(Element element) {
  switch (element) {
    case Element::Bool:
      return "|b1";
    case Element::Int8:
      return "|i1";
    case Element::UInt8:
    case Element::Float8E5M2:
    case Element::Float8E4M3:
      return "|u1";
    case Element::Int16:
      return "<i2";
    case Element::UInt16:
    case Element::BFloat16:
      return "<u2";
    case Element::Int32:
      return "<i4";
    case Element::UInt32:
    case Element::Complex32:
      return "<u4";
    case Element::Int64:
      return "<i8";
    case Element::UInt64:
      return "<u8";
    case Element::Float16:
      return "<f2";
    case Element::Float32:
      return "<f4";
    case Element::Float64:
      return "<f8";
    case Element::Complex64:
      return "<c8";
    case Element::Complex128:
      return "<c16";
  }
  return "|u1";
}

struct Header {
  std::optional<std::string> descr;
  std::optional<bool> fortran_order;
  std::optional<std::vector<int64_t>> shape;
};

// Reads the Python dict literal {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }, keys in any order.
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : rest_(text) {}

  // Empty on success, else what is wrong.
  std::string parse(Header& header) {
    if (!take('{')) return "the header is not a dict";
    while (!take('}')) {
      std::optional<std::string> key = string();
      if (!key || !take(':')) return "the header is not a dict of strings";
      if (std::string wrong = entry(*key, header); !wrong.empty()) return wrong;
      if (take(',')) continue;
      if (!take('}')) return "the header's dict does not end";
      break;
    }
    skip_spaces();
    if (!rest_.empty()) return "the header has text after its dict";
    if (!header.descr || !header.fortran_order || !header.shape) return "the header lacks descr, fortran_order or shape";
    return {};
  }

 private:
  std::string entry(const std::string& key, Header& header) {
    if (key == "descr" && !header.descr) {
      skip_spaces();
      if (rest_.starts_with('[')) return "structured elements are not supported";
      header.descr = string();
      return header.descr ? "" : "descr is not a string";
    }
    if (key == "fortran_order" && !header.fortran_order) {
      if (word("True"))
        header.fortran_order = true;
      else if (word("False"))
        header.fortran_order = false;
      else
        return "fortran_order is neither True nor False";
      return {};
    }
    if (key == "shape" && !header.shape) return shape(header);
    return fmt::format("the header's key '{}' is unknown or given twice", printable(key.substr(0, 40)));
  }

  std::string shape(Header& header) {
    std::vector<int64_t> dims;
    if (!take('(')) return "shape is not a tuple";
    while (!take(')')) {
      std::optional<int64_t> dim = number();
      if (!dim) return "shape has an entry that is not a size";
      if (dims.size() == kMaxRank) return fmt::format("shape has more than {} dims", kMaxRank);
      dims.push_back(*dim);
      if (take(',')) continue;
      if (!take(')')) return "shape does not end";
      break;
    }
    header.shape = std::move(dims);
    return {};
  }

  std::optional<std::string> string() {
    skip_spaces();
    if (rest_.empty() || (rest_[0] != '\'' && rest_[0] != '"')) return std::nullopt;
    const size_t end = rest_.find(rest_[0], 1);
    if (end == std::string_view::npos) return std::nullopt;
    std::string text(rest_.substr(1, end - 1));
    rest_.remove_prefix(end + 1);
    return text;
  }

  std::optional<int64_t> number() {
    skip_spaces();
    int64_t value = 0;
    size_t digits = 0;
    for (; digits < rest_.size() && rest_[digits] >= '0' && rest_[digits] <= '9'; ++digits) {
      const int64_t digit = rest_[digits] - '0';
      if (value > (std::numeric_limits<int64_t>::max() - digit) / 10) return std::nullopt;
      value = value * 10 + digit;
    }
    if (digits == 0) return std::nullopt;
    rest_.remove_prefix(digits);
    if (rest_.starts_with('L')) rest_.remove_prefix(1);  // written by Python 2
    return value;
  }

  bool word(std::string_view expected) {
    skip_spaces();
    if (!rest_.starts_with(expected)) return false;
    rest_.remove_prefix(expected.size());
    return true;
  }

  bool take(char c) {
    skip_spaces();
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  void skip_spaces() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size())); }

  std::string_view rest_;
};

std::optional<Element> element_of_descr(std::string_view descr, std::string& wrong) {
  const char order = descr.empty() ? ' ' : descr[0];
  std::string_view code = descr.substr(order == '<' || order == '|' || order == '=' || order == '>' ? 1 : 0);
  for (const Descr& row : kReadable) {
    if (row.code != code) continue;
    if (order == '>' && size_of(row.element) > 1) {
      wrong = fmt::format("its elements are big endian ({}); save it with astype('<{}')", descr, code);
      return std::nullopt;
    }
    return row.element;
  }
  wrong = fmt::format("elements of type '{}' are not supported", printable(std::string(descr.substr(0, 40))));
  return std::nullopt;
}

// Number of bytes of the array, or nothing when it does not fit into a size.
std::optional<size_t> bytes_of(const std::vector<int64_t>& shape, size_t element_size) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  size_t total = element_size;
  for (int64_t dim : shape)
    if (__builtin_mul_overflow(total, static_cast<size_t>(dim), &total)) return std::nullopt;
  return total;
}

// Fortran order to C order: walks the result in order and keeps the offset of the source's element.
std::vector<std::byte> from_fortran(std::span<const std::byte> source, const std::vector<int64_t>& shape, size_t size) {
  std::vector<std::byte> out(source.size());
  const size_t rank = shape.size();
  std::vector<size_t> strides(rank), index(rank, 0);
  size_t step = size;
  for (size_t d = 0; d < rank; ++d) {
    strides[d] = step;
    step *= static_cast<size_t>(shape[d]);
  }
  size_t from = 0;
  for (size_t to = 0; to < out.size(); to += size) {
    std::memcpy(out.data() + to, source.data() + from, size);
    for (size_t d = rank; d-- > 0;) {
      from += strides[d];
      if (++index[d] < static_cast<size_t>(shape[d])) break;
      from -= strides[d] * index[d];
      index[d] = 0;
    }
  }
  return out;
}

uint32_t little_endian(std::span<const std::byte> bytes) {
  uint32_t value = 0;
  for (size_t i = bytes.size(); i-- > 0;) value = value << 8 | std::to_integer<uint32_t>(bytes[i]);
  return value;
}

std::string_view text_of(std::span<const std::byte> bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

std::vector<std::byte> npy_header(const Array& array) {
  std::string dims;
  for (int64_t dim : array.shape) dims += fmt::format("{}, ", dim);
  if (array.shape.size() == 1)
    dims.pop_back();
  else if (!dims.empty())
    dims.resize(dims.size() - 2);
  std::string dict = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr_of(array.element), dims);
  const size_t prefix = kMagic.size() + 4;  // rank is at most 64, so version 1 with its 16-bit length always does
  dict.append(63 - (prefix + dict.size()) % 64, ' ');
  dict += '\n';
  std::string all(kMagic);
  all += {'\x01', '\x00', static_cast<char>(dict.size() & 0xff), static_cast<char>(dict.size() >> 8)};
  all += dict;
  std::vector<std::byte> bytes(all.size());
  std::memcpy(bytes.data(), all.data(), all.size());
  return bytes;
}

}  // namespace

Result<Array> parse_npy(std::span<const std::byte> file, std::string_view what) {
  auto corrupt = [&](const std::string& why) { return input_error(fmt::format("error: {}: not a usable .npy file: {}", what, why)); };
  if (file.size() < 10 || text_of(file.first(6)) != kMagic) return corrupt("the magic bytes are missing");
  const int version = std::to_integer<int>(file[6]);
  if (version < 1 || version > 3) return corrupt(fmt::format("format version {} is unknown", version));
  const size_t length_bytes = version == 1 ? 2 : 4;
  if (file.size() < 8 + length_bytes) return corrupt("it ends within the header");
  const size_t header_bytes = little_endian(file.subspan(8, length_bytes));
  std::span<const std::byte> rest = file.subspan(8 + length_bytes);
  if (header_bytes > rest.size()) return corrupt("it ends within the header");

  Header header;
  if (std::string wrong = HeaderParser(text_of(rest.first(header_bytes))).parse(header); !wrong.empty()) return corrupt(wrong);
  std::string wrong;
  std::optional<Element> element = element_of_descr(*header.descr, wrong);
  if (!element) return corrupt(wrong);

  std::span<const std::byte> data = rest.subspan(header_bytes);
  std::optional<size_t> wanted = bytes_of(*header.shape, size_of(*element));
  if (!wanted || *wanted != data.size())
    return corrupt(fmt::format("{} does not match the {} bytes of data", describe(*element, *header.shape), data.size()));
  Array array{*element, std::move(*header.shape), {}};
  if (*header.fortran_order && array.shape.size() > 1)
    array.bytes = from_fortran(data, array.shape, size_of(*element));
  else
    array.bytes.assign(data.begin(), data.end());
  return array;
}

Result<Array> read_npy(const std::string& path) {
  EDGEC_TRY(const auto file, MappedFile::open(path));
  return parse_npy(file->bytes(), path == "-" ? "standard input" : path);
}

std::vector<std::byte> npy_bytes(const Array& array) {
  std::vector<std::byte> bytes = npy_header(array);
  bytes.insert(bytes.end(), array.bytes.begin(), array.bytes.end());
  return bytes;
}

Status write_npy(const std::string& path, const Array& array) {
  const std::vector<std::byte> header = npy_header(array);
  EDGEC_TRY(OutputFile file, OutputFile::create(path));
  EDGEC_TRY_VOID(file.write(header));
  EDGEC_TRY_VOID(file.write(array.bytes));
  return file.commit();
}

}  // namespace edgec::runtime

#pragma once
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

namespace edgec {

// A 128-bit content hash (XXH3): fast and well mixed, not cryptographic. Who shares data by it compares the bytes as
// well.
struct Hash128 {
  uint64_t high = 0, low = 0;
  std::string hex() const;  // 32 digits
  friend auto operator<=>(const Hash128&, const Hash128&) = default;
};

Hash128 hash128(std::span<const std::byte> bytes);

// The same hash over bytes that come in pieces.
class Hasher128 {
 public:
  Hasher128();
  Hasher128(Hasher128&&) noexcept;
  Hasher128& operator=(Hasher128&&) noexcept;
  ~Hasher128();
  void add(std::span<const std::byte> bytes);
  Hash128 digest() const;  // of all bytes so far; more may follow

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace edgec

template <>
struct std::hash<edgec::Hash128> {
  size_t operator()(const edgec::Hash128& h) const noexcept { return static_cast<size_t>(h.low); }
};

#pragma once
#include <compare>
#include <cstdint>
#include <functional>

namespace edgec {

// A strongly typed index: NodeId and ValueId do not mix. Default is "none".
template <class Tag>
struct Id {
  static constexpr uint32_t kNone = 0xffffffffu;
  uint32_t index = kNone;
  constexpr Id() = default;
  constexpr explicit Id(uint32_t i) : index(i) {}
  constexpr explicit operator bool() const { return index != kNone; }
  constexpr auto operator<=>(const Id&) const = default;
};

}  // namespace edgec

template <class Tag>
struct std::hash<edgec::Id<Tag>> {
  size_t operator()(edgec::Id<Tag> id) const noexcept { return std::hash<uint32_t>{}(id.index); }
};

#pragma once
#include <initializer_list>
#include <utility>
#include <vector>

namespace edgec::genai {

// A map that keeps the order of insertion, which has a meaning here: decode before prefill, the first artifact is the one that runs.
template <class K, class V>
class OrderedMap {
 public:
  using Item = std::pair<K, V>;
  OrderedMap() = default;
  OrderedMap(std::initializer_list<Item> items) {
    for (const Item& item : items) set(item.first, item.second);
  }
  const V* find(const K& key) const {
    for (const Item& item : items_)
      if (item.first == key) return &item.second;
    return nullptr;
  }
  bool contains(const K& key) const { return find(key) != nullptr; }
  // Replaces the value of a key that is there, in its place.
  void set(const K& key, V value) {
    for (Item& item : items_)
      if (item.first == key) {
        item.second = std::move(value);
        return;
      }
    items_.emplace_back(key, std::move(value));
  }
  size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }
  const Item& front() const { return items_.front(); }
  friend bool operator==(const OrderedMap&, const OrderedMap&) = default;

 private:
  std::vector<Item> items_;
};

}  // namespace edgec::genai

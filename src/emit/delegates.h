#pragma once
#include <edgec/backend.h>

#include <map>
#include <string>
#include <vector>

#include "emit/program.h"
#include "support/hash.h"

namespace edgec::emit {

// Collects the payloads and named data of all methods' delegates: equal payloads, and data of one key, are stored once.
class DelegatePool {
 public:
  // What a method says of the delegate. Fails when two lowered modules give one key different data.
  Result<pte::Delegate> add(const std::shared_ptr<const LoweredModule>& lowered);
  std::vector<pte::Blob> take_payloads() { return std::move(payloads_); }
  std::vector<pte::NamedData> take_named_data();

 private:
  uint32_t payload(const std::shared_ptr<const LoweredModule>& lowered);
  std::vector<pte::Blob> payloads_;
  std::multimap<Hash128, uint32_t> by_hash_;
  std::map<std::string, NamedData> named_;  // in order of key
};

}  // namespace edgec::emit

#include <edgec/extensions.h>

#include <algorithm>

namespace edgec {

Extensions& Extensions::global() {
  static Extensions extensions;
  return extensions;
}

void Extensions::add(passes::PassInfo pass) { passes_.push_back(std::move(pass)); }
void Extensions::add(std::shared_ptr<const Backend> backend) { backends_.push_back(std::move(backend)); }
void Extensions::add(std::shared_ptr<const MemoryPlanner> planner) { planners_.push_back(std::move(planner)); }

const passes::PassInfo* Extensions::find_pass(std::string_view name) const {
  auto it = std::find_if(passes_.begin(), passes_.end(), [&](const auto& p) { return p.name == name; });
  return it == passes_.end() ? nullptr : &*it;
}

std::shared_ptr<const Backend> Extensions::find_backend(std::string_view name) const {
  auto it = std::find_if(backends_.begin(), backends_.end(), [&](const auto& b) { return b->name() == name || b->id() == name; });
  return it == backends_.end() ? nullptr : *it;
}

const MemoryPlanner* Extensions::find_planner(std::string_view name) const {
  auto it = std::find_if(planners_.begin(), planners_.end(), [&](const auto& p) { return p->name() == name; });
  return it == planners_.end() ? nullptr : it->get();
}

}  // namespace edgec

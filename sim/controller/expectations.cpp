#include "controller/expectations.hpp"

namespace ddptwin::controller {

void Expectations::set(const std::string& key, int adds, int dels, Time now) {
  records_[key] = Record{adds, dels, now};
}

void Expectations::raise(const std::string& key, int adds, int dels, Time now) {
  Record& record = records_.try_emplace(key, Record{0, 0, now}).first->second;
  record.adds += adds;
  record.dels += dels;
}

void Expectations::lower(const std::string& key, int adds, int dels) {
  const auto found = records_.find(key);
  if (found == records_.end()) return;
  found->second.adds -= adds;
  found->second.dels -= dels;
}

bool Expectations::satisfied(std::string_view key, Time now) const {
  const auto found = records_.find(key);
  if (found == records_.end()) return true;
  const Record& record = found->second;
  return (record.adds <= 0 && record.dels <= 0) || now - record.since > timeout;
}

}  // namespace ddptwin::controller

#include "client/probe.hpp"

#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "core/names.hpp"

namespace ql3 {

std::string_view to_text(Verdict verdict) noexcept {
  switch (verdict) {
    case Verdict::running: return "running";
    case Verdict::not_running: return "not_running";
    case Verdict::unknown: return "unknown";
    case Verdict::succeeded: return "succeeded";
    case Verdict::failed: return "failed";
  }
  return "unknown";
}

std::string_view to_text(Why why) noexcept {
  switch (why) {
    case Why::none: return "";
    case Why::provider_unavailable: return "provider_unavailable";
    case Why::identity_unverifiable: return "identity_unverifiable";
    case Why::conflicting_evidence: return "conflicting_evidence";
  }
  return "";
}

ProbeAnswer no_answer(std::string reason) {
  return {Verdict::unknown, Why::provider_unavailable, std::move(reason), {}};
}

void ProbeRegistry::add(const std::string& kind, std::shared_ptr<Probe> probe,
                        Milliseconds timeout) {
  if (!is_kind(kind)) {
    throw std::invalid_argument(fmt::format(
        "kind \"{}\" is not a lower-case word of at most 63 characters", kind.substr(0, 80)));
  }
  if (probe == nullptr) throw std::invalid_argument(fmt::format("kind {} has no probe", kind));
  if (timeout <= Milliseconds::zero() || timeout > timeout_max) {
    throw std::invalid_argument(
        fmt::format("the timeout of kind {} is {}: it must be above 0s and "
                    "at most {}",
                    kind, to_text(timeout), to_text(timeout_max)));
  }
  if (entries_.size() >= size_max) throw std::invalid_argument("there are 32 probes already");
  if (!entries_.emplace(kind, Entry{std::move(probe), timeout}).second) {
    throw std::invalid_argument(fmt::format("kind {} has a probe already", kind));
  }
}

const ProbeRegistry::Entry* ProbeRegistry::find(const std::string& kind) const noexcept {
  const auto entry = entries_.find(kind);
  return entry == entries_.end() ? nullptr : &entry->second;
}

std::vector<std::string> ProbeRegistry::kinds() const {
  std::vector<std::string> all;
  for (const auto& [kind, entry] : entries_) all.push_back(kind);
  return all;
}

}  // namespace ql3

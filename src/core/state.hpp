// The words for what a target is and for how a claim of it ends.
#pragma once

#include <optional>
#include <string_view>

namespace ql3 {

enum class state : unsigned char { available, claimed, retry, manual, resolved };

enum class disposition : unsigned char { resolved, retry, manual };

constexpr std::string_view to_text(state value) noexcept {
  switch (value) {
    case state::available: return "available";
    case state::claimed: return "claimed";
    case state::retry: return "retry";
    case state::manual: return "manual";
    case state::resolved: return "resolved";
  }
  return {};
}

constexpr std::string_view to_text(disposition value) noexcept {
  switch (value) {
    case disposition::resolved: return "resolved";
    case disposition::retry: return "retry";
    case disposition::manual: return "manual";
  }
  return {};
}

// Exact match only: no case folding, no trimming.
constexpr std::optional<state> parse_state(std::string_view word) noexcept {
  for (const state value :
       {state::available, state::claimed, state::retry, state::manual, state::resolved}) {
    if (word == to_text(value)) return value;
  }
  return std::nullopt;
}

constexpr std::optional<disposition> parse_disposition(std::string_view word) noexcept {
  for (const disposition value : {disposition::resolved, disposition::retry, disposition::manual}) {
    if (word == to_text(value)) return value;
  }
  return std::nullopt;
}

// The state a target has after a settle with this disposition.
constexpr state state_after(disposition value) noexcept {
  switch (value) {
    case disposition::resolved: return state::resolved;
    case disposition::retry: return state::retry;
    case disposition::manual: return state::manual;
  }
  return state::manual;
}

// The word as a disposition; 22023 with the list of words otherwise.
disposition check_disposition(std::string_view word, std::string_view argument = "disposition");

// A delay goes with retry only; 22023 for another disposition.
void check_delay_allowed(disposition value, bool delay_given, std::string_view argument = "delay");

}  // namespace ql3

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "client/dispatch.hpp"
#include "core/limits.hpp"
#include "core/names.hpp"

namespace ql3 {

namespace {

bool is_text(std::string_view value) {
  for (std::size_t at = 0; at < value.size();) {
    const std::size_t size = utf8_character(value, at);
    if (size == 0 || value[at] == '\0') return false;
    at += size;
  }
  return true;
}

std::string id_fault(std::string_view name, std::string_view value) {
  if (value.empty()) return fmt::format("{} is empty", name);
  if (value.size() > id_max) {
    return fmt::format("{} has {} bytes, at most {} are possible", name, value.size(), id_max);
  }
  if (!is_text(value)) return fmt::format("{} is no UTF-8 text, or has a NUL character", name);
  return {};
}

std::string arguments_fault(const std::string& text) {
  if (text.size() > arguments_max) {
    return fmt::format("the arguments have {} bytes, at most {} are possible", text.size(),
                       arguments_max);
  }
  if (!is_text(text)) return "the arguments are no UTF-8 text, or have a NUL character";
  if (!nlohmann::json::accept(text)) return "the arguments are no JSON";
  // Nothing but an object begins with this letter, whatever white space stands before it.
  if (text[text.find_first_not_of(" \t\r\n")] != '{') return "the arguments are no JSON object";
  return {};
}

}  // namespace

std::string request_fault(const DispatchRequest& request) {
  if (std::string fault = id_fault("the request uid", request.request_uid); !fault.empty()) {
    return fault;
  }
  if (std::string fault = id_fault("the item", request.item); !fault.empty()) return fault;
  if (!is_kind(request.action)) {
    return fmt::format("\"{}\" is no action: a letter, then letters, digits and _, all lower case",
                       request.action.substr(0, 64));
  }
  if (!is_owner(request.writer)) {
    return fmt::format("\"{}\" is no writer: letters, digits and . _ : - only, at most {}",
                       request.writer.substr(0, 64), owner_max);
  }
  constexpr Milliseconds least(observe_after_min / 1000), most(observe_after_max / 1000);
  if (request.observe_after < least || request.observe_after > most) {
    return fmt::format("observe_after is outside of {} to {}", to_text(least), to_text(most));
  }
  return arguments_fault(request.arguments);
}

std::string_view to_text(DispatchEnd end) noexcept {
  switch (end) {
    case DispatchEnd::recorded: return "recorded";
    case DispatchEnd::concluded: return "concluded";
    case DispatchEnd::foreign: return "foreign";
    case DispatchEnd::identity_conflict: return "identity_conflict";
    case DispatchEnd::halted: return "halted";
    case DispatchEnd::not_sent: return "not_sent";
    case DispatchEnd::left: return "left";
    case DispatchEnd::refused: return "refused";
  }
  return {};
}

}  // namespace ql3

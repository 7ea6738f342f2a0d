#include "client/duration.hpp"

#include <charconv>
#include <cstdint>

#include <fmt/format.h>

namespace ql3 {

namespace {

struct Unit {
  std::string_view name;
  std::int64_t milliseconds;
};

constexpr Unit units[] = {{"h", 3'600'000}, {"min", 60'000}, {"s", 1'000}, {"ms", 1}};

}  // namespace

std::optional<Milliseconds> parse_duration(std::string_view text) noexcept {
  std::size_t digits = 0;
  while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') ++digits;
  if (digits == 0 || digits > 9) return std::nullopt;
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + digits, number);
  for (const Unit& unit : units) {
    // 9 digits of hours stay far below the range of int64 milliseconds.
    if (text.substr(digits) == unit.name) return Milliseconds(number * unit.milliseconds);
  }
  return std::nullopt;
}

std::string to_text(Milliseconds length) {
  const std::int64_t count = length.count();
  for (const Unit& unit : units) {
    if (count != 0 && count % unit.milliseconds == 0) {
      return fmt::format("{}{}", count / unit.milliseconds, unit.name);
    }
  }
  return "0s";
}

std::string duration_fault(std::string_view text, Milliseconds least, Milliseconds most) {
  const auto length = parse_duration(text);
  if (!length) {
    return fmt::format(
        "\"{}\" is not a duration: write a whole number and ms, s, min or h, like 5s",
        text.substr(0, 40));
  }
  if (*length < least || *length > most) {
    return fmt::format("{} is outside of {} to {}", text, to_text(least), to_text(most));
  }
  return {};
}

}  // namespace ql3

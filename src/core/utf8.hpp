// UTF-8 as far as cutting and quoting need it. Nothing here allocates or throws.
#pragma once

#include <cstddef>
#include <string_view>

namespace ql3 {

// Length in bytes of the well-formed UTF-8 character at `at`, or 0 when there is none (a stray or
// missing continuation byte, an overlong form, a surrogate, beyond U+10FFFF).
constexpr std::size_t utf8_character(std::string_view value, std::size_t at) noexcept {
  if (at >= value.size()) return 0;
  const auto byte = [&](std::size_t i) -> unsigned {
    return i < value.size() ? static_cast<unsigned char>(value[i]) : 0U;
  };
  const auto follows = [&](std::size_t i) { return (byte(i) & 0xC0U) == 0x80U; };
  const unsigned first = byte(at);
  if (first < 0x80U) return 1;
  if (first >= 0xC2U && first <= 0xDFU) return follows(at + 1) ? 2 : 0;
  const unsigned second = byte(at + 1);
  if (first >= 0xE0U && first <= 0xEFU) {
    if (!follows(at + 1) || !follows(at + 2)) return 0;
    if (first == 0xE0U && second < 0xA0U) return 0;
    if (first == 0xEDU && second > 0x9FU) return 0;
    return 3;
  }
  if (first >= 0xF0U && first <= 0xF4U) {
    if (!follows(at + 1) || !follows(at + 2) || !follows(at + 3)) return 0;
    if (first == 0xF0U && second < 0x90U) return 0;
    if (first == 0xF4U && second > 0x8FU) return 0;
    return 4;
  }
  return 0;
}

// The longest prefix of `value` of at most `max_bytes` bytes that does not end inside a character.
// `utf8` = false is for single-byte encodings: the cut is then exactly at `max_bytes`. A cut moves
// back only when a character really spans it, so text that is no UTF-8 loses nothing more.
constexpr std::string_view cut_text(std::string_view value, std::size_t max_bytes,
                                    bool utf8 = true) noexcept {
  if (value.size() <= max_bytes) return value;
  if (utf8) {
    for (std::size_t back = 1; back <= 3 && back <= max_bytes; ++back) {
      const std::size_t start = max_bytes - back;
      if (utf8_character(value, start) > back) return value.substr(0, start);
    }
  }
  return value.substr(0, max_bytes);
}

}  // namespace ql3

// Builds the text of an error in a fixed buffer: no allocation, never throws, cut at a character
// boundary when full. Named message_text because `text` is a type of the server.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include "utf8.hpp"

namespace ql3 {

// A value of the caller as it may appear in a message; see message_text::operator<<.
struct quoted {
  std::string_view value;
};

inline constexpr std::size_t quoted_max = 64;

constexpr bool is_hex_digit(char c) noexcept {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

// A uuid in any form that the server reads, anywhere in the value: exactly 32 hex digits with
// nothing but hyphens between them.
constexpr bool contains_uuid(std::string_view value) noexcept {
  std::size_t digits = 0;
  for (const char c : value) {
    if (is_hex_digit(c)) {
      ++digits;
    } else if (c != '-') {
      if (digits == 32) return true;
      digits = 0;
    }
  }
  return digits == 32;
}

template <std::size_t N>
class message_text {
  static_assert(N >= 2);

 public:
  // Appends what fits. After the first cut nothing more is taken, so the text is always a prefix
  // of what was meant.
  constexpr message_text& operator<<(std::string_view piece) noexcept {
    if (full_) return *this;
    const std::string_view kept = cut_text(piece, N - 1 - size_);
    for (const char c : kept) buffer_[size_++] = c;
    buffer_[size_] = '\0';
    full_ = kept.size() < piece.size();
    return *this;
  }

  // A null pointer (the server's answer for a name that is gone) appends nothing.
  constexpr message_text& operator<<(const char* piece) noexcept {
    return piece == nullptr ? *this : *this << std::string_view(piece);
  }

  template <std::integral T>
  requires(!std::same_as<T, bool> && !std::same_as<T, char>) constexpr message_text& operator<<(
      T number) noexcept {
    std::array<char, std::numeric_limits<T>::digits10 + 2> digits{};
    std::size_t at = digits.size();
    const bool negative = number < 0;
    do {
      int digit = static_cast<int>(number % 10);
      if (digit < 0) digit = -digit;
      digits[--at] = static_cast<char>('0' + digit);
      number = static_cast<T>(number / 10);
    } while (number != 0);
    if (negative) digits[--at] = '-';
    return *this << std::string_view(digits.data() + at, digits.size() - at);
  }

  // Appends a value of the caller in double quotes, at most quoted_max bytes of it, with "..." when
  // it was longer. Control characters and bytes that are no UTF-8 are shown as '?', so that the
  // message can be sent in any client encoding. A uuid is not shown: it may be a token that came in
  // the wrong place.
  constexpr message_text& operator<<(quoted piece) noexcept {
    if (contains_uuid(piece.value)) return *this << "(a uuid, not shown)";
    const std::string_view kept = cut_text(piece.value, quoted_max);
    *this << "\"";
    for (std::size_t at = 0; at < kept.size();) {
      const std::size_t length = utf8_character(kept, at);
      const auto byte = static_cast<unsigned char>(kept[at]);
      const auto next = length == 2 ? static_cast<unsigned char>(kept[at + 1]) : 0;
      const bool control = byte < 0x20 || byte == 0x7F || (byte == 0xC2 && next < 0xA0);
      if (length == 0 || control) {
        *this << "?";
        at += length == 0 ? 1 : length;
      } else {
        *this << kept.substr(at, length);
        at += length;
      }
    }
    return *this << (kept.size() < piece.value.size() ? "...\"" : "\"");
  }

  constexpr std::string_view view() const noexcept { return {buffer_.data(), size_}; }
  constexpr operator std::string_view() const noexcept { return view(); }
  constexpr const char* c_str() const noexcept { return buffer_.data(); }
  constexpr bool was_cut() const noexcept { return full_; }

 private:
  std::array<char, N> buffer_{};
  std::size_t size_ = 0;
  bool full_ = false;
};

}  // namespace ql3

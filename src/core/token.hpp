// Tokens and permit ids: random uuids, never shown in a message.
#pragma once

#include <string_view>

namespace ql3 {

// True for version 4 or 7 of the RFC variant.
constexpr bool is_random_uuid(const unsigned char (&bytes)[16]) noexcept {
  const unsigned version = bytes[6] >> 4;
  const unsigned variant = bytes[8] >> 6;
  return (version == 4 || version == 7) && variant == 2;
}

// Throws ql3::error 22023 unless is_random_uuid. The message does not contain the value.
void check_token(const unsigned char (&bytes)[16], std::string_view argument = "token");

// Makes a version 4 uuid of 16 random bytes, in place.
constexpr void make_v4(unsigned char (&bytes)[16]) noexcept {
  bytes[6] = static_cast<unsigned char>((bytes[6] & 0x0FU) | 0x40U);
  bytes[8] = static_cast<unsigned char>((bytes[8] & 0x3FU) | 0x80U);
}

}  // namespace ql3

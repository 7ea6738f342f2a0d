#include "client/claim_token.hpp"

#include <cerrno>
#include <string_view>
#include <system_error>
#include <vector>

#include <sys/random.h>

#include "core/token.hpp"

namespace ql3 {

namespace {

void fill_random(unsigned char* bytes, std::size_t size) {
  std::size_t got = 0;
  while (got < size) {
    const ssize_t more = getrandom(bytes + got, size - got, 0);
    if (more < 0) {
      if (errno == EINTR) continue;
      throw std::system_error(errno, std::generic_category(), "no random bytes");
    }
    got += static_cast<std::size_t>(more);
  }
}

void append_hex(std::string& text, unsigned char byte) {
  constexpr std::string_view digits = "0123456789abcdef";
  text += digits[byte >> 4];
  text += digits[byte & 0x0FU];
}

}  // namespace

ClaimToken ClaimToken::random() {
  unsigned char bytes[16];
  fill_random(bytes, sizeof bytes);
  make_v4(bytes);
  std::string text;
  text.reserve(36);
  for (std::size_t i = 0; i < sizeof bytes; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    append_hex(text, bytes[i]);
  }
  return ClaimToken(std::move(text));
}

std::string random_hex(std::size_t bytes) {
  std::vector<unsigned char> raw(bytes);
  fill_random(raw.data(), raw.size());
  std::string text;
  text.reserve(2 * bytes);
  for (const unsigned char byte : raw) append_hex(text, byte);
  return text;
}

}  // namespace ql3

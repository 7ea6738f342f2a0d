// The token of one page of claims: a random uuid of version 4.
#pragma once

#include <string>

#include "client/export.hpp"

namespace ql3 {

// Whoever knows the text can settle the page, so the type has no printing of its own and the text
// leaves it only to be bound as a statement's parameter.
class QL3_API ClaimToken {
 public:
  // A fresh one from the operating system's generator. std::system_error when it gives nothing.
  static ClaimToken random();

  // The token a server's row shows, in canonical lower-case form.
  explicit ClaimToken(std::string text) : text_(std::move(text)) {}

  const std::string& parameter() const noexcept { return text_; }
  friend bool operator==(const ClaimToken&, const ClaimToken&) = default;

 private:
  std::string text_;
};

// `bytes` random bytes as lower-case hexadecimal; for names that need to be distinct.
std::string random_hex(std::size_t bytes);

}  // namespace ql3

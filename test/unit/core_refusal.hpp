// Shared by the unit tests of the core: what a refusal must look like.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "core/error.hpp"

namespace ql3::test {

// The error `body` throws, or nothing. Any other exception fails the test by itself.
inline std::optional<error> refusal_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const error& refused) {
    return refused;
  }
  return std::nullopt;
}

// `body` must throw ql3::error with this SQLSTATE; each of `words` must stand in its message or
// hint.
inline void expect_refused(const std::function<void()>& body, const char* sqlstate,
                           std::initializer_list<std::string_view> words = {}) {
  const std::optional<error> refused = refusal_of(body);
  ASSERT_TRUE(refused.has_value()) << "accepted";
  EXPECT_STREQ(refused->sqlstate(), sqlstate) << refused->message();
  EXPECT_STRNE(refused->message(), "");
  const std::string all = std::string(refused->message()) + "\n" + refused->hint();
  for (const std::string_view word : words) {
    EXPECT_NE(all.find(word), std::string::npos) << "no \"" << word << "\" in: " << all;
  }
}

}  // namespace ql3::test

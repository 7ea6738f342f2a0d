// What every fuzz target shares. A target is one function over bytes; it traps when a promise does not hold. With clang
// it becomes a libFuzzer program (`make fuzz`), with any compiler a replay of its corpus (test/fuzz/replay.cpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "core/error.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace ql3::fuzz {

inline void require(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "broken: %s\n", what);
  std::abort();
}

inline std::string_view bytes(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// A refusal has a SQLSTATE of five characters and texts that any client can be sent.
inline void require_sound(const error& refused) {
  require(std::strlen(refused.sqlstate()) == 5, "a SQLSTATE has five characters");
  for (const char* text : {refused.message(), refused.hint(), refused.detail()}) {
    const std::string_view said = text;
    require(said.size() < error_text_max, "a text is bounded");
    for (std::size_t at = 0; at < said.size();) {
      const std::size_t length = utf8_character(said, at);
      require(length != 0, "a text is UTF-8");
      require(static_cast<unsigned char>(said[at]) >= 0x20, "a text has no control characters");
      at += length;
    }
  }
}

// A uuid may be a token that came in the wrong place: of a value that has one nothing is shown.
inline void require_hidden(std::string_view value, std::string_view said) {
  require(!contains_uuid(value) || said.find("(a uuid, not shown)") != std::string_view::npos, "a uuid is not shown");
}

// Whether a check refuses; every refusal must be sound and of the SQLSTATE given.
template <class Check>
bool refuses(const char* sqlstate, Check&& check) {
  try {
    check();
    return false;
  } catch (const error& refused) {
    require_sound(refused);
    require(std::string_view(refused.sqlstate()) == sqlstate, "the documented SQLSTATE");
    return true;
  }
}

}  // namespace ql3::fuzz

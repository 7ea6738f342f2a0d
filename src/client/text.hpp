// Free text on its way into the database: cleaned and cut, never a reason to lose an outcome.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ql3 {

// `text` as UTF-8 of at most `most` bytes: what is no character becomes '?', control characters
// (NUL too) become spaces, and a cut never splits a character.
std::string clean_text(std::string_view text, std::size_t most);

// The same with everything beyond ASCII turned into '?': every database can store it.
std::string ascii_text(std::string_view text);

}  // namespace ql3

// Cutting and quoting: a cut never splits a character, a message is always fit to be sent and shows no uuid.
#include <string>

#include "client/text.hpp"
#include "core/limits.hpp"
#include "core/message_text.hpp"
#include "fuzz.hpp"

using namespace ql3;
using namespace ql3::fuzz;

namespace {

bool is_utf8(std::string_view value) {
  for (std::size_t at = 0; at < value.size();) {
    const std::size_t length = utf8_character(value, at);
    if (length == 0) return false;
    at += length;
  }
  return true;
}

void cut(std::string_view value, std::size_t most) {
  const std::string_view kept = cut_text(value, most);
  require(kept.size() <= most && value.substr(0, kept.size()) == kept, "a cut is a prefix within its limit");
  require(value.size() > most || kept.size() == value.size(), "what fits is kept whole");
  require(kept.size() + 3 >= most || kept.size() == value.size(), "a cut loses less than a character");
  require(!is_utf8(value) || is_utf8(kept), "a cut of UTF-8 is UTF-8");
  require(cut_text(value, most, false).size() == std::min(most, value.size()), "other encodings are cut exactly");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view value = bytes(data + 1, size - 1);
  cut(value, data[0]);
  message_text<96> message;
  message << "kind " << quoted{value} << " of " << static_cast<int>(data[0]);
  const std::string_view said = message;
  require(said.size() < 96 && is_utf8(said), "a message is bounded UTF-8");
  require_hidden(value, said);
  for (const char c : said)
    require(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f, "a message has no control characters");
  const std::string clean = clean_text(value, data[0]);
  require(clean.size() <= data[0] && is_utf8(clean), "a cleaned text is bounded UTF-8");
  require(clean.find('\0') == std::string::npos, "a cleaned text has no NUL");
  for (const char c : ascii_text(value)) require(static_cast<unsigned char>(c) < 0x80, "an ASCII text is ASCII");
  return 0;
}

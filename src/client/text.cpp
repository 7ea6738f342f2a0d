#include "client/text.hpp"

#include "core/utf8.hpp"

namespace ql3 {

std::string clean_text(std::string_view text, std::size_t most) {
  std::string clean;
  for (std::size_t at = 0; at < text.size() && clean.size() <= most;) {
    const std::size_t size = utf8_character(text, at);
    if (size == 0) {
      clean += '?';
      ++at;
      continue;
    }
    const auto first = static_cast<unsigned char>(text[at]);
    if (size == 1 && (first < 0x20U || first == 0x7FU)) {
      clean += ' ';
    } else {
      clean += text.substr(at, size);
    }
    at += size;
  }
  return std::string(cut_text(clean, most));
}

std::string ascii_text(std::string_view text) {
  std::string ascii;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t size = utf8_character(text, at);
    ascii += size == 1 ? text[at] : '?';
    at += size == 0 ? 1 : size;
  }
  return ascii;
}

}  // namespace ql3

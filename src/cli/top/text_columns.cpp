#include "cli/top/text_columns.hpp"

#include <cwchar>

namespace ql3::cli {

namespace {

// The character at the front of a text and its bytes; '?' and one byte for what is no UTF-8.
struct Front {
  char32_t code;
  std::size_t bytes;
};

Front front_of(std::string_view text) {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < size) return {U'?', 1};
  char32_t code = lead & (0x7fU >> size);
  for (std::size_t at = 1; at < size; ++at) {
    if ((byte(at) & 0xc0U) != 0x80U) return {U'?', 1};
    code = (code << 6) | (byte(at) & 0x3fU);
  }
  return {code, size};
}

}  // namespace

std::string in_columns(std::string_view text, int columns) {
  std::string out;
  int used = 0;
  // Where the mark of a cut goes, should the text not fit.
  std::size_t mark = 0;
  int mark_at = 0;
  while (!text.empty()) {
    const Front front = front_of(text);
    int width = wcwidth(static_cast<wchar_t>(front.code));
    const bool shown = width >= 0 && !(front.code == U'?' && text[0] != '?');
    if (!shown) width = 1;
    if (used + width > columns) {
      if (columns < 1) return {};
      out.resize(mark);
      out += "…";
      used = mark_at + 1;
      break;
    }
    if (shown)
      out.append(text.substr(0, front.bytes));
    else
      out += '?';
    used += width;
    text.remove_prefix(front.bytes);
    if (used < columns) {
      mark = out.size();
      mark_at = used;
    }
  }
  out.append(static_cast<std::size_t>(columns > used ? columns - used : 0), ' ');
  return out;
}

}  // namespace ql3::cli

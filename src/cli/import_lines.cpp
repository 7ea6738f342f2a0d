#include "cli/import_lines.hpp"

#include <stdexcept>
#include <string_view>

#include <fmt/format.h>

#include "core/limits.hpp"

namespace ql3::cli {

namespace {

int keep_open(std::FILE*) { return 0; }

void add_element(std::string& array, std::string_view value) {
  array += array.size() == 1 ? "\"" : ",\"";
  for (const char c : value) {
    if (c == '"' || c == '\\') array += '\\';
    array += c;
  }
  array += '"';
}

// The text before the next tab, which is taken away with it.
std::string_view take_field(std::string_view& rest) {
  const std::size_t tab = rest.find('\t');
  const std::string_view field = rest.substr(0, tab);
  rest = tab == std::string_view::npos ? std::string_view{} : rest.substr(tab + 1);
  return field;
}

}  // namespace

ImportLines::ImportLines(const std::string& file)
    : file_(file == "-" ? stdin : std::fopen(file.c_str(), "r"),
            file == "-" ? keep_open : std::fclose) {
  if (!file_) throw std::invalid_argument(fmt::format("{} cannot be read", file));
}

bool ImportLines::read_line(std::string& line) {
  line.clear();
  for (int c = std::getc(file_.get()); c != EOF; c = std::getc(file_.get())) {
    if (c == '\n') return true;
    line += static_cast<char>(c);
  }
  if (std::ferror(file_.get()) != 0) throw std::invalid_argument("the file cannot be read on");
  return !line.empty();
}

ImportPage ImportLines::next() {
  ImportPage page{0, "{", "{", "{"};
  std::string line;
  while (page.size < page_size_max && read_line(line)) {
    ++number_;
    std::string_view rest = line;
    const std::string_view id = take_field(rest);
    const std::string_view state = take_field(rest);
    const std::string_view count = take_field(rest);
    if (id.empty() || state.empty() || count.empty() || !rest.empty()) {
      throw std::invalid_argument(fmt::format(
          "line {} is not ID, state and failure count with a tab between", number_));
    }
    add_element(page.ids, id);
    add_element(page.states, state);
    add_element(page.failure_counts, count);
    ++page.size;
  }
  for (std::string* const array : {&page.ids, &page.states, &page.failure_counts}) *array += '}';
  return page;
}

}  // namespace ql3::cli

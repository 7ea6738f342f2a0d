// How much of a text fits on a terminal.
#pragma once

#include <string>
#include <string_view>

namespace ql3::cli {

// The text in exactly `columns` columns: cut with … at its end, or filled with spaces. What steers
// a terminal or is no UTF-8 becomes '?'. Widths are those of the process's locale.
std::string in_columns(std::string_view text, int columns);

}  // namespace ql3::cli

// The installation as the catalog has it, in a normal form of our own: the same text on every supported major,
// whatever was tuned, whoever owns the extension. docs/ready.md says what it holds and what it leaves out.
#pragma once

#include "spi.hpp"

namespace ql3::pg {

// The columns of a row: what it is, and its normal form. Rows come in byte order of the object.
enum form_column : int { form_object = 1, form_text };

// REQUIRES: the settings that ql3_ready and catalog_form carry in their definition, because they change how the
// server prints constants.
rows read_catalog_form(std::string_view extension);

}  // namespace ql3::pg

// One row of a table of ours, or of a statement's answer, taken apart once: the columns that are ours, of however many
// there are. Columns count from 1; views lie in the row.
#pragma once

#include "own_table.hpp"
#include "spi.hpp"

namespace ql3::pg {

class row_columns {
 public:
  row_columns(HeapTuple row, const own_table& of) : row_columns(row, of.relation()->rd_att) {}
  row_columns(HeapTuple row, TupleDesc descriptor) {
    call([&] {
      if (descriptor->natts <= changes::capacity) return heap_deform_tuple(row, descriptor, values_, nulls_);
      row_values const all(descriptor);
      heap_deform_tuple(row, descriptor, all.values, all.nulls);
      memcpy(values_, all.values, sizeof values_);
      memcpy(nulls_, all.nulls, sizeof nulls_);
    });
  }
  bool has(int column) const noexcept { return !nulls_[column - 1]; }
  Datum datum(int column) const noexcept { return values_[column - 1]; }
  std::string_view text(int column) const { return text_of(datum(column)); }
  std::optional<std::string_view> maybe_text(int column) const {
    return has(column) ? std::optional(text(column)) : std::nullopt;
  }
  instant time(int column) const noexcept { return DatumGetTimestampTz(datum(column)); }
  std::optional<instant> maybe_time(int column) const noexcept {
    return has(column) ? std::optional(time(column)) : std::nullopt;
  }
  std::int64_t number(int column) const noexcept { return DatumGetInt64(datum(column)); }
  std::int32_t number32(int column) const noexcept { return DatumGetInt32(datum(column)); }
  std::int16_t number16(int column) const noexcept { return DatumGetInt16(datum(column)); }
  bool boolean(int column) const noexcept { return DatumGetBool(datum(column)); }
  const unsigned char* maybe_digest(int column) const {
    return has(column) ? reinterpret_cast<const unsigned char*>(text(column).data()) : nullptr;
  }

 private:
  Datum values_[changes::capacity];
  bool nulls_[changes::capacity];
};

}  // namespace ql3::pg

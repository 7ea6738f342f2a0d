#include "arrays.hpp"

namespace ql3::pg {

Datum text_array(const bounded<std::string_view>& texts) {
  bounded<Datum> elements;
  for (std::string_view each : texts) elements.push_back(text_datum(each));
  return call([&] {
    return PointerGetDatum(construct_array(elements.data(), static_cast<int>(elements.size()), TEXTOID, -1, false,
                                           TYPALIGN_INT));
  });
}

Datum time_array(const bounded<instant>& times) {
  bounded<Datum> elements;
  for (instant each : times) elements.push_back(time_datum(each));
  return call([&] {
    return PointerGetDatum(construct_array(elements.data(), static_cast<int>(elements.size()), TIMESTAMPTZOID,
                                           sizeof(TimestampTz), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
  });
}

bounded<std::string_view> texts_of(Datum array) {
  struct opened {
    Datum* values;
    int count;
  };
  opened const read = call([&] {
    opened found{};
    bool* nulls;
    deconstruct_array(DatumGetArrayTypePCopy(array), TEXTOID, -1, false, TYPALIGN_INT, &found.values, &nulls,
                      &found.count);
    return found;
  });
  bounded<std::string_view> texts;
  for (int at = 0; at < read.count && at < page_size_max; ++at) texts.push_back(text_of(read.values[at]));
  return texts;
}

}  // namespace ql3::pg

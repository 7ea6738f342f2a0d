#include "cli/log.hpp"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace ql3::cli::log {

namespace {

spdlog::level::level_enum level_of(Rank rank) noexcept {
  switch (rank) {
    case Rank::debug: return spdlog::level::debug;
    case Rank::info: return spdlog::level::info;
    case Rank::warn: return spdlog::level::warn;
    case Rank::error: return spdlog::level::err;
  }
  return spdlog::level::err;
}

}  // namespace

Rank rank_of(Level level) noexcept {
  switch (level) {
    case Level::debug: return Rank::debug;
    case Level::info: return Rank::info;
    case Level::warning: return Rank::warn;
  }
  return Rank::warn;
}

void begin() {
  const auto logger = spdlog::stderr_logger_mt("ql3");
  logger->set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %l %v");
  spdlog::set_default_logger(logger);
}

void set_least(const std::string& least) {
  spdlog::set_level(least == "debug"     ? spdlog::level::debug
                    : least == "warning" ? spdlog::level::warn
                    : least == "error"   ? spdlog::level::err
                                         : spdlog::level::info);
}

void write(Rank rank, std::string_view line) {
  const spdlog::string_view_t text(line.data(), line.size());
  spdlog::default_logger_raw()->log(level_of(rank), text);
}

void flush() { spdlog::default_logger_raw()->flush(); }

}  // namespace ql3::cli::log

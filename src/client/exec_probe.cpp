#include "client/exec_probe.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "client/child_process.hpp"
#include "client/pipe_signal.hpp"
#include "client/probe_json.hpp"
#include "client/text.hpp"

extern char** environ;

namespace ql3 {

namespace {

bool may_run(const std::string& path) {
  struct stat about {};
  return stat(path.c_str(), &about) == 0 && S_ISREG(about.st_mode) &&
         access(path.c_str(), X_OK) == 0;
}

std::string find_program(const std::string& program) {
  if (program.find('/') != std::string::npos) return may_run(program) ? program : std::string();
  const char* const path = std::getenv("PATH");
  std::string_view rest = path != nullptr ? path : "";
  while (!rest.empty() && !program.empty()) {
    const std::size_t colon = rest.find(':');
    const std::string_view folder = rest.substr(0, colon);
    // An empty entry means the present folder: a probe is never found there by accident.
    if (!folder.empty()) {
      std::string candidate = fmt::format("{}/{}", folder, program);
      if (may_run(candidate)) return candidate;
    }
    rest = colon == std::string_view::npos ? std::string_view() : rest.substr(colon + 1);
  }
  return {};
}

const char* why_not_found(const std::string& program) {
  struct stat about {};
  if (program.empty()) return "names no program";
  if (program.find('/') == std::string::npos) {
    return "is no executable program of PATH: name a file with its path, as in exec:./probe";
  }
  if (stat(program.c_str(), &about) != 0) {
    return errno == EACCES ? "cannot be reached: a folder's permission is missing"
                           : "does not exist";
  }
  return S_ISREG(about.st_mode) ? "is not executable for this user: chmod +x" : "is no file";
}

std::vector<std::string> clean_environment() {
  static constexpr std::string_view kept[] = {"PATH", "HOME", "USER",  "LOGNAME",
                                              "LANG", "TZ",   "TMPDIR"};
  std::vector<std::string> variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view variable = *entry;
    const std::string_view name = variable.substr(0, variable.find('='));
    if (std::find(std::begin(kept), std::end(kept), name) != std::end(kept) ||
        name.substr(0, 3) == "LC_" || name.substr(0, 10) == "QL3_PROBE_") {
      variables.emplace_back(variable);
    }
  }
  return variables;
}

// One conversation with one child. The child may read nothing, write for ever, end early, or leave
// others behind that keep the pipes open: the loop ends with the child itself, the time, the stop
// or the limit of the output, whatever comes first.
class Conversation {
 public:
  Conversation(ChildProcess& child, std::string candidate, const ProbeCall& call)
      : child_(child),
        candidate_(std::move(candidate)),
        until_(BootClock::now() + call.timeout),
        stop_(call.stop),
        wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (!wake_.open()) {
      throw std::system_error(errno, std::generic_category(), "no descriptor for a probe");
    }
  }

  // Empty when the child ended by itself, else why it has to be ended.
  std::string run(Clock::Length timeout) {
    const std::stop_callback wake(stop_, [this] {
      const std::uint64_t one = 1;
      [[maybe_unused]] const ssize_t written = write(wake_.number(), &one, sizeof one);
    });
    while (!child_.ended()) {
      if (stop_.stop_requested()) return "stopped before it answered";
      const auto left = std::chrono::ceil<Milliseconds>(until_ - BootClock::now());
      if (left <= Milliseconds::zero()) {
        return fmt::format("no answer within {}",
                           to_text(std::chrono::duration_cast<Milliseconds>(timeout)));
      }
      wait(left);
      exchange();
      if (output.size() > answer_max) return too_large();
    }
    // What the child wrote before it ended is still in the pipe.
    exchange();
    return output.size() > answer_max ? too_large() : std::string();
  }

  std::string output;
  std::string errors;

 private:
  static std::string too_large() {
    return fmt::format("the answer has more than {} bytes", answer_max);
  }

  void wait(Milliseconds left) {
    // A closed descriptor is -1, which poll passes over.
    std::array<pollfd, 5> ready{{{child_.input.number(), POLLOUT, 0},
                                 {child_.output.number(), POLLIN, 0},
                                 {child_.errors.number(), POLLIN, 0},
                                 {child_.end_signal().number(), POLLIN, 0},
                                 {wake_.number(), POLLIN, 0}}};
    const std::int64_t most = child_.end_signal().open() ? 60'000 : 20;
    poll(ready.data(), ready.size(), static_cast<int>(std::min<std::int64_t>(left.count(), most)));
  }

  void exchange() {
    feed();
    drain(child_.output, output, answer_max + 1);
    drain(child_.errors, errors, errors_kept);
  }

  void feed() {
    while (child_.input.open() && fed_ < candidate_.size()) {
      const ssize_t count =
          write(child_.input.number(), candidate_.data() + fed_, candidate_.size() - fed_);
      if (count > 0) {
        fed_ += static_cast<std::size_t>(count);
      } else if (errno == EAGAIN || errno == EINTR) {
        return;
      } else {
        child_.input.close();
      }
    }
    child_.input.close();
  }

  // Reads what is there; beyond `most` it is thrown away. At most 1 MiB at a time, so that a child
  // that writes without end does not keep the loop from its other conditions.
  static void drain(Descriptor& from, std::string& into, std::size_t most) {
    std::array<char, 16 * 1024> buffer;
    for (int turn = 0; turn < 64 && from.open(); ++turn) {
      const ssize_t count = read(from.number(), buffer.data(), buffer.size());
      if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
      if (count <= 0) {
        from.close();
      } else if (into.size() < most) {
        into.append(buffer.data(), std::min(static_cast<std::size_t>(count), most - into.size()));
      }
    }
  }

  static constexpr std::size_t errors_kept = 512;

  ChildProcess& child_;
  const std::string candidate_;
  std::size_t fed_ = 0;
  const Clock::Time until_;
  const std::stop_token stop_;
  Descriptor wake_;
};

}  // namespace

ExecProbe::ExecProbe(const std::string& program)
    : path_(find_program(program)), environment_(clean_environment()) {
  if (path_.empty()) {
    throw std::invalid_argument(
        fmt::format("probe \"{}\" {}", program.substr(0, 200), why_not_found(program)));
  }
}

ProbeAnswer ExecProbe::judge(const Target& target, const ProbeCall& call) {
  const PipeSignalHeld quiet;
  ChildProcess child(path_, environment_);
  Conversation talk(child, candidate_json(target) + '\n', call);
  std::string fault = talk.run(call.timeout);
  const bool by_itself = fault.empty();
  const int status = child.kill_and_wait();
  if (by_itself) fault = describe_end(status);
  if (fault.empty()) return parse_answer(talk.output, target);
  talk.errors.resize(talk.errors.find_last_not_of(" \t\r\n") + 1);
  if (!talk.errors.empty()) fault += fmt::format("; it said: {}", clean_text(talk.errors, 512));
  return no_answer(std::move(fault));
}

}  // namespace ql3

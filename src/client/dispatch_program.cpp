#include "client/dispatch_program.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "client/child_process.hpp"
#include "client/close_from.hpp"

extern char** environ;

namespace ql3 {

namespace {

CallResult not_started(const std::string& program, int code) {
  return {outcome::not_sent,
          fmt::format("{} was not started: {}", program,
                      std::system_category().default_error_condition(code).message()),
          false};
}

// The paths to try, in order; made before the fork, where memory may still be taken.
std::vector<std::string> candidates(const std::string& program) {
  if (program.find('/') != std::string::npos) return {program};
  const char* const path = std::getenv("PATH");
  std::string_view rest = path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin";
  std::vector<std::string> paths;
  for (bool more = !program.empty(); more;) {
    const std::size_t colon = rest.find(':');
    // An empty entry means the present folder: a program is never found there by accident.
    if (colon != 0 && !rest.empty())
      paths.push_back(fmt::format("{}/{}", rest.substr(0, colon), program));
    more = colon != std::string_view::npos;
    if (more) rest.remove_prefix(colon + 1);
  }
  return paths;
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (const std::string& text : texts) all.push_back(const_cast<char*>(text.c_str()));
  all.push_back(nullptr);
  return all;
}

std::vector<std::string> environment_of(const ProgramOptions& options) {
  const auto name = [](std::string_view variable) {
    return variable.substr(0, variable.find('='));
  };
  std::vector<std::string> all = options.environment;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const bool ours =
        std::any_of(options.environment.begin(), options.environment.end(),
                    [&](const std::string& own) { return name(own) == name(*entry); });
    if (!ours) all.emplace_back(*entry);
  }
  return all;
}

// Above the three standard streams and the one number the child uses, so that moving one descriptor
// into place never overwrites another.
Descriptor raised(const Descriptor& low) noexcept {
  return Descriptor(fcntl(low.number(), F_DUPFD_CLOEXEC, 10));
}

struct Start {
  const std::vector<char*>& paths;
  char* const* arguments;
  char* const* environment;
  int input;
  int report;
};

// Between fork and exec of a process with threads: async-signal-safe calls only. What ends here has
// told its errno and has not become the program.
[[noreturn]] void become(const Start& start) noexcept {
  constexpr int report = 3;
  const auto give_up = [](int to, int code) {
    [[maybe_unused]] const ssize_t written = write(to, &code, sizeof code);
    _exit(127);
  };
  if (setpgid(0, 0) != 0) give_up(start.report, errno);
  if (dup2(start.input, 0) < 0) give_up(start.report, errno);
  if (dup3(start.report, report, O_CLOEXEC) < 0) give_up(start.report, errno);
  close_from(report + 1);
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  sigaction(SIGPIPE, &standard, nullptr);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  // As a shell looks: what may not be run is remembered, what is not there is passed over.
  int code = ENOENT;
  for (char* const path : start.paths) {
    if (path == nullptr) break;
    execve(path, start.arguments, start.environment);
    if (errno == EACCES) {
      code = EACCES;
    } else if (errno != ENOENT && errno != ENOTDIR) {
      code = errno;
      break;
    }
  }
  give_up(report, code);
  _exit(127);
}

// True when the child has ended, false when `stop` came first.
bool wait_for_end(pid_t child, std::stop_token stop) {
  const Descriptor ended(static_cast<int>(syscall(SYS_pidfd_open, child, 0)));
  const Descriptor woken(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  const std::stop_callback wake(stop, [&woken] {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(woken.number(), &one, sizeof one);
  });
  for (;;) {
    siginfo_t info{};
    // WNOWAIT: the status is taken once, by the caller. Any error also ends the waiting.
    if (waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT | WNOHANG) != 0 ||
        info.si_pid != 0) {
      return true;
    }
    if (stop.stop_requested()) return false;
    pollfd ready[] = {{woken.number(), POLLIN, 0}, {ended.number(), POLLIN, 0}};
    // Without pidfds or an eventfd: a look from time to time.
    poll(ready, 2, ended.open() && woken.open() ? -1 : 50);
  }
}

CallResult result_of(const ProgramOptions& options, int status) {
  const std::string& program = options.command.front();
  if (!WIFEXITED(status)) {
    return {outcome::unknown, fmt::format("{} was ended by signal {}", program, WTERMSIG(status)),
            false};
  }
  const int code = WEXITSTATUS(status);
  const auto& declared = options.not_sent_statuses;
  outcome what = code == 0 ? outcome::succeeded : outcome::failed;
  if (std::find(declared.begin(), declared.end(), code) != declared.end()) what = outcome::not_sent;
  return {what, fmt::format("{} ended with exit status {}", program, code), false};
}

}  // namespace

CallResult run_program(const ProgramOptions& options, const DispatchStop& stop,
                       const std::function<void(int)>& began) {
  const std::string& program = options.command.front();
  const std::vector<std::string> paths = candidates(program);
  const std::vector<std::string> environment = environment_of(options);
  const std::vector<char*> path_pointers = pointers(paths), arguments = pointers(options.command),
                           variables = pointers(environment);
  Descriptor nothing;
  if (!options.pass_input) {
    nothing = raised(Descriptor(open("/dev/null", O_RDONLY | O_CLOEXEC)));
    if (!nothing.open()) return not_started(program, errno);
  }
  Pipe report;
  try {
    report = Pipe::make();
  } catch (const std::system_error& error) {
    return not_started(program, error.code().value());
  }
  report.write_end = raised(report.write_end);
  if (!report.write_end.open()) return not_started(program, errno);

  const pid_t child = fork();
  if (child < 0) return not_started(program, errno);
  if (child == 0) {
    become({path_pointers, arguments.data(), variables.data(),
            options.pass_input ? 0 : nothing.number(), report.write_end.number()});
  }
  report.write_end.close();
  int code = 0;
  ssize_t told;
  do told = read(report.read_end.number(), &code, sizeof code);
  while (told < 0 && errno == EINTR);
  int status = 0;
  const auto reap = [&] {
    pid_t got;
    do got = waitpid(child, &status, 0);
    while (got < 0 && errno == EINTR);
    return got == child;
  };
  if (told == static_cast<ssize_t>(sizeof code)) {
    reap();
    return not_started(program, code);
  }
  try {
    if (began) began(child);
  } catch (...) {
    // Telling about it is no reason to lose its result.
  }
  if (!wait_for_end(child, stop.detaching)) {
    return {outcome::unknown, fmt::format("{} still runs as process {}", program, child), true};
  }
  if (!reap()) return {outcome::unknown, fmt::format("the end of {} is not known", program), false};
  return result_of(options, status);
}

}  // namespace ql3

#include "client/child_process.hpp"

#include <cerrno>
#include <csignal>
#include <system_error>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "client/close_from.hpp"

namespace ql3 {

namespace {

[[noreturn]] void fail(int code, const char* what) {
  throw std::system_error(code, std::generic_category(), what);
}

// Above the three standard streams and the one number the child uses, so that moving one
// descriptor into place never overwrites another.
constexpr int first_free = 10;
constexpr int report_number = 3;

Descriptor raised(Descriptor low) {
  const int high = fcntl(low.number(), F_DUPFD_CLOEXEC, first_free);
  if (high < 0) fail(errno, "no descriptor for a probe");
  return Descriptor(high);
}

struct ChildEnds {
  int input, output, errors, report;
};

// Between fork and exec of a process with threads: async-signal-safe calls only.
[[noreturn]] void become(const ChildEnds& ends, pid_t parent, const char* path, char* const* argv,
                         char* const* environment) noexcept {
  const auto give_up = [&] {
    const int code = errno;
    [[maybe_unused]] const ssize_t written = write(ends.report, &code, sizeof code);
    _exit(127);
  };
  if (setpgid(0, 0) != 0) give_up();
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) give_up();
  // The parent may have died before the line above.
  if (getppid() != parent) _exit(127);
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  for (int number = 1; number < NSIG; ++number) sigaction(number, &standard, nullptr);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  if (dup2(ends.input, 0) < 0 || dup2(ends.output, 1) < 0 || dup2(ends.errors, 2) < 0) give_up();
  const int report = dup3(ends.report, report_number, O_CLOEXEC);
  if (report < 0) give_up();
  // What other libraries opened without the close-on-exec flag must not reach the probe.
  close_from(report_number + 1);
  execve(path, argv, environment);
  const int code = errno;
  [[maybe_unused]] const ssize_t written = write(report_number, &code, sizeof code);
  _exit(127);
}

void make_nonblocking(const Descriptor& descriptor) {
  if (fcntl(descriptor.number(), F_SETFL, O_NONBLOCK) != 0) fail(errno, "no pipe to a probe");
}

}  // namespace

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this != &other) {
    close();
    number_ = other.release();
  }
  return *this;
}

void Descriptor::close() noexcept {
  if (number_ >= 0) ::close(number_);
  number_ = -1;
}

int Descriptor::release() noexcept {
  const int number = number_;
  number_ = -1;
  return number;
}

Pipe Pipe::make() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) fail(errno, "no pipe for a probe");
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

ChildProcess::ChildProcess(const std::string& path, const std::vector<std::string>& environment) {
  Pipe in = Pipe::make(), out = Pipe::make(), err = Pipe::make(), report = Pipe::make();
  const Descriptor child_in = raised(std::move(in.read_end));
  const Descriptor child_out = raised(std::move(out.write_end));
  const Descriptor child_err = raised(std::move(err.write_end));
  Descriptor child_report = raised(std::move(report.write_end));
  make_nonblocking(in.write_end);
  make_nonblocking(out.read_end);
  make_nonblocking(err.read_end);

  std::vector<char*> variables;
  for (const std::string& variable : environment) {
    variables.push_back(const_cast<char*>(variable.c_str()));
  }
  variables.push_back(nullptr);
  char* const argv[] = {const_cast<char*>(path.c_str()), nullptr};
  const pid_t parent = getpid();

  child_ = fork();
  if (child_ < 0) fail(errno, "no process for a probe");
  if (child_ == 0) {
    become({child_in.number(), child_out.number(), child_err.number(), child_report.number()},
           parent, path.c_str(), argv, variables.data());
  }
  // Also here: a kill of the group must not come before the child made it.
  setpgid(child_, child_);
  child_report.close();
  int code = 0;
  ssize_t told;
  do told = read(report.read_end.number(), &code, sizeof code);
  while (told < 0 && errno == EINTR);
  if (told == static_cast<ssize_t>(sizeof code)) {
    kill_and_wait();
    fail(code, "the probe cannot be run");
  }
  end_ = Descriptor(static_cast<int>(syscall(SYS_pidfd_open, child_, 0)));
  input = std::move(in.write_end);
  output = std::move(out.read_end);
  errors = std::move(err.read_end);
}

ChildProcess::~ChildProcess() { kill_and_wait(); }

bool ChildProcess::ended() const noexcept {
  siginfo_t info{};
  return child_ < 0 ||
         (waitid(P_PID, static_cast<id_t>(child_), &info, WEXITED | WNOWAIT | WNOHANG) == 0 &&
          info.si_pid != 0);
}

int ChildProcess::kill_and_wait() noexcept {
  if (child_ < 0) return status_;
  // Before the wait: while the child is not reaped its number cannot become another group's.
  kill(-child_, SIGKILL);
  while (waitpid(child_, &status_, 0) < 0 && errno == EINTR) {
  }
  child_ = -1;
  return status_;
}

std::string describe_end(int wait_status) {
  if (WIFSIGNALED(wait_status)) return fmt::format("signal {}", WTERMSIG(wait_status));
  if (WEXITSTATUS(wait_status) != 0) return fmt::format("exit status {}", WEXITSTATUS(wait_status));
  return {};
}

}  // namespace ql3

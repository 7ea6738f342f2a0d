#include "client/dispatch_program.hpp"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace ql3 {
namespace {

namespace fs = std::filesystem;

class Program : public testing::Test {
 protected:
  Program() {
    std::string pattern = (fs::temp_directory_path() / "ql3.XXXXXX").string();
    folder = mkdtemp(pattern.data());
  }
  ~Program() override { fs::remove_all(folder); }

  CallResult run(std::vector<std::string> command) {
    options.command = std::move(command);
    return run_program(options, {{}, detaching.get_token()}, [this](int id) { process = id; });
  }
  CallResult shell(const std::string& script) { return run({"/bin/sh", "-c", script}); }
  std::string file(const std::string& name) const { return (folder / name).string(); }
  std::string content(const std::string& name) const {
    std::ostringstream all;
    all << std::ifstream(file(name)).rdbuf();
    return all.str();
  }
  void write_file(const std::string& name, const std::string& text, int mode) const {
    std::ofstream(file(name)) << text;
    fs::permissions(file(name), static_cast<fs::perms>(mode));
  }

  fs::path folder;
  ProgramOptions options;
  std::stop_source detaching;
  int process = 0;
};

TEST_F(Program, ExitStatusDecides) {
  EXPECT_EQ(shell("exit 0").what, outcome::succeeded);
  const CallResult failed = shell("exit 3");
  EXPECT_EQ(failed.what, outcome::failed);
  EXPECT_EQ(failed.detail, "/bin/sh ended with exit status 3");
  EXPECT_EQ(shell("exit 126").what, outcome::failed);
  EXPECT_EQ(shell("exit 127").what, outcome::failed);
}

TEST_F(Program, OnlyDeclaredStatusesMeanNotSent) {
  options.not_sent_statuses = {3, 75};
  EXPECT_EQ(shell("exit 75").what, outcome::not_sent);
  EXPECT_EQ(shell("exit 3").what, outcome::not_sent);
  EXPECT_EQ(shell("exit 4").what, outcome::failed);
}

TEST_F(Program, EndedByASignalIsUnknown) {
  options.not_sent_statuses = {9, 137};
  const CallResult result = shell("kill -KILL $$");
  EXPECT_EQ(result.what, outcome::unknown);
  EXPECT_EQ(result.detail, "/bin/sh was ended by signal 9");
}

TEST_F(Program, WhatCannotBeStartedWasNotSent) {
  const CallResult missing = run({file("nothing")});
  EXPECT_EQ(missing.what, outcome::not_sent);
  EXPECT_NE(missing.detail.find("No such file"), std::string::npos);
  EXPECT_EQ(run({"ql3-there-is-no-such-program"}).what, outcome::not_sent);
  EXPECT_EQ(run({""}).what, outcome::not_sent);
  EXPECT_EQ(run({folder.string()}).what, outcome::not_sent);
  write_file("data", "exit 0\n", 0644);
  EXPECT_EQ(run({file("data")}).what, outcome::not_sent);
  write_file("no_interpreter", "#!/nonexistent/interpreter\n", 0755);
  EXPECT_EQ(run({file("no_interpreter")}).what, outcome::not_sent);
  // Without a shell nobody guesses what a file without a first line is.
  write_file("no_first_line", "exit 0\n", 0755);
  EXPECT_EQ(run({file("no_first_line")}).what, outcome::not_sent);
  EXPECT_EQ(process, 0);
}

TEST_F(Program, IsLookedUpInPath) { EXPECT_EQ(run({"true"}).what, outcome::succeeded); }

TEST_F(Program, GetsItsArgumentsUntouchedByAnyShell) {
  write_file("args", "#!/bin/sh\nfor a; do printf '[%s]' \"$a\"; done >\"$OUT\"\n", 0755);
  options.environment = {"OUT=" + file("out")};
  EXPECT_EQ(run({file("args"), "a b", "$HOME", "*", "", "--", "; exit 1"}).what,
            outcome::succeeded);
  EXPECT_EQ(content("out"), "[a b][$HOME][*][][--][; exit 1]");
}

TEST_F(Program, GetsOurEnvironmentAndWhatIsAdded) {
  setenv("QL3_ITEM", "stale", 1);
  setenv("QL3_TEST_KEPT", "kept", 1);
  options.environment = {"QL3_ITEM=a=b"};
  EXPECT_EQ(shell("printf %s:%s \"$QL3_ITEM\" \"$QL3_TEST_KEPT\" >" + file("out")).what,
            outcome::succeeded);
  unsetenv("QL3_ITEM");
  unsetenv("QL3_TEST_KEPT");
  EXPECT_EQ(content("out"), "a=b:kept");
}

TEST_F(Program, ReadsNothingUnlessInputIsPassed) {
  const int before = dup(0);
  write_file("in", "hello", 0644);
  const int in = open(file("in").c_str(), O_RDONLY | O_CLOEXEC);
  dup2(in, 0);
  EXPECT_EQ(shell("cat >" + file("out")).what, outcome::succeeded);
  EXPECT_EQ(content("out"), "");
  options.pass_input = true;
  EXPECT_EQ(shell("cat >" + file("out")).what, outcome::succeeded);
  EXPECT_EQ(content("out"), "hello");
  dup2(before, 0);
  close(before);
  close(in);
}

TEST_F(Program, HasNoneOfOurOtherDescriptors) {
  const int leaky = dup(1);
  EXPECT_EQ(shell("ls /proc/self/fd >" + file("out")).what, outcome::succeeded);
  close(leaky);
  // 3 is the folder that ls itself reads.
  EXPECT_EQ(content("out"), "0\n1\n2\n3\n");
}

TEST_F(Program, RunsInAProcessGroupOfItsOwnWithFreshSignals) {
  EXPECT_EQ(shell("ps -o pgid= -p $$ >" + file("out") + "; echo $$ >>" + file("out")).what,
            outcome::succeeded);
  std::istringstream ids(content("out"));
  int group = 0, id = 0;
  ids >> group >> id;
  EXPECT_EQ(group, id);
  EXPECT_EQ(id, process);

  sigset_t term, before;
  sigemptyset(&term);
  sigaddset(&term, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &term, &before);
  EXPECT_EQ(shell("kill -TERM $$").detail, "/bin/sh was ended by signal 15");
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST_F(Program, IsLeftAloneWhenDetached) {
  std::jthread detacher([this] {
    while (!fs::exists(file("runs"))) std::this_thread::yield();
    detaching.request_stop();
  });
  const CallResult result = shell("echo >" + file("runs") + "; exec sleep 600");
  EXPECT_TRUE(result.left);
  EXPECT_EQ(result.what, outcome::unknown);
  EXPECT_EQ(kill(process, 0), 0);
  kill(process, SIGKILL);
  int status = 0;
  EXPECT_EQ(waitpid(process, &status, 0), process);
}

TEST_F(Program, AStatusThatIsLostIsUnknown) {
  const auto before = std::signal(SIGCHLD, SIG_IGN);
  const CallResult result = shell("exit 0");
  std::signal(SIGCHLD, before);
  EXPECT_EQ(result.what, outcome::unknown);
  EXPECT_FALSE(result.left);
}

}  // namespace
}  // namespace ql3

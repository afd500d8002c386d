// A terminal without a person, for tests of what is shown on one.
#pragma once

#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <cstdio>
#include <stdexcept>
#include <string>

namespace regard::study {

class PseudoTerminal {
 public:
  explicit PseudoTerminal(unsigned short columns = 100) {
    master_ = posix_openpt(O_RDWR | O_NOCTTY);
    if (master_ < 0 || grantpt(master_) != 0 || unlockpt(master_) != 0)
      throw std::runtime_error("no pseudo terminal");
    stream_ = std::fopen(ptsname(master_), "r+");
    if (stream_ == nullptr) throw std::runtime_error("no pseudo terminal");
    termios mode{};
    tcgetattr(fileno(stream_), &mode);
    cfmakeraw(&mode);
    tcsetattr(fileno(stream_), TCSANOW, &mode);
    const winsize size{30, columns, 0, 0};
    ioctl(master_, TIOCSWINSZ, &size);
    fcntl(master_, F_SETFL, O_NONBLOCK);
  }
  ~PseudoTerminal() {
    std::fclose(stream_);
    close(master_);
  }
  PseudoTerminal(const PseudoTerminal&) = delete;
  PseudoTerminal& operator=(const PseudoTerminal&) = delete;

  std::FILE* stream() const { return stream_; }

  std::string take_output() {
    std::string text;
    char buffer[4096];
    for (ssize_t count = 0; (count = read(master_, buffer, sizeof buffer)) > 0;)
      text.append(buffer, static_cast<std::size_t>(count));
    return text;
  }

 private:
  int master_ = -1;
  std::FILE* stream_ = nullptr;
};

}  // namespace regard::study

#pragma once
#include <chrono>

#include "pipeline/pipeline.h"

namespace edgec::pipeline {

class Stopwatch {
 public:
  Stopwatch(std::vector<Timing>& to, std::string what) : to_(to), what_(std::move(what)), start_(Clock::now()) {}
  ~Stopwatch() { to_.push_back({std::move(what_), std::chrono::duration<double>(Clock::now() - start_).count()}); }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  using Clock = std::chrono::steady_clock;
  std::vector<Timing>& to_;
  std::string what_;
  Clock::time_point start_;
};

}  // namespace edgec::pipeline

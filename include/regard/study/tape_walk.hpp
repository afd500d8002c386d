// A computation, walked one operation at a time, forward and back: what was computed, and how each gradient
// came about.
//
// ```cpp
// TapeRecorder tape(TapeKeep::values);
// backward(sum(softmax(matmul(q, transpose(k)))));
// TapeWalk walk(tape);
// walk.name("q", q);
// while (walk.step()) std::cout << walk.here().sentence << "\n";
// ```
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <regard/export.hpp>
#include <regard/tape.hpp>

namespace REGARD_API regard {
namespace study {

/// A tensor with the name it goes by in a walk.
struct WalkValue {
  std::string name;
  Tensor tensor;
  int id = -1;  ///< in what known() gives: the number of this tensor on the tape
};

/// One place of a walk: an operation, a gradient rule, or the arrival of a leaf's gradient.
struct WalkStep {
  StepKind kind = StepKind::kernel;
  Phase phase = Phase::forward;
  std::string operation;          ///< "matmul"; of a leaf, its name
  std::string sentence;           ///< the step in one line: "S = Q·Kᵀ: matmul [3, 4] × [4, 3] → [3, 3]"
  std::string words;              ///< what such an operation does, or how its rule works; may be empty
  std::vector<WalkValue> inputs;  ///< of a rule: the gradient it gets, and what the operation read and gave
  std::vector<WalkValue> outputs;  ///< of a rule: the gradients so far, with its part added
};

/// A list that can be walked. Views that only put axes elsewhere in the shape (reshape, expand_dims, squeeze)
/// are no steps: what they give goes by the name of what they look at.
class TapeWalk {
 public:
  /// Words in "en" or "vi". The tape must keep values: ValueError otherwise. It must outlive the walk.
  explicit TapeWalk(const TapeRecorder& tape, const std::string& language = "en");

  /// Parameters that a backward reached have their names already; the others are %1, %2, ... in order of
  /// appearance. ValueError for a tensor that is not on the tape, and for a name that is empty, has spaces or
  /// is taken.
  void name(const std::string& name, const Tensor& x);

  [[nodiscard]] std::size_t size() const;
  /// How many steps have been taken.
  [[nodiscard]] std::size_t place() const;
  /// False at the end, and at the beginning.
  bool step();
  bool back();
  /// ValueError unless 0 <= place <= size().
  void goto_step(std::size_t place);

  /// The step taken last; ValueError at place 0.
  [[nodiscard]] WalkStep here() const;
  /// The step that leads to that place, 1 <= place <= size().
  [[nodiscard]] WalkStep at(std::size_t place) const;

  /// A value, or the gradient that has come to it so far ("dS"), by name, at this place. ValueError says when
  /// it will be there, or which names there are.
  [[nodiscard]] Tensor find(const std::string& name) const;
  /// What find() knows at this place, in order of appearance, gradients behind their values.
  [[nodiscard]] std::vector<WalkValue> known() const;

  [[nodiscard]] const std::string& language() const { return language_; }

 private:
  struct Range {
    std::size_t first, last;  ///< steps of the tape
  };
  /// A gradient, as it was from a place on.
  struct Arrival {
    std::size_t place;
    int parts;
    Value sum;
  };
  int root(int id) const;
  void number();
  std::string name_of(const Value& value) const;
  const Arrival* gradient_of(int id, std::size_t place) const;
  std::size_t place_of(int step) const;
  WalkStep forward_step(const Step& step) const;
  WalkStep rule_step(const Step& step, std::size_t place) const;
  WalkStep leaf_step(const Step& step) const;

  const TapeRecorder& tape_;
  std::vector<Step> steps_;  ///< as they were when the walk was made
  std::string language_;
  std::vector<Range> ranges_;
  std::vector<int> order_;    ///< values that may be named, by appearance
  std::map<int, int> roots_;  ///< what an alias stands for
  std::map<int, Value> values_;
  std::map<int, int> gradients_;        ///< id of a gradient -> id of what it is the gradient of
  std::map<int, std::size_t> appears_;  ///< the place from which on a value is there; 0: always
  std::map<int, std::vector<Arrival>> arrivals_;
  std::map<int, std::string> names_;    ///< given ones
  std::map<int, std::string> numbers_;  ///< "%1", of what has no name
  std::size_t place_ = 0;
};

/// What obey() answers.
struct WalkReply {
  std::string text;
  bool quit = false;
};

/// One command of a person: step [n], back [n], goto n, show, print name, list, names, help, quit; an empty
/// line steps. What is not understood is answered with what would be.
WalkReply obey(TapeWalk& walk, const std::string& command);

/// The present step with the numbers it read and gave, as obey() shows it.
[[nodiscard]] std::string show(const TapeWalk& walk);

struct TapePageOptions {
  std::string title;
  std::string description;
  /// Longer axes are shown up to here.
  std::size_t most_rows = 16, most_columns = 16;
};

/// The walk as one offline page in the walk's language: the list of operations, a slider (arrow keys, Home,
/// End), the present operation with what it read and gave as coloured matrices with their numbers, and all
/// that is known so far, where gradients appear beside the values as the backward goes. Light and dark, from
/// 360 pixels of width; it loads nothing.
std::string tape_html(const TapeWalk& walk, const TapePageOptions& options = {});
/// The same, written to a file, which is replaced as a whole or not at all. Throws IoError too.
void write_tape_html(const std::filesystem::path& path, const TapeWalk& walk,
                     const TapePageOptions& options = {});

}  // namespace study
}  // namespace regard

#include "autograd/replay_list.hpp"

#include <algorithm>
#include <cstring>

#include "kernels/elementwise.hpp"

namespace regard::detail {
namespace {

[[noreturn]] void refuse(const std::string& why) {
  throw GraphError("capture: " + why);
}

std::string name_of(const ParameterCell& cell) {
  return cell.name.empty() ? "a parameter " + to_string(cell.value.shape()) : cell.name;
}

bool has_hook(const ParameterCell& cell) {
  if (!cell.leaf->extras) return false;
  const auto& hooks = cell.leaf->extras->hooks;
  return std::any_of(hooks.begin(), hooks.end(), [](const auto& hook) { return static_cast<bool>(*hook); });
}

bool lies_in(const kernels::Array& array, const Storage& storage) {
  const auto* data = static_cast<const unsigned char*>(array.data);
  const auto* first = static_cast<const unsigned char*>(const_cast<Storage&>(storage).data());
  return data >= first && data < first + storage.bytes;
}

/// Puts an array that lies behind `from` as far behind `to`.
void move(kernels::Array& array, const void* from, void* to) {
  array.data = static_cast<unsigned char*>(to) +
               (static_cast<unsigned char*>(array.data) - static_cast<const unsigned char*>(from));
}

}  // namespace

Size next_serial() {
  return impl(scalar(0)).storage->serial + 1;
}

ReplayList::ReplayList(const Serials& stale)
    : arena_(new Arena), scope_(std::make_unique<Arena::Scope>(arena_)), stale_(stale) {
  context().capture = this;
}

ReplayList::~ReplayList() {
  if (context().capture == this) context().capture = nullptr;
  scope_.reset();
  arena_->release();
}

Tensor written_by_host_step(const Shape& shape, DType dtype) {
  Tensor x = empty(shape, dtype);
  impl(x).storage->computed = true;
  return x;
}

// ---- the step runs -------------------------------------------------------------------------------------

bool ReplayList::is_parameter(const Storage& storage) const {
  return std::any_of(used_.begin(), used_.end(),
                     [&](const Used& used) { return used.serial == storage.serial; });
}

void ReplayList::before(const Run& run) {
  if (context().capture != this) return;
  for (int i = 0; i < run.input_count; ++i) {
    if (!run.inputs[i].defined()) continue;
    const Ref<Storage>& storage = impl(run.inputs[i]).storage;
    if ((storage->arena == arena_ && storage->computed) || is_parameter(*storage)) continue;
    if (storage->serial >= stale_.first && storage->serial < stale_.end)
      refuse(std::string(run.name) + " reads a tensor " + to_string(run.inputs[i].shape()) +
             " that an earlier call of the step made, which no replay would make again; give it to the step "
             "as an "
             "input, or zero the gradients in the step if it is one");
    if (storage->arena == arena_) {
      add_constant(*storage, run);
      continue;
    }
    const bool is_held = std::any_of(held_.begin(), held_.end(),
                                     [&](const auto& held) { return held.get() == storage.get(); });
    if (!is_held) held_.push_back(storage);
  }
}

// Numbers that the host wrote stay where they are, unless a kernel writes there, too: one that ran before, in
// memory that has been another tensor's, or the one that runs now.
void ReplayList::add_constant(Storage& storage, const Run& run) {
  const auto is_it = [&](const Tensor& output) { return impl(output).storage.get() == &storage; };
  const bool is_changed = std::any_of(run.outputs, run.outputs + run.output_count, is_it);
  if (storage.bytes == 0 || (!storage.used_before && !is_changed)) return;
  auto* const first = static_cast<unsigned char*>(storage.data());
  std::vector<unsigned char> saved(first, first + storage.bytes);
  add_host([first, saved = std::move(saved)] { std::memcpy(first, saved.data(), saved.size()); });
  storage.used_before = false;
}

void ReplayList::add_arrays(const kernels::Array* const* arrays, int count) {
  for (int i = 0; i < count; ++i) arrays_.push_back(*arrays[i]);
}

void ReplayList::after(const Run& run) {
  if (context().capture != this) return;
  Item item;
  item.kernel = run.kernel;
  item.first = arrays_.size();
  item.inputs = run.input_count;
  item.outputs = run.output_count;
  item.attributes = run.attributes;
  for (int i = 0; i < run.input_count; ++i)
    for (Used& used : used_)
      if (run.inputs[i].defined() && impl(run.inputs[i]).storage->serial == used.serial)
        used.arrays.push_back(arrays_.size() + static_cast<std::size_t>(i));
  add_arrays(run.call->inputs, run.input_count);
  add_arrays(run.call->outputs, run.output_count);
  for (int i = 0; i < run.output_count; ++i) {
    Storage& storage = *impl(run.outputs[i]).storage;
    if (storage.arena != arena_)
      refuse(std::string(run.name) + " writes to memory " + to_string(run.outputs[i].shape()) +
             " from before the step; zero the gradients in the step");
    storage.computed = true;
  }
  items_.push_back(item);
  ++kernel_count_;
}

void ReplayList::add_host(std::function<void()> f) {
  Item item;
  item.first = hosts_.size();
  hosts_.push_back(std::move(f));
  items_.push_back(item);
}

void list_host_step(std::function<void()> f) {
  ReplayList& list = *context().capture;
  {
    const OffTheRecord off;
    f();
  }
  list.add_host(std::move(f));
}

void note_use(ParameterCell& cell) {
  ReplayList* list = context().capture;
  if (!list) return;
  const TensorImpl& value = impl(cell.value);
  for (const ReplayList::Used& used : list->used_) {
    if (used.cell.get() != &cell) continue;
    if (used.serial != value.storage->serial)
      refuse("the step replaces the numbers of " + name_of(cell) +
             " and then uses them; assign between two calls of the step, "
             "and let no Tensor of the graph live on while the optimiser steps");
    return;
  }
  if (has_hook(cell))
    refuse("a hook is attached to " + name_of(cell) + "; remove it, a replay would not call it");
  list->used_.push_back(
      {cell.shared_from_this(), value.storage->serial, value.array.data, cell.trainable, {}});
}

void deposit(ParameterCell& cell, const Tensor& dy) {
  ReplayList* list = context().capture;
  if (!list) return add_to_gradient(cell, dy);
  auto made = std::make_unique<ReplayList::Deposit>(ReplayList::Deposit{cell.shared_from_this(), dy});
  ReplayList::Deposit* const it = made.get();
  list->deposits_.push_back(std::move(made));
  list_host_step([it] { add_to_gradient(*it->cell, it->dy); });
}

void ReplayList::finish(const Tensors& outputs) {
  context().capture = nullptr;
  leave();
  first_result_ = arrays_.size();
  for (const Tensor& output : outputs) {
    if (is_parameter(*impl(output).storage))
      refuse("an output of the step " + to_string(output.shape()) +
             " is a Parameter's own value; read it there");
    results_.push_back(output.detach());
    arrays_.push_back(array(output));
  }
  for (kernels::Array& each : arrays_) pointers_.push_back(&each);
  group_gradients();
  scope_.reset();
  arena_->close();
}

void ReplayList::group_gradients() {
  gradients_.clear();
  for (std::size_t d = 0; d < deposits_.size(); ++d) {
    TensorImpl* const look = Access::impl(deposits_[d]->dy);
    const auto same = [&](const Gradient& gradient) {
      return gradient.looks[0]->storage.get() == look->storage.get();
    };
    auto gradient = std::find_if(gradients_.begin(), gradients_.end(), same);
    if (gradient == gradients_.end()) gradient = gradients_.insert(gradient, Gradient{});
    gradient->deposits.push_back(d);
    auto& looks = gradient->looks;
    if (std::find(looks.begin(), looks.end(), look) == looks.end()) looks.push_back(look);
  }
}

// ---- replays -------------------------------------------------------------------------------------------

void ReplayList::check() {
  const Context& here = context();
  if (here.capture) refuse("a captured step was called within the step that is being captured");
  if (here.observer)
    refuse("a recorder (tape, profiler, anomaly mode) is attached, which a replay would not tell; detach it");
  if (!here.recording) refuse("recording is off (NoGrad), and was on when the step was captured");
  for (Used& used : used_) {
    const ParameterCell& cell = *used.cell;
    if (cell.trainable != used.trainable)
      refuse(name_of(cell) +
             (used.trainable ? " was trainable when the step was captured, and is frozen now"
                             : " was frozen when the step was captured, and is trainable now") +
             "; capture the step again");
    if (has_hook(cell))
      refuse("a hook is attached to " + name_of(cell) + ", which a replay would not call; remove it");
    follow(used);
  }
  for (Gradient& gradient : gradients_)
    if (is_held_elsewhere(gradient)) give_away(gradient);
}

// A load, an assignment or an update may have given the Parameter other memory.
void ReplayList::follow(Used& used) {
  Tensor& value = used.cell->value;
  const bool same_memory = impl(value).storage->serial == used.serial && array(value).data == used.data;
  if (same_memory && value.is_contiguous()) return;
  if (!value.is_contiguous()) value = value.contiguous();
  const kernels::Array& now = array(value);
  for (const std::size_t i : used.arrays) move(arrays_[i], used.data, now.data);
  used.data = now.data;
  used.serial = impl(value).storage->serial;
}

bool ReplayList::is_held_elsewhere(const Gradient& gradient) const {
  std::size_t known = gradient.deposits.size(), handles = 0;
  for (const std::size_t d : gradient.deposits) {
    const Tensor& current = deposits_[d]->cell->gradient;
    known += current.defined() && Access::impl(current) == Access::impl(deposits_[d]->dy);
  }
  for (const TensorImpl* look : gradient.looks) handles += look->refs;
  return handles > known || gradient.looks[0]->storage->refs > gradient.looks.size();
}

// Somebody keeps a gradient of an earlier call: it is theirs, and the step writes to other memory from now
// on.
void ReplayList::give_away(Gradient& gradient) {
  const Ref<Storage> from = gradient.looks[0]->storage;
  const Arena::Scope scope(nullptr);
  const Tensor to = empty({static_cast<Size>(from->bytes)}, boolean);  // one byte each
  for (kernels::Array& each : arrays_)
    if (lies_in(each, *from)) move(each, from->data(), array(to).data);
  std::vector<Tensor> looks;
  for (const TensorImpl* look : gradient.looks) {
    kernels::Array moved = look->array;
    move(moved, from->data(), array(to).data);
    Tensor copy = view(to, moved.data, moved.shape, moved.strides);
    impl(copy).array.dtype = moved.dtype;
    looks.push_back(std::move(copy));
  }
  for (const std::size_t d : gradient.deposits) {
    Tensor& dy = deposits_[d]->dy;
    const auto at = std::find(gradient.looks.begin(), gradient.looks.end(), Access::impl(dy));
    dy = looks[static_cast<std::size_t>(at - gradient.looks.begin())];
  }
  for (std::size_t i = 0; i < looks.size(); ++i) gradient.looks[i] = Access::impl(looks[i]);
}

void ReplayList::run() {
  for (const Item& item : items_) {
    if (!item.kernel) {
      hosts_[item.first]();
      continue;
    }
    kernels::Array* const* const arrays = pointers_.data() + item.first;
    item.kernel({arrays, item.inputs, arrays + item.inputs, item.outputs, item.attributes.data()});
  }
}

void ReplayList::results(Tensors& copies) const {
  copies.resize(results_.size());
  for (std::size_t i = 0; i < results_.size(); ++i) {
    const kernels::Array& from = arrays_[first_result_ + i];
    copies[i] = empty(from.shape, from.dtype);
    kernels::Array to = array(copies[i]);
    kernels::run(kernels::copy[from.dtype], from, to);
  }
}

}  // namespace regard::detail

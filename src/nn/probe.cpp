#include <regard/nn/probe.hpp>

#include <algorithm>

#include <regard/autograd.hpp>
#include <regard/error.hpp>
#include <regard/named.hpp>

namespace regard {
namespace detail {

struct ProbeState {
  std::string name = "probe";
  std::vector<std::shared_ptr<Interception>> attached;
};

/// The one place that sees both sides of an attachment.
class AttachmentPlace {
 public:
  static void add(Attachment& attachment, Probe& probe, const std::string& name) {
    probe.state_->name = name;
    probe.state_->attached.push_back(attachment.what_);
    attachment.where_.push_back(probe.state_);
  }
  static Attachment make(Interception interception) {
    Attachment attachment;
    attachment.what_ = std::make_shared<Interception>(std::move(interception));
    return attachment;
  }
};

Attachment attach(const char* what, const std::vector<std::pair<std::string, Probe*>>& probes,
                  const std::string& pattern, Interception interception) {
  Attachment attachment = AttachmentPlace::make(std::move(interception));
  std::vector<std::string> names;
  bool found = false;
  for (const auto& [name, probe] : probes) {
    names.push_back(name);
    if (!matches(pattern, name)) continue;
    AttachmentPlace::add(attachment, *probe, name);
    found = true;
  }
  if (!found) throw_no_match(what, "probe", pattern, names);
  return attachment;
}

namespace {

Tensor checked(const std::string& name, Tensor replacement, const Tensor& value) {
  if (!replacement.defined()) return value;
  if (replacement.shape() != value.shape())
    throw ShapeError("probe " + name + ": the replacement has shape " + to_string(replacement.shape()) +
                     ", expected " + to_string(value.shape()));
  if (replacement.dtype() != value.dtype())
    throw DTypeError("probe " + name + ": the replacement is " + regard::name(replacement.dtype()) +
                     ", expected " + regard::name(value.dtype()) + "; convert it with .to()");
  return replacement;
}

}  // namespace
}  // namespace detail

Probe::Probe() : state_(std::make_shared<detail::ProbeState>()) {}

bool Probe::watched() const {
  return state_ && !state_->attached.empty();
}

Tensor Probe::operator()(const Tensor& x) const {
  if (!watched()) return x;
  const auto attached = state_->attached;  // what is called may attach and detach
  const std::string& name = state_->name;
  Tensor value = x;
  for (const auto& it : attached)
    if (!it->on_gradient) value = detail::checked(name, it->call(name, value), value);
  if (!value.requires_grad()) return value;
  for (const auto& it : attached) {
    if (!it->on_gradient) continue;
    const std::weak_ptr<detail::Interception> hook = it;  // a graph may outlive the attachment
    add_hook(value, [hook, name](const Tensor& dx) {
      const auto alive = hook.lock();
      return alive ? alive->call(name, dx) : Tensor();
    });
  }
  return value;
}

Attachment& Attachment::operator=(Attachment&& other) noexcept {
  if (this != &other) {
    detach();
    what_ = std::move(other.what_);
    where_ = std::move(other.where_);
  }
  return *this;
}

Attachment::~Attachment() {
  detach();
}

void Attachment::detach() noexcept {
  for (const auto& place : where_)
    if (const auto state = place.lock()) {
      auto& attached = state->attached;
      attached.erase(std::remove(attached.begin(), attached.end(), what_), attached.end());
    }
  where_.clear();
  what_.reset();
}

}  // namespace regard

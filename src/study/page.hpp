// What the offline pages share: templates whose @NAMES@ are filled in, and data that is safe between script
// tags.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "study/colormap.hpp"
#include "study/frame_json.hpp"

namespace regard::study {

/// Text fit for HTML.
std::string escaped(std::string_view text);

/// JSON fit to stand between script tags.
std::string script_safe(const Json& json);

/// A colour function over low..1 in even steps, as pairs of ground and ink, for "light" and "dark".
Json both_grounds(Color (*color_at)(double, Ground), double low);

/// The template with its @NAMES@ replaced.
std::string filled(std::string_view text, const std::map<std::string_view, std::string>& values);

}  // namespace regard::study

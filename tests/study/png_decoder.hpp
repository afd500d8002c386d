// Decodes a PNG with libpng, for tests.
#pragma once

#include <gtest/gtest.h>
#include <png.h>

#include <cstdint>
#include <string>
#include <vector>

#include "study/colormap.hpp"

namespace regard::study {

struct DecodedPng {
  std::size_t width = 0, height = 0;
  std::vector<std::uint8_t> bytes;

  Color at(std::size_t x, std::size_t y) const {
    const std::uint8_t* pixel = &bytes[(y * width + x) * 3];
    return {pixel[0], pixel[1], pixel[2]};
  }
  std::size_t count(Color color) const {
    std::size_t found = 0;
    for (std::size_t y = 0; y < height; ++y)
      for (std::size_t x = 0; x < width; ++x)
        if (at(x, y) == color) ++found;
    return found;
  }
};

inline DecodedPng decode_png(const std::string& bytes) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  DecodedPng decoded;
  EXPECT_NE(png_image_begin_read_from_memory(&image, bytes.data(), bytes.size()), 0) << image.message;
  image.format = PNG_FORMAT_RGB;
  decoded.width = image.width;
  decoded.height = image.height;
  decoded.bytes.resize(PNG_IMAGE_SIZE(image));
  EXPECT_NE(png_image_finish_read(&image, nullptr, decoded.bytes.data(), 0, nullptr), 0) << image.message;
  return decoded;
}

}  // namespace regard::study

// Which regard this is, for the preprocessor. The build reads its own version here.
#pragma once

#define REGARD_VERSION_MAJOR 0
#define REGARD_VERSION_MINOR 1
#define REGARD_VERSION_PATCH 0

/// One number that grows with the version: 10000·major + 100·minor + patch.
#define REGARD_VERSION (REGARD_VERSION_MAJOR * 10000 + REGARD_VERSION_MINOR * 100 + REGARD_VERSION_PATCH)

#pragma once

// REGARD_API marks what a shared library gives out. Everything is built with hidden visibility, and a public header
// opens its namespace with it: `namespace regard REGARD_API {`. A nested namespace takes no attribute in its short
// form, so it is written `namespace regard REGARD_API { namespace nn {`. A static library gives nothing out.
#if defined(REGARD_SHARED)
#define REGARD_API __attribute__((visibility("default")))
#else
#define REGARD_API
#endif

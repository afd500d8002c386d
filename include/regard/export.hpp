// REGARD_API marks what a shared library gives out: everything is built with hidden visibility, and a public
// header opens its namespace with `namespace REGARD_API regard {`. The short form of a nested namespace takes
// no attribute; write `namespace REGARD_API regard {` and `namespace nn {` inside it. A function template that
// is instantiated in a source file wears the mark itself. A static library gives nothing out.
#pragma once

#if defined(REGARD_SHARED)
#define REGARD_API [[gnu::visibility("default")]]
#else
#define REGARD_API
#endif

// What of the shared library an embedder may link to; everything else is hidden.
#pragma once

#define QL3_API __attribute__((visibility("default")))

#pragma once
#include "backends/xnnpack/lowering.h"

namespace edgec::xnnpack {

// A convolution in one group over an image [n, h, w, c] with weights [o, kh, kw, c].
struct Convolution {
  Id image, filter;
  ConvAttrs attrs;
  Dims out;  // [n, oh, ow, o]
};

// The same with fewer and wider pixels, where that is faster: a stride over columns goes into the channels, which is a view of the
// image. A column of an image one pixel wide counts as a row; then `out` has the two dims swapped, and the bytes are the same.
Convolution with_wide_pixels(Lowering&, Convolution);

}  // namespace edgec::xnnpack

#pragma once
#include <memory>
#include <string>

#include <edgec/tensor_data.h>
#include "support/zip.h"

namespace edgec::pt2 {

// A record's bytes: in place when it is stored, unpacked into a copy (its CRC checked) when it is deflated, as archives
// that went through another zip program are. `keep_alive` holds the bytes of the archive.
Result<std::shared_ptr<const Storage>> read_record(const ZipReader& zip, const ZipEntry& entry, std::shared_ptr<const void> keep_alive,
                                                   std::string name);

// Fails when the deflated records together would unpack to more memory than makes sense.
Status check_unpacked_size(const ZipReader& zip);

}  // namespace edgec::pt2

#include <edgec/edgec.h>

#include <cstdio>

// uses_edgec MODEL.pt2 OUT.pte
int main(int argc, char** argv) {
  if (argc != 3) return 2;
  auto exported = edgec::load(argv[1]);
  auto edge = exported ? edgec::to_edge(*std::move(exported)) : exported.failure();
  auto program = edge ? edge->to_executorch() : edge.failure();
  const edgec::Status written = program ? program->write_to_file(argv[2]) : program.failure();
  if (!written) std::fprintf(stderr, "%s\n", written.failure().message.c_str());
  return written ? 0 : 1;
}

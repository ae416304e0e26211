# cmake -DROOT=src -DLIST=file -DVERSION=1.2.3 -DOUTPUT=signature.c -P signature.cmake: the solvers' signature, 16
# hexadecimal digits of a SHA-256 over the version and the files named in LIST, one a line, relative to ROOT. The same on
# every machine for the same source.
file(STRINGS "${LIST}" files)
list(SORT files)
set(text "${VERSION}\n")
foreach(name ${files})
  file(SHA256 "${ROOT}/${name}" digest)
  string(APPEND text "${name} ${digest}\n")
endforeach()
string(SHA256 digest "${text}")
string(SUBSTRING "${digest}" 0 16 digest)
file(WRITE "${OUTPUT}" "/* made by cmake/signature.cmake */\n#include \"tune/tuning.h\"\n\n"
  "const char *pz_tuning_solvers(void) { return \"${digest}\"; }\n")

/* library.h -- which frames are the system's, not the program's makers' */
#ifndef ALQI_CLI_ANALYSIS_LIBRARY_H
#define ALQI_CLI_ANALYSIS_LIBRARY_H

#include "cli/analysis/analysis.h"

/* .def.library  A frame is a library's if its module lies below /lib or
 * /usr/lib
 *               (/lib64 ...) and is not the program itself, or if its source
 * file is a header of the system, as templates of C++ are. Frames of an
 *               interpreted language are the program's. */
bool alqi_cli_is_library(const struct alqi_cli_analysis *analysis,
                         const struct alqi_cli_frame *frame);

#endif

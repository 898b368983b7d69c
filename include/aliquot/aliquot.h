/* aliquot.h -- everything Aliquot offers to a C program */
#ifndef ALIQUOT_ALIQUOT_H
#define ALIQUOT_ALIQUOT_H

#include <aliquot/callstack.h>
#include <aliquot/control.h>
#include <aliquot/domain.h>
#include <aliquot/final.h>
#include <aliquot/gc.h>
#include <aliquot/heap.h>
#include <aliquot/limit.h>
#include <aliquot/malloc_limit.h>
#include <aliquot/marshal.h>
#include <aliquot/memprof.h>
#include <aliquot/observe.h>
#include <aliquot/pool.h>
#include <aliquot/pprof.h>
#include <aliquot/root.h>
#include <aliquot/snapshot.h>
#include <aliquot/status.h>
#include <aliquot/trace.h>
#include <aliquot/value.h>
#include <aliquot/weak.h>

#define ALQ_VERSION_MAJOR 0
#define ALQ_VERSION_MINOR 1
#define ALQ_VERSION_PATCH 0

#endif

/* old_find_object.h -- _dl_find_object where the C library has none */
#ifndef ALQI_PLAT_OLD_FIND_OBJECT_H
#define ALQI_PLAT_OLD_FIND_OBJECT_H

#include <dlfcn.h>

/* What _dl_find_object says of an address, from dl_iterate_phdr: 0, or -1 if
 * the address lies in no module.  Takes the lock that the dynamic linker holds
 * while it changes its list of modules, and may have that already. */
int alqi_plat_old_find_object(void *address, struct dl_find_object *out);

#endif

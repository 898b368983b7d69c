/* dl.h -- dlopen, dlsym and dlclose of modules that were there before this
 * library was loaded (got.c) */
#ifndef ALQI_PRELOAD_DL_H
#define ALQI_PRELOAD_DL_H

#pragma GCC visibility push(hidden)

void *alqi_preload_dlopen_late(const char *path, int mode);
void *alqi_preload_dlsym_late(void *handle, const char *name);
int alqi_preload_dlclose(void *handle);

#pragma GCC visibility pop

#endif

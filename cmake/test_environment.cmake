# What CTest sets for every test before it starts one: no test reads the cache of
# symbols of the user who runs it, or writes into it.  Tests of the cache name one
# of their own.  The name is of no directory, so there is no cache; an empty value
# would do in a shell, but CMake takes the variable out of the environment then.
set(ENV{ALIQUOT_CACHE} /dev/null)

# What CTest sets for every test before it starts one: no test reads the cache of
# symbols of the user who runs it, or writes into it.  Tests of the cache name one
# of their own.
set(ENV{ALIQUOT_CACHE} "")

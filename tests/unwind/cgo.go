// cgo.go -- blocks that C allocates for Go, for Go called by C, and for a
// goroutine: Go's code has no unwind tables, but it keeps frame pointers.
package main

/*
#include <stdlib.h>

static __attribute__((noinline)) void *
c_inner(size_t n)
{
    void *volatile p = malloc(n);

    return p;
}

static __attribute__((noinline)) void *
c_outer(size_t n)
{
    void *volatile p = c_inner(n);

    return p;
}

extern void goCallback(int);
static void
c_calls_go(int n)
{
    goCallback(n);
}
*/
import "C"

//go:noinline
func goInner(n int) { C.free(C.c_outer(C.size_t(n))) }

//go:noinline
func goOuter(n int) { goInner(n); goInner(n + 1) }

//export goCallback
func goCallback(n C.int) { goOuter(int(n)) }

//go:noinline
func viaC(n int) { C.c_calls_go(C.int(n)) }

func main() {
	goOuter(100001)
	viaC(200001)
	done := make(chan bool)
	go func() { goOuter(300001); done <- true }()
	<-done
}

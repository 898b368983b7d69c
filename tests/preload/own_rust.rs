/* own_rust.rs -- a program in Rust whose blocks come from jemalloc, or with
 * --cfg mimalloc from that, asked as their crates ask them; see own.sh
 *
 * The allocator is linked into the program, and is asked past malloc. */
use std::alloc::{GlobalAlloc, Layout};

struct Own;

/* std::hint::black_box is not in Debian 12's rustc. */
fn black_box<T>(value: T) -> T {
    let value = std::mem::ManuallyDrop::new(value);
    unsafe { std::ptr::read_volatile(&*value) }
}

#[cfg(mimalloc)]
mod own {
    use super::*;

    extern "C" {
        fn mi_malloc_aligned(size: usize, align: usize) -> *mut u8;
        fn mi_zalloc_aligned(size: usize, align: usize) -> *mut u8;
        fn mi_realloc_aligned(p: *mut u8, size: usize, align: usize) -> *mut u8;
        fn mi_free(p: *mut u8);
    }

    unsafe impl GlobalAlloc for Own {
        unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
            mi_malloc_aligned(layout.size(), layout.align())
        }
        unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
            mi_zalloc_aligned(layout.size(), layout.align())
        }
        unsafe fn realloc(&self, p: *mut u8, layout: Layout, size: usize) -> *mut u8 {
            mi_realloc_aligned(p, size, layout.align())
        }
        unsafe fn dealloc(&self, p: *mut u8, _: Layout) {
            mi_free(p)
        }
    }
}

#[cfg(not(mimalloc))]
mod own {
    use super::*;

    extern "C" {
        fn mallocx(size: usize, flags: i32) -> *mut u8;
        fn rallocx(p: *mut u8, size: usize, flags: i32) -> *mut u8;
        fn sdallocx(p: *mut u8, size: usize, flags: i32);
    }

    const ZERO: i32 = 0x40;

    fn flags(layout: &Layout) -> i32 {
        layout.align().trailing_zeros() as i32
    }

    unsafe impl GlobalAlloc for Own {
        unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
            mallocx(layout.size(), flags(&layout))
        }
        unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
            mallocx(layout.size(), flags(&layout) | ZERO)
        }
        unsafe fn realloc(&self, p: *mut u8, layout: Layout, size: usize) -> *mut u8 {
            rallocx(p, size, flags(&layout))
        }
        unsafe fn dealloc(&self, p: *mut u8, layout: Layout) {
            sdallocx(p, layout.size(), flags(&layout))
        }
    }
}

#[global_allocator]
static ALLOCATOR: Own = Own;

const N: usize = 1000;

#[inline(never)]
#[no_mangle]
fn by_box(kept: &mut Vec<Box<[u8; 100]>>) {
    for i in 0..N {
        let block = black_box(Box::new([i as u8; 100]));
        if i % 2 == 0 {
            kept.push(block);
        }
    }
}

#[inline(never)]
#[no_mangle]
fn by_zeros() {
    for _ in 0..N {
        black_box(vec![0u8; 300]);
    }
}

#[inline(never)]
#[no_mangle]
fn by_growth() {
    for _ in 0..N {
        let mut bytes: Vec<u8> = Vec::with_capacity(200);
        black_box(&mut bytes).reserve_exact(400);
        black_box(&bytes);
    }
}

fn main() {
    let mut kept = Vec::with_capacity(N);
    by_box(&mut kept);
    by_zeros();
    std::thread::spawn(by_growth).join().unwrap();
    println!("{}", kept.iter().map(|b| b[0] as usize).sum::<usize>());
    std::mem::forget(black_box(kept));
}

//! One allocator for Rust and for RocksDB.
//!
//! Many small allocations per request: an allocator made for that is worth a third of the time. RocksDB is C++ and takes
//! its memory by `operator new`, which a program may replace. Left to the C library's arenas, blocks that one thread
//! allocates and another one frees fill them with holes: under steady expiry with readers the process grew far beyond the
//! block cache. `malloc` itself is not replaced: libraries that are loaded in front of a program, such as libfaketime, call it
//! before the program has begun.

use std::ffi::{c_int, c_long};

/// How long memory that was freed waits for its next use before the system has it back, in milliseconds. The allocator's own
/// second is long enough for a burst of large requests to take the memory of all of them twice.
const PURGE_DELAY_MILLIS: c_long = 50;

/// The number of that setting, which the binding does not name.
const PURGE_DELAY: c_int = 15;

#[allow(unsafe_code, reason = "the binding has no function for settings")]
// SAFETY: the function has this name and these arguments in the allocator's header.
unsafe extern "C" {
    fn mi_option_set_default(option: c_int, value: c_long);
}

/// Sets the allocator up. What the environment says (`MIMALLOC_PURGE_DELAY`) goes before.
#[allow(unsafe_code, reason = "the binding has no function for settings")]
pub(crate) fn set_up() {
    // SAFETY: the function takes any number, and knows this one.
    unsafe { mi_option_set_default(PURGE_DELAY, PURGE_DELAY_MILLIS) }
}

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The replaceable functions of C++ by their names in object files (Itanium ABI, 64 bits), where the C++ library is GNU's or
/// LLVM's. What one of them has given, another one takes back, so all of them are here.
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
#[allow(
    unsafe_code,
    reason = "functions that C++ calls have its names and its pointers"
)]
mod operators {
    use std::alloc::Layout;
    use std::ffi::c_void;

    use libmimalloc_sys::{mi_free, mi_malloc, mi_malloc_aligned};

    /// What `operator new` does without memory is to throw, which nobody here catches: the program ends, as Rust's does.
    fn given(memory: *mut c_void, size: usize) -> *mut c_void {
        if memory.is_null() {
            let layout = Layout::array::<u8>(size).unwrap_or(Layout::new::<u8>());
            std::alloc::handle_alloc_error(layout);
        }
        memory
    }

    /// Functions that give memory: with or without throwing, with or without an alignment.
    macro_rules! give {
        ($($name:ident ($($align:ident)?) ($($nothrow:ident)?);)*) => {$(
            // SAFETY: the name is that of a replaceable function of C++, with the arguments that it has there.
            #[unsafe(no_mangle)]
            extern "C" fn $name(size: usize $(, $align: usize)? $(, $nothrow: *const c_void)?) -> *mut c_void {
                // SAFETY: any size is allowed, and C++ gives no alignment but powers of two.
                let memory = unsafe { give!(@call size $($align)?) };
                $( let _ = $nothrow; return memory; )?
                #[allow(unreachable_code)]
                given(memory, size)
            }
        )*};
        (@call $size:ident) => { mi_malloc($size) };
        (@call $size:ident $align:ident) => { mi_malloc_aligned($size, $align) };
    }

    give! {
        _Znwm()();
        _Znam()();
        _ZnwmRKSt9nothrow_t()(nothrow);
        _ZnamRKSt9nothrow_t()(nothrow);
        _ZnwmSt11align_val_t(align)();
        _ZnamSt11align_val_t(align)();
        _ZnwmSt11align_val_tRKSt9nothrow_t(align)(nothrow);
        _ZnamSt11align_val_tRKSt9nothrow_t(align)(nothrow);
    }

    /// Functions that take memory back. Size, alignment and throwing make no difference to the allocator; what further
    /// arguments a caller passes are not looked at.
    macro_rules! take_back {
        ($($name:ident)*) => {$(
            // SAFETY: the name is that of a replaceable function of C++, and its first argument is the memory.
            #[unsafe(no_mangle)]
            extern "C" fn $name(memory: *mut c_void) {
                // SAFETY: it was given by one of the functions above, or is null.
                unsafe { mi_free(memory) }
            }
        )*};
    }

    take_back! {
        _ZdlPv
        _ZdaPv
        _ZdlPvm
        _ZdaPvm
        _ZdlPvRKSt9nothrow_t
        _ZdaPvRKSt9nothrow_t
        _ZdlPvSt11align_val_t
        _ZdaPvSt11align_val_t
        _ZdlPvmSt11align_val_t
        _ZdaPvmSt11align_val_t
        _ZdlPvSt11align_val_tRKSt9nothrow_t
        _ZdaPvSt11align_val_tRKSt9nothrow_t
    }
}

// Records by the library's functions alone, as a binding of another language does:
//
//     bindings TRACE
//
// The layouts are those of recorder/gecko_recorder.h.
use std::ffi::CString;
use std::os::raw::{c_char, c_int, c_void};
use std::ptr;

const GREC_SAMPLER: u32 = 4;

#[repr(C)]
struct Options {
    path: *const c_char,
    limit_bytes: u64,
    chunk_bytes: u32,
    storage: u32,
    threads: *const c_char,
    flags: u32,
    interval_us: u32,
    product: *const c_char,
    duration_s: u32,
    reserved: u32,
}

#[repr(C)]
struct Label {
    name: *const c_char,
    category: *mut c_void,
    file: *const c_char,
    line: u32,
    reserved: u32,
    cache: u64,
}

#[repr(C)]
struct Marker {
    name: *const c_char,
    category: *mut c_void,
    kind: *mut c_void,
    cache: u64,
}

extern "C" {
    fn grec_start(options: *const Options) -> c_int;
    fn grec_stop();
    fn grec_now() -> u64;
    fn grec_label_push(label: *mut Label, text: *const c_char) -> u32;
    fn grec_label_pop(pushed: u32);
    fn grec_interval(marker: *mut Marker, start: u64, values: *const c_void, count: usize);
    fn grec_text_marker(name: *const c_char, category: *mut c_void, text: *const c_char);
    fn grec_sample();
}

// A guard that outlives the function that made it.
struct Scope(u32);

impl Scope {
    fn enter(label: &mut Label) -> Scope {
        Scope(unsafe { grec_label_push(label, ptr::null()) })
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        unsafe { grec_label_pop(self.0) }
    }
}

#[inline(never)]
fn work() -> u64 {
    let mut sum = 0u64;
    for i in 0..200_000_000u64 {
        sum = sum.wrapping_mul(31).wrapping_add(unsafe { ptr::read_volatile(&i) });
    }
    sum
}

fn main() {
    let path = CString::new(std::env::args().nth(1).expect("a path")).unwrap();
    let options = Options {
        path: path.as_ptr(),
        limit_bytes: 0,
        chunk_bytes: 0,
        storage: 0,
        threads: ptr::null(),
        flags: GREC_SAMPLER,
        interval_us: 0,
        product: ptr::null(),
        duration_s: 0,
        reserved: 0,
    };
    let name = CString::new("label of Rust").unwrap();
    let marker_name = CString::new("interval of Rust").unwrap();
    let text = CString::new("the text itself").unwrap();
    let mut label = Label {
        name: name.as_ptr(),
        category: ptr::null_mut(),
        file: ptr::null(),
        line: 0,
        reserved: 0,
        cache: 0,
    };
    let mut marker = Marker {
        name: marker_name.as_ptr(),
        category: ptr::null_mut(),
        kind: ptr::null_mut(),
        cache: 0,
    };
    unsafe {
        if grec_start(&options) != 0 {
            std::process::exit(1);
        }
        let start = grec_now();
        {
            let _scope = Scope::enter(&mut label);
            assert_ne!(work(), 1);
            grec_sample();
        }
        grec_interval(&mut marker, start, ptr::null(), 0);
        grec_text_marker(marker_name.as_ptr(), ptr::null_mut(), text.as_ptr());
        grec_stop();
    }
}

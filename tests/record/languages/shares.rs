//! Three functions that take turns, and tell how much processor time each had: shares MILLISECONDS
//!
//! Turns differ in length and are longer than the sampler's interval. Otherwise both could keep in step.
#[repr(C)]
struct Timespec {
    seconds: i64,
    ns: i64,
}

extern "C" {
    fn clock_gettime(clock: i32, time: *mut Timespec) -> i32;
}

const CLOCK_THREAD_CPUTIME_ID: i32 = 3;

fn now_ns() -> i64 {
    let mut time = Timespec { seconds: 0, ns: 0 };
    unsafe { clock_gettime(CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.seconds * 1_000_000_000 + time.ns
}

#[inline(never)]
fn work(steps: u64) -> u64 {
    (0..steps).fold(1, |sum: u64, _| std::hint::black_box(sum.wrapping_mul(6364136223846793005).wrapping_add(1)))
}

#[inline(never)]
fn alpha(steps: u64) -> u64 {
    work(steps * 5) + 1
}

#[inline(never)]
fn beta(steps: u64) -> u64 {
    work(steps * 3) + 2
}

#[inline(never)]
fn gamma(steps: u64) -> u64 {
    work(steps * 2) + 3
}

fn main() {
    let limit_ns = std::env::args().nth(1).unwrap().parse::<i64>().unwrap() * 1_000_000;
    let functions: [(&str, fn(u64) -> u64); 3] = [("alpha", alpha), ("beta", beta), ("gamma", gamma)];
    let mut spent_ns = [0; 3];
    let mut random: u64 = 1;
    while spent_ns.iter().sum::<i64>() < limit_ns {
        for (i, (_, function)) in functions.iter().enumerate() {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let steps = 500_000 + (random >> 32) % 1_000_000;
            let begin_ns = now_ns();
            std::hint::black_box(function(steps));
            spent_ns[i] += now_ns() - begin_ns;
        }
    }
    for (i, (name, _)) in functions.iter().enumerate() {
        println!("function {name} {}", spent_ns[i]);
    }
}

//! Counts and sorts words in the main thread and in a named one, for half a second each.
use std::collections::HashMap;
use std::time::{Duration, Instant};

fn count(n: usize) -> HashMap<String, usize> {
    let mut counts = HashMap::new();
    for i in 0..n {
        *counts.entry(format!("w{}", i * 7919 % 5003)).or_insert(0) += 1;
    }
    counts
}

fn work() -> usize {
    let end = Instant::now() + Duration::from_millis(500);
    let mut sum = 0;
    while Instant::now() < end {
        let counts = count(10000);
        let mut words: Vec<_> = counts.iter().collect();
        words.sort();
        sum += words.len();
    }
    sum
}

fn main() {
    let worker = std::thread::Builder::new().name("worker".into()).spawn(work).unwrap();
    println!("{}", work() + worker.join().unwrap());
}

// SPDX-License-Identifier: GPL-2.0-or-later
// Rust: generic code, closures, a sort and a map, none of them inlined into main.
use std::collections::HashMap;

#[inline(never)]
fn numbers(seed: &mut u64, n: usize) -> Vec<u64> {
    (0..n)
        .map(|_| {
            *seed ^= *seed << 13;
            *seed ^= *seed >> 7;
            *seed ^= *seed << 17;
            *seed
        })
        .collect()
}

#[inline(never)]
fn sorted<T: Ord + Clone>(v: &[T]) -> Vec<T> {
    let mut ret = v.to_vec();
    ret.sort_by(|a, b| b.cmp(a));
    ret
}

#[inline(never)]
fn counted(v: &[u64]) -> HashMap<u64, String> {
    v.iter().map(|x| (x % 1000, x.to_string())).collect()
}

fn main() {
    let mut seed = 88172645463325252u64;
    let mut sum = 0usize;
    loop {
        let v = sorted(&numbers(&mut seed, 20000));
        sum = sum.wrapping_add(counted(&v).len());
        if sum == usize::MAX {
            println!("{}", sum);
        }
    }
}

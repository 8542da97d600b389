//! Compiles the shims. They must be C, because they replace functions of the C library.

use std::path::PathBuf;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=shim");
    println!("cargo::rerun-if-env-changed=CC");
    let folder = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo says where"));
    let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    for name in ["clock", "disk", "points"] {
        let status = Command::new(&compiler)
            .args(["-shared", "-fPIC", "-O2", "-Wall", "-Wextra", "-Werror", "-o"])
            .arg(folder.join(name).with_extension("so"))
            .arg(format!("shim/{name}.c"))
            .status();
        match status {
            Ok(status) if status.success() => {}
            Ok(status) => panic!("the C compiler failed: {status}"),
            Err(error) => {
                panic!("no C compiler ({}): {error}; try scripts/setup.sh rust", compiler.display())
            }
        }
    }
}

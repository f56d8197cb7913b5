//! The program: everything is in the library.
fn main() -> std::process::ExitCode {
    sweat::cli::main(std::env::args_os())
}

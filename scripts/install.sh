# shellcheck shell=bash
# Sourced by ./demo and ./test: installs what is missing, by the distribution's own means, and nothing twice.
# Oldest Rust that builds sweat; the same number stands in Cargo.toml.
rust_needed=1.85
# Asking for a version must not make rustup download one.
export RUSTUP_AUTO_INSTALL=0

say() { printf '%s\n' "$*" >&2; }
fail() { say "error: $1"; [ $# -lt 2 ] || say "hint: $2"; exit "${3:-3}"; }

# Runs a command as root: directly, or through sudo where there is one.
as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"
  elif command -v sudo >/dev/null; then sudo "$@"
  else fail "installing needs root, and there is no sudo" "as root, run: $*"
  fi
}

package_tool() {
  local tool
  for tool in apt-get dnf brew; do
    if command -v "$tool" >/dev/null; then echo "$tool"; return; fi
  done
  echo none
}

# What installs packages here, in words.
installer() {
  local tool
  tool=$(package_tool)
  if [ "$tool" = none ] || [ "$tool" = brew ] || [ "$(id -u)" = 0 ]; then echo "$tool"
  else echo "sudo $tool"
  fi
}

apt_updated=no
# install_packages APT DNF BREW: each a list of that tool's package names
install_packages() {
  local apt=$1 dnf=$2 brew=$3 tool
  tool=$(package_tool)
  if [ "$(installer)" = "sudo $tool" ] && ! command -v sudo >/dev/null; then
    if [ "$tool" = dnf ]; then apt=$dnf; fi
    fail "installing needs root, and there is no sudo" "as root, run: $tool install $apt"
  fi
  # The lists are split at spaces.
  # shellcheck disable=SC2086
  case $tool in
    apt-get)
      if [ $apt_updated = no ]; then as_root apt-get -q update >&2; apt_updated=yes; fi
      say "installing: $apt"
      as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y install --no-install-recommends $apt >&2 ||
        fail "apt-get could not install: $apt" "see its messages above" ;;
    dnf) say "installing: $dnf"; as_root dnf -q -y install $dnf >&2 || fail "dnf could not install: $dnf" ;;
    brew) say "installing: $brew"; brew install $brew >&2 || fail "brew could not install: $brew" ;;
    none) fail "found no apt-get, dnf or brew to install with" "install by hand: $apt" ;;
  esac
}

have_rust() {
  local found
  found=$(rustc --version 2>/dev/null | awk '{print $2}') || return 1
  cargo --version >/dev/null 2>&1 &&
    [ -n "$found" ] && [ "$(printf '%s\n%s\n' "$rust_needed" "$found" | sort -V | head -n 1)" = "$rust_needed" ]
}

# A C compiler is needed too: the TLS library brings a little C and assembly.
have_c_compiler() { command -v cc >/dev/null; }

# What cargo downloads comes over HTTPS. A minimal Debian can't tell whom to trust.
have_certificates() {
  [ "$(package_tool)" != apt-get ] || [ -s "${SSL_CERT_FILE:-/etc/ssl/certs/ca-certificates.crt}" ]
}

# Where rustup is, its cargo stands before any other in PATH, so a toolchain from elsewhere would not be used.
install_rust_by_rustup() {
  say "installing: Rust's stable toolchain, by rustup"
  rustup toolchain install stable --profile minimal >&2 ||
    fail "rustup could not install Rust's stable toolchain" "see its messages above"
  # A default that works, and is only too old, stays the user's own.
  cargo --version >/dev/null 2>&1 || rustup default stable >&2
  have_rust || export RUSTUP_TOOLCHAIN=stable
}

need_rust() {
  find_rustup
  have_c_compiler || install_packages "gcc libc6-dev" gcc ""
  have_certificates || install_packages ca-certificates "" ""
  have_rust && return
  if command -v rustup >/dev/null; then install_rust_by_rustup; fi
  have_rust && return
  case $(package_tool) in
    apt-get)
      as_root apt-get -q update >&2; apt_updated=yes
      # Debian 12 keeps its newer Rust, made for browsers, in packages that end in -web.
      local suffix candidate
      for suffix in "" -web; do
        candidate=$(apt-cache policy "rustc$suffix" | awk '/Candidate:/ {print $2}')
        if dpkg --compare-versions "${candidate%%[+~]*}" ge "$rust_needed" 2>/dev/null; then
          install_packages "cargo$suffix rustc$suffix" "" ""
          break
        fi
      done
      if ! have_rust && apt-cache show rustup >/dev/null 2>&1; then
        install_packages rustup "" ""
        hash -r
        install_rust_by_rustup
      fi ;;
    dnf) install_packages "" "cargo rust" "" ;;
    brew) install_packages "" "" rust ;;
  esac
  hash -r
  have_rust || fail "sweat needs Rust $rust_needed or newer; this distribution offers none" \
    "install it with rustup (https://rustup.rs), then run this again"
}

# What `cargo fmt` and `cargo clippy` need, from where the compiler came.
need_rust_lints() {
  ! cargo fmt --version >/dev/null 2>&1 || ! cargo clippy --version >/dev/null 2>&1 || return 0
  if command -v rustup >/dev/null; then
    rustup component add rustfmt clippy >&2 || fail "rustup could not install rustfmt and clippy" "see its messages above"
  elif dpkg-query -W -f '${Status}' rustc-web 2>/dev/null | grep -q ' installed'; then
    install_packages "rustfmt-web rust-web-clippy" "" ""
  else
    install_packages "rustfmt rust-clippy" "rustfmt clippy" ""
  fi
}

# rustup's own folder is in PATH only after the next login.
find_rustup() {
  # shellcheck disable=SC1091 # rustup writes this file
  [ ! -f "$HOME/.cargo/env" ] || . "$HOME/.cargo/env"
}

# The folders where sweat itself looks for a server.
server_folders=/usr/sbin:/usr/libexec:/usr/local/sbin:/usr/local/mysql/bin:/usr/local/libexec:/usr/local/bin:/opt/homebrew/bin
have_server() {
  PATH=$PATH:$server_folders type -P mariadbd >/dev/null || PATH=$PATH:$server_folders type -P mysqld >/dev/null
}

# Whether MariaDB's folder of plugins holds this file: a program in PATH does not say which of its packages are there.
have_plugin() {
  local folder
  folder=$(mariadbd --no-defaults --verbose --help 2>/dev/null | awk '$1 == "plugin-dir" {print $2}')
  [ -n "$folder" ] && [ -f "$folder/$1" ]
}

# The server's programs. Debian and Ubuntu have them in a package of their own, without the system service.
need_server() {
  have_server || install_packages mariadb-server-core mariadb-server mariadb
}

# plan_installation WHAT...: puts into the array `planned`, in words, what `need_rust` and `need_server` would install.
plan_installation() {
  local what by
  by=$(installer)
  if [ "$by" = none ]; then by="but there is no apt-get, dnf or brew to install it with"; else by="by $by"; fi
  planned=()
  for what in "$@"; do
    case $what in
      rust)
        find_rustup
        have_c_compiler || planned+=("a C compiler, $by")
        have_certificates || planned+=("certificates of the web's authorities, $by")
        if have_rust; then :
        elif command -v rustup >/dev/null; then planned+=("Rust's stable toolchain, by rustup")
        else planned+=("Rust $rust_needed or newer, $by")
        fi ;;
      server) have_server || planned+=("MariaDB's server program, $by") ;;
    esac
  done
}

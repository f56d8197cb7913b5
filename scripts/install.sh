# Sourced by ./demo and ./test: installs what is missing, by the distribution's own means, and nothing twice.
# Oldest Rust that builds sweat; the same number stands in Cargo.toml.
rust_needed=1.85

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

apt_updated=no
# install_packages APT DNF BREW: each a list of that tool's package names
install_packages() {
  case $(package_tool) in
    apt-get)
      if [ $apt_updated = no ]; then as_root apt-get -q update >&2; apt_updated=yes; fi
      say "installing: $1"
      # shellcheck disable=SC2086
      as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y install --no-install-recommends $1 >&2 ||
        fail "apt-get could not install: $1" "see its messages above" ;;
    # shellcheck disable=SC2086
    dnf) say "installing: $2"; as_root dnf -q -y install $2 >&2 || fail "dnf could not install: $2" ;;
    # shellcheck disable=SC2086
    brew) say "installing: $3"; brew install $3 >&2 || fail "brew could not install: $3" ;;
    none) fail "found no apt-get, dnf or brew to install with" "install by hand: $1" ;;
  esac
}

have_rust() {
  local found
  command -v cargo >/dev/null && command -v rustc >/dev/null || return 1
  found=$(rustc --version 2>/dev/null | awk '{print $2}')
  [ -n "$found" ] && [ "$(printf '%s\n%s\n' "$rust_needed" "$found" | sort -V | head -n 1)" = "$rust_needed" ]
}

# A C compiler is needed too: the TLS library brings a little C and assembly.
need_rust() {
  [ ! -f "$HOME/.cargo/env" ] || . "$HOME/.cargo/env"
  if ! command -v cc >/dev/null; then install_packages "gcc libc6-dev" gcc ""; fi
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
        rustup default stable >&2
      fi ;;
    dnf) install_packages "" "cargo rust" "" ;;
    brew) install_packages "" "" rust ;;
  esac
  hash -r
  have_rust || fail "sweat needs Rust $rust_needed or newer; this distribution offers none" \
    "install it with rustup (https://rustup.rs), then run this again"
}

have_server() {
  PATH=$PATH:/usr/sbin:/usr/libexec:/usr/local/sbin command -v mariadbd >/dev/null ||
    PATH=$PATH:/usr/sbin:/usr/libexec:/usr/local/sbin command -v mysqld >/dev/null
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

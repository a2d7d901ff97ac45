# Sourced by the entry points in this folder: what they share. `root` is the checkout.
say() { printf 'ddptwin: %s\n' "$*" >&2; }
die() { say "$*"; exit 3; }

# install_packages PURPOSE...: installs what of packages.txt is missing for these purposes.
install_packages() {
  command -v dpkg-query >/dev/null || die "this set-up knows Debian packages only; install those of tools/packages.txt by hand"
  local purpose name missing=() number=0
  local known
  known=$(dpkg-query -W -f '${Status} ${Package}\n' 2>/dev/null | sed -n 's/^install ok installed //p')
  while read -r purpose name; do
    case " $* " in *" $purpose "*) ;; *) continue ;; esac
    grep -qx -- "$name" <<<"$known" || missing+=("$name")
  done < <(grep -v '^#' "$root/tools/packages.txt")
  [ ${#missing[@]} -gt 0 ] || return 0
  local sudo=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || die "needs root or sudo to install: ${missing[*]}"
    sudo=(sudo)
  fi
  say "installing ${#missing[@]} Debian packages: ${missing[*]}"
  local log
  log=$(mktemp)
  if ! "${sudo[@]}" apt-get update -qq >"$log" 2>&1; then
    tail -n 5 "$log" >&2
    rm -f "$log"
    die "apt-get update failed (its last lines stand above)"
  fi
  if ! "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
      -o APT::Status-Fd=3 "${missing[@]}" 3> >(show_progress) >"$log" 2>&1; then
    grep -E '^E: ' "$log" >&2 || tail -n 5 "$log" >&2
    rm -f "$log"
    die "apt-get could not install all of: ${missing[*]}"
  fi
  rm -f "$log"
  say "installed"
}

# Reads apt's status lines (dlstatus and pmstatus:package:percent:text) and says every tenth per cent.
show_progress() {
  local kind package percent rest doing said=
  while IFS=: read -r kind package percent rest; do
    case "$kind" in dlstatus) doing=fetching ;; pmstatus) doing=installing ;; *) continue ;; esac
    percent=${percent%%.*}
    case "$percent" in ''|*[!0-9]*) continue ;; esac
    percent=$((percent / 10 * 10))
    [ "$doing $percent" != "$said" ] || continue
    said="$doing $percent"
    say "$doing: $percent %"
  done
}

# up_to_date PRESET: ddptwin is there, and every source is older than the begin of the last build_once of it.
up_to_date() {
  local stamp=$root/build/$1/.built
  [ -x "$root/build/$1/bin/ddptwin" ] && [ -f "$stamp" ] &&
    [ -z "$(find "$root/sim" "$root/tools" "$root/bench" "$root/cmake" "$root/CMakeLists.txt" \
              "$root/CMakePresets.json" -newer "$stamp" -not -path '*/testdata/*' -print -quit)" ]
}

# build_once PRESET COMMAND...: runs the command, which builds in build/PRESET, unless that is up to date.
build_once() {
  local preset=$1 folder="$root/build/$1"
  shift
  up_to_date "$preset" && return 0
  mkdir -p "$folder" || die "cannot write to $root/build"
  exec 9>"$folder/.lock"
  flock 9  # another one may be building, and have built when it is our turn
  if ! up_to_date "$preset"; then
    rm -f "$folder/.built"
    touch "$folder/.begun"
    "$@"
    mv -f "$folder/.begun" "$folder/.built"
  fi
  exec 9>&-
}

# configure PRESET [-DNAME=VALUE...]
configure() {
  local preset=$1 folder="$root/build/$1"
  shift
  mkdir -p "$folder"
  say "configuring (build/$preset)"
  (cd "$root" && cmake --preset "$preset" "$@") >"$folder/configure.log" 2>&1 && return 0
  grep -A12 'CMake Error' "$folder/configure.log" >&2 || tail -n 20 "$folder/configure.log" >&2
  die "cmake failed; all it said is in build/$preset/configure.log"
}

# build PRESET TARGET...: configures once and builds, with progress; a failing file is named.
build() {
  local preset=$1
  shift
  local folder="$root/build/$preset" status=0
  [ -f "$folder/build.ninja" ] || configure "$preset"
  say "building (build/$preset)"
  NINJA_STATUS='[%f/%t %es] ' ninja -C "$folder" "$@" >"$folder/build.log" 2>&1 &
  local job=$!
  trap 'kill "$job" 2>/dev/null; exit 130' INT TERM
  follow_build "$job" "$folder/build.log"
  wait "$job" || status=$?
  trap - INT TERM
  [ "$status" -eq 0 ] && return 0
  grep -E 'FAILED:|error:|^ninja: error' "$folder/build.log" | head -n 20 >&2
  die "the build failed; all it said is in build/$preset/build.log"
}

# Says how far a build is, every few seconds, until the process ends.
follow_build() {
  local job=$1 log=$2 line='' last=''
  while kill -0 "$job" 2>/dev/null; do
    sleep 0.2
    [ $((SECONDS % 5)) -eq 0 ] || continue
    line=$(tail -c 300 "$log" 2>/dev/null | grep -o '\[[0-9]*/[0-9]* [0-9.]*s\]' | tail -n 1) || true
    if [ -n "$line" ] && [ "${line%% *}" != "$last" ]; then
      say "building $line"
      last=${line%% *}
    fi
  done
}

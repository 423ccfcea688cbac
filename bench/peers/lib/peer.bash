# bench/peers/lib/peer.bash, to be sourced by each peer, which defines about,
# install, start and tokens and then calls peer_main: see bench/peers/README.md
# for what the commands do.
#
# Its functions find here
#
#   $name, $sources    the peer's name, and the folder with its sources
#   $dir, $data, $port what they were called with; folders are absolute
#   $run               start's own folder: configuration, sockets and logs

peers=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
project=$(cd "$peers/../.." && pwd -P)
name=$(basename "$0")
sources=$peers/$name.d
PATH=$PATH:/usr/sbin:/sbin

# shellcheck source=bench/peers/lib/nginx.bash
. "$peers/lib/nginx.bash"

# shellcheck source=bench/peers/lib/redis.bash
. "$peers/lib/redis.bash"


usage() {
    echo "usage: $name about | install DIR | start DIR DATA PORT" \
         "| tokens DIR DATA" >&2
    exit 2
}


fail() {
    echo "$name: $*" >&2
    exit 1
}


# The peer cannot be had on this machine, and why.

skip() {
    echo "$*"
    exit 77
}


# Which of Debian's versions is there; what is not installed has none.

debian_version() {
    local version

    version=$(dpkg-query -W -f='${Version}' "$1" 2> /dev/null) || :
    echo "${version:-not installed}"
}


# What install does by the way is for its log: its own word is the reason of
# a skip.

logged() {
    echo "+ $*" >> "$dir/install.log"
    "$@" >> "$dir/install.log" 2>&1 < /dev/null
}


install_packages() {
    # shellcheck source=bin/packages
    . "$project/bin/packages"

    logged packages_install PEER_PACKAGES \
        || skip "no Debian packages to be had, see $dir/install.log"
}


# The files of Debian's packages of pure Lua, into DIR/root: installed as
# packages they would bring a third of all nginx modules with them.

install_lua() {
    [ ! -d "$dir/root/usr" ] || return 0
    mkdir -p "$dir/debs" "$dir/root"

    (
        cd "$dir/debs"
        logged apt-get -q download "$@" || {
            logged apt-get -q update
            logged apt-get -q download "$@"
        }
    ) || skip "no Debian packages $*, see $dir/install.log"

    local deb

    for deb in "$dir"/debs/*.deb; do
        logged dpkg-deb -x "$deb" "$dir/root"
    done
}


# What has been installed from the same list of versions stays.

has_installed() {
    cmp -s "$1" "$dir/installed"
}


# An exact copy of what the lock file of npm says.

install_npm() {
    local lock=$sources/package-lock.json

    command -v npm > /dev/null || skip "no npm here"
    ! has_installed "$lock" || return 0

    cp "$sources/package.json" "$lock" "$dir/"
    logged npm --prefix "$dir" ci --omit=dev --no-audit --no-fund \
        || skip "npm could not install, see $dir/install.log"
    cp "$lock" "$dir/installed"
}


install_pip() {
    local list=$sources/requirements.txt

    command -v python3 > /dev/null || skip "no python3 here"
    ! has_installed "$list" || return 0

    logged python3 -m venv --clear "$dir/venv" \
        || skip "no virtual environment, see $dir/install.log"
    logged "$dir/venv/bin/pip" install --no-input \
        --disable-pip-version-check -r "$list" \
        || skip "pip could not install, see $dir/install.log"
    cp "$list" "$dir/installed"
}


# The version that a lock file of npm, or a requirements.txt, pins.

npm_version() {
    perl -MJSON::PP -0777 -ne \
        'print decode_json($_)->{packages}{"node_modules/'"$1"'"}{version}' \
        "$sources/package-lock.json"
}


pip_version() {
    sed -n "s/^$1==//p" "$sources/requirements.txt"
}


# Runs until one of the programs started with & ends, or until SIGTERM, and
# takes the others with it.

run_all() {
    trap 'stop_all; exit 143' TERM
    trap 'stop_all; exit 130' INT

    wait -n || :
    stop_all
    fail "a program of this peer ended, see $run"
}


stop_all() {
    local -a pids

    trap '' TERM INT
    mapfile -t pids < <(jobs -p)
    [ ${#pids[@]} = 0 ] || kill "${pids[@]}" 2> /dev/null || :
    wait
}


# Waits until a command succeeds, 60 seconds at most.

wait_until() {
    local end=$((SECONDS + 60))

    until "$@" > /dev/null 2>&1; do
        [ $SECONDS -lt $end ] || fail "no success within 60 s: $*"
        sleep 0.1
    done
}


# The header lines of DATA/headers whose value is the same for each request,
# as "Name: value".

fixed_headers() {
    grep -v NONCE "$data/headers" || :
}


# An absolute name, and the folder is there.

folder() {
    mkdir -p "$1"
    cd "$1"
    pwd -P
}


peer_main() {
    case ${1-} in
        about)
            [ $# = 1 ] || usage
            about
            ;;

        install)
            [ $# = 2 ] || usage
            dir=$(folder "$2")
            : > "$dir/install.log"
            install
            ;;

        start)
            [ $# = 4 ] || usage
            [[ $4 =~ ^[0-9]+$ ]] || usage
            dir=$(folder "$2")
            data=$(cd "$3" && pwd -P)
            port=$4
            run=$dir/run
            rm -rf "$run"
            mkdir "$run"
            echo "$port" > "$run/port"
            start
            ;;

        tokens)
            [ $# = 3 ] || usage
            dir=$(folder "$2")
            data=$(cd "$3" && pwd -P)
            tokens
            ;;

        *)
            usage
            ;;
    esac
}

# Sourced by bin/up and bin/test: a Python environment that is installed once and then only looked at.

say() { printf '%s\n' "$*"; }

pythons="python3 /usr/bin/python3 python3.13 python3.12 python3.11 python3.14 python"
# Distributions and official images compile Python with profile-guided optimization: Gatewall takes a quarter less CPU.
probe='
import importlib.util, sys, sysconfig
optimized = sys.base_prefix == "/usr" or "--enable-optimizations" in (sysconfig.get_config_var("CONFIG_ARGS") or "")
print("good" if optimized and importlib.util.find_spec("ensurepip") else "usable")
sys.exit(sys.version_info < (3, 11))'

# find_python: sets $python to $PYTHON, or else to the first optimized Python that is new enough, or else to the first
# that is new enough.
find_python() {
    usable=
    for python in ${PYTHON:+"$PYTHON"} $pythons; do
        kind=$("$python" -c "$probe" 2>/dev/null) || continue
        if [ "$kind" = good ] || [ "$python" = "${PYTHON:-}" ]; then
            return
        fi
        usable=${usable:-$python}
    done
    python=$usable
    if [ -z "$python" ]; then
        say "Python 3.11 or newer is needed and was not found; install it, or name one with PYTHON=/path/to/python3." >&2
        exit 2
    fi
}

# make_environment FOLDER: creates the environment unless one of this Python works there.
make_environment() {
    environment=$1
    version=$("$python" -c 'import sys; print(sys.version)')
    if [ "$("$environment/bin/python" -c 'import pip, sys; print(sys.version)' 2>/dev/null)" != "$version" ]; then
        say "Making the Python environment $environment ..."
        "$python" -m venv --clear "$environment" || {
            say "Python could not make $environment (on Debian and Ubuntu: apt install python3-venv)." >&2
            exit 2
        }
    fi
}

# install FILE: installs a locked requirements file unless its stamp says that it is installed.
install() {
    stamp="$environment/installed-$1"
    content=$({ cat "$1"; say "$version"; } | cksum)
    if [ "$(cat "$stamp" 2>/dev/null)" != "$content" ]; then
        say "Installing $1 (once; takes a minute) ..."
        "$environment/bin/python" -m pip install --quiet --disable-pip-version-check --retries 2 --require-hashes -r "$1" ||
            return 1
        say "$content" > "$stamp"
    fi
}

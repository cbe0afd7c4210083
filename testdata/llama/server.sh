#!/bin/sh
# Serves a model: server.sh MODEL PORT. Takes the llama-server on the PATH, or
# else Debian's, which it installs once into runs/llama/sid; that needs root
# and debootstrap.
set -eu
cd "$(dirname "$0")/../.."
model=$1
port=$2
set -- --host 127.0.0.1 --port "$port" --alias tiny -c 16384 -np 4 -t 2 --no-ui --jinja
if command -v llama-server >/dev/null; then
	exec llama-server -m "$model" "$@"
fi
root=runs/llama/sid
if ! [ -e "$root/installed" ]; then
	command -v debootstrap >/dev/null || { echo "server.sh: install llama-server or debootstrap" >&2; exit 1; }
	rm -rf "$root"
	mkdir -p "$root"
	debootstrap --variant=minbase sid "$root" http://deb.debian.org/debian >&2
	chroot "$root" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends llama.cpp-tools >&2
	touch "$root/installed"
fi
cp "$model" "$root/tmp/"
exec chroot "$root" llama-server -m "/tmp/$(basename "$model")" "$@"

#!/bin/sh
# Installs what proxybench compares with (nginx, HAProxy) and drives with (wrk),
# where they are missing. Debian and Ubuntu; needs root or sudo.
set -eu

missing=
command -v nginx >/dev/null 2>&1 || [ -x /usr/sbin/nginx ] || missing="$missing nginx-light"
command -v haproxy >/dev/null 2>&1 || [ -x /usr/sbin/haproxy ] || missing="$missing haproxy"
command -v wrk >/dev/null 2>&1 || missing="$missing wrk"
if [ -z "$missing" ]; then
	echo "setup: nginx, haproxy and wrk are here, nothing to install"
	exit 0
fi
if ! command -v apt-get >/dev/null 2>&1; then
	echo "setup: no apt-get here; install by hand:$missing" >&2
	exit 1
fi
sudo=
[ "$(id -u)" = 0 ] || sudo=sudo
echo "setup: installing$missing"
$sudo apt-get update -q
# The packages start services; proxybench runs its own processes instead.
# shellcheck disable=SC2086
$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $missing
for unit in nginx haproxy; do
	if command -v systemctl >/dev/null 2>&1; then
		$sudo systemctl disable --now "$unit" >/dev/null 2>&1 || true
	fi
done
echo "setup: done"

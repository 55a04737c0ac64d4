#!/bin/sh
# Installs the proxies that the framing comparison runs beside Penstock (nginx,
# HAProxy), where they are missing. Debian and Ubuntu; needs root or sudo.
set -eu

missing=
command -v nginx >/dev/null 2>&1 || [ -x /usr/sbin/nginx ] || missing="$missing nginx-light"
command -v haproxy >/dev/null 2>&1 || [ -x /usr/sbin/haproxy ] || missing="$missing haproxy"
if [ -z "$missing" ]; then
	echo "setup: nginx and haproxy are here, nothing to install"
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
# The packages start services; the comparison runs processes of its own instead.
# shellcheck disable=SC2086
$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $missing
for unit in nginx haproxy; do
	if command -v systemctl >/dev/null 2>&1; then
		$sudo systemctl disable --now "$unit" >/dev/null 2>&1 || true
	fi
done
echo "setup: done"

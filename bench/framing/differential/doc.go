// Command differential plays the framing corpus against nginx, HAProxy, the
// reverse proxy of net/http and Penstock, each in front of a recording backend
// of its own, and prints what each made of every case.
//
//	sh bench/framing/setup.sh
//	go run ./bench/framing/differential --update docs/framing.md
//
// It ends with an error if Penstock lets pass what nginx and HAProxy both
// refuse. The proxies listen on Unix sockets in a temporary directory and end
// with the command.
package main

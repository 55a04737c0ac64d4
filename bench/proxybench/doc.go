// Command proxybench measures what a proxy costs: Penstock beside nginx,
// HAProxy and a bare fasthttp proxy, in interleaved rounds on the same cores.
//
//	go run ./bench/proxybench --out bench/RESULTS.md
//
// The proxy under test has one core to itself; the upstream, the generator and
// the harness share another. Every cell starts a fresh proxy. CPU is the
// kernel's figure for the proxy's processes plus the interrupt time of its core.
// A cell in which other processes took more than a tenth of either core is run
// again, and a throughput figure is void unless the proxy's core was at least
// 95 % busy: otherwise it measures the generator.
//
// The same binary is also the upstream, the generator and the bare proxy, as
// child processes: see the subcommands in main.go. Linux only.
package main

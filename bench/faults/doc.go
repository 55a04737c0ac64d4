// Package faults makes faults happen to a running gateway, the way production
// makes them: the gateway is a process, engines are killed, stopped and cut,
// sockets are reset, clients stop reading.
//
// It owns the pieces that such tests are made of: the gateway process (Build,
// Start), its footprint (goroutines, descriptors, memory, leases), simulated
// and scripted engines, and a client that says how an answer ended instead of
// hiding it. The tests are the rows of the fault table; each one ends with the
// gateway's footprint back where it began. bench/faults/soak runs the same
// pieces for a long time, and bench/faults/kills keeps a fleet dying for
// clients of other languages.
//
// It never judges by how long something took, except to tell "at once" from
// "never". Processes and engines run until their Close.
package faults

package main

import "runtime/debug"

// smallHeap has a command that lives on large blocks of bytes collect garbage
// early: they hold no pointers to follow, so it costs next to nothing, and the
// peak is what is in use and half as much.
func smallHeap() { debug.SetGCPercent(50) }

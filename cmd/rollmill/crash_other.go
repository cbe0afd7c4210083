//go:build !unix

package main

func noMemoryDump() {}

//go:build !unix

package cli

func noMemoryDump() {}

//go:build !linux

package main

func noLinks() {}

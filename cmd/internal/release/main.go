// Release makes what is published of binaries that were built, in their folder:
//
//	release FOLDER VERSION DATE FILE...
//
// For each FOLDER/rollmill-OS-ARCH it writes an archive with the binary and the
// given files, rollmill-VERSION-OS-ARCH.tar.gz, and the software bill of materials
// of the binary, rollmill-VERSION-OS-ARCH.cdx.json (CycloneDX). SHA256SUMS has the
// digest of each. DATE, as 2006-01-02, is the time of every file and document, so
// that the same binaries give the same bytes.
package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

func main() {
	if len(os.Args) < 4 {
		fmt.Fprintln(os.Stderr, "usage: release FOLDER VERSION DATE FILE...")
		os.Exit(2)
	}
	if err := release(os.Args[1], os.Args[2], os.Args[3], os.Args[4:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

const program = "rollmill"

func release(folder, version, date string, extra []string) error {
	at, err := time.Parse(time.DateOnly, date)
	if err != nil {
		return err
	}
	binaries, err := filepath.Glob(filepath.Join(folder, program+"-*-*"))
	binaries = slices.DeleteFunc(binaries, func(name string) bool { return strings.Count(filepath.Base(name), "-") != 2 }) // what was made before
	if err != nil || len(binaries) == 0 {
		return errors.Join(err, fmt.Errorf("no binary %s-OS-ARCH in %s", program, folder))
	}
	var published []string
	for _, binary := range binaries {
		_, platform, _ := strings.Cut(filepath.Base(binary), "-")
		name := program + "-" + version + "-" + platform
		bill, err := billOf(binary, version, at)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, name+".cdx.json"), bill, 0o644); err != nil {
			return err
		}
		if err := archive(filepath.Join(folder, name+".tar.gz"), name, binary, extra, at); err != nil {
			return err
		}
		published = append(published, name+".cdx.json", name+".tar.gz")
	}
	return sums(folder, published)
}

// sums writes SHA256SUMS, as sha256sum -c reads it.
func sums(folder string, names []string) error {
	var b strings.Builder
	slices.Sort(names)
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%x  %s\n", sha256.Sum256(data), name)
	}
	return os.WriteFile(filepath.Join(folder, "SHA256SUMS"), []byte(b.String()), 0o644)
}

// Testsum reads `go test -json` and prints failures, skipped tests, a line for
// each package, and counts. It fails when a test failed, when a package did not
// end, or when a test was skipped that is not listed in the file named by its
// argument ("package test" on each line, # for comments).
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"sort"
	"strings"
)

type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64
	ImportPath                    string
}

func main() {
	allowed, err := readAllowed(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "testsum:", err)
		os.Exit(2)
	}
	passed, failed, skipped := 0, 0, []string{}
	output, unended := map[string]*strings.Builder{}, map[string]bool{}
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	dec := json.NewDecoder(in)
	for {
		var e event
		if err := dec.Decode(&e); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			fmt.Println("testsum: reading what go test printed:", err)
			failed++
			break
		}
		name := e.Package + " " + e.Test
		switch e.Action {
		case "start":
			unended[e.Package] = true
		case "build-output":
			fmt.Print(e.Output)
		case "output":
			if output[name] == nil {
				output[name] = &strings.Builder{}
			}
			output[name].WriteString(e.Output)
		case "pass", "skip", "fail":
			if e.Test == "" {
				delete(unended, e.Package)
				if e.Action == "fail" {
					failed++
					printUnended(output, e.Package)
				}
				fmt.Printf("%-6s %7.1fs  %s\n", e.Action, e.Elapsed, e.Package)
				continue
			}
			switch e.Action {
			case "pass":
				passed++
			case "fail":
				failed++
				print(output, name)
			case "skip":
				skipped = append(skipped, name)
			}
			delete(output, name)
		}
	}
	for _, pkg := range slices.Sorted(maps.Keys(unended)) {
		failed++
		printUnended(output, pkg)
		fmt.Printf("%s did not end\n", pkg)
	}
	sort.Strings(skipped)
	bad := failed > 0 || passed == 0
	for _, s := range skipped {
		note := ""
		if !allowed[s] {
			note, bad = "  NOT ON THE LIST", true
		}
		fmt.Printf("skipped: %s%s\n", s, note)
	}
	fmt.Printf("%d passed, %d failed, %d skipped\n", passed, failed, len(skipped))
	if bad {
		os.Exit(1)
	}
}

// printUnended prints the output of a failed package and of its tests that had not
// ended: where it panicked, or what it waited for when its time was over.
func printUnended(output map[string]*strings.Builder, pkg string) {
	for _, name := range slices.Sorted(maps.Keys(output)) {
		if strings.HasPrefix(name, pkg+" ") {
			print(output, name)
		}
	}
}

func print(output map[string]*strings.Builder, name string) {
	if b := output[name]; b != nil {
		fmt.Print(b.String())
	}
}

func readAllowed(file string) (map[string]bool, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	out := map[string]bool{}
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			out[line] = true
		}
	}
	return out, nil
}

// Shape prints, for each package, its files, its exported names, the references between
// its files (at most one from a file to another), and how many of these go up in the
// order of files that has fewest of them: none where a reader can begin at the first file
// and only read on. The order is found by search, so a better one may exist.
//
// It also prints the limits that a package breaks. Tests do not count.
package main

import (
	"flag"
	"fmt"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

const (
	maxFiles    = 25
	maxExported = 60
	commands    = "/cmd/rollmill" // has a file for each command, however many
)

func main() {
	strict := flag.Bool("strict", false, "exit with 1 if a package breaks a limit")
	order := flag.Bool("order", false, "also print the order of the files, and what each refers to above it")
	flag.Parse()
	loaded, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo | packages.NeedImports | packages.NeedExportFile,
	}, flag.Args()...)
	if err != nil || packages.PrintErrors(loaded) > 0 {
		fmt.Fprintln(os.Stderr, "shape: the packages cannot be loaded:", err)
		os.Exit(2)
	}
	broken := 0
	fmt.Println("files exported references  up  package")
	for _, p := range loaded {
		broken += show(p, *order)
	}
	fmt.Printf("%d packages, %d limits broken\n", len(loaded), broken)
	if *strict && broken > 0 {
		os.Exit(1)
	}
}

// show prints a package, and returns how many limits it breaks.
func show(p *packages.Package, order bool) (broken int) {
	files, all := references(p)
	sorted := all.sort(files)
	exported := 0
	for _, name := range p.Types.Scope().Names() {
		if token.IsExported(name) {
			exported++
		}
	}
	fmt.Printf("%5d %8d %10d %3d  %s\n", len(files), exported, len(all), all.up(sorted), p.PkgPath)
	if len(files) > maxFiles && !strings.HasSuffix(p.PkgPath, commands) {
		broken++
		fmt.Printf("      has more than %d files\n", maxFiles)
	}
	if exported > maxExported {
		broken++
		fmt.Printf("      exports more than %d names\n", maxExported)
	}
	for i, file := range sorted {
		if order {
			fmt.Printf("      %-30s %s\n", file, strings.Join(all.from(file, sorted[:i]), " "))
		}
	}
	return broken
}

// refs holds a file of a package and another file of it that declares what the first uses.
type refs map[[2]string]bool

// references returns a package's files, and the references between them to package-level
// names, methods and fields.
func references(p *packages.Package) (files []string, all refs) {
	file := func(pos token.Pos) string { return filepath.Base(p.Fset.Position(pos).Filename) }
	for _, f := range p.Syntax {
		files = append(files, file(f.FileStart))
	}
	slices.Sort(files)
	all = refs{}
	for name, used := range p.TypesInfo.Uses {
		if used.Pkg() != p.Types || !used.Pos().IsValid() {
			continue
		}
		_, isFunc := used.(*types.Func)
		field, isVar := used.(*types.Var)
		if used.Parent() != p.Types.Scope() && !isFunc && !(isVar && field.IsField()) {
			continue // a local name
		}
		if from, to := file(name.Pos()), file(used.Pos()); from != to {
			all[[2]string{from, to}] = true
		}
	}
	return files, all
}

// from returns the files among others to which a file refers.
func (r refs) from(file string, others []string) (to []string) {
	for _, other := range others {
		if r[[2]string{file, other}] {
			to = append(to, other)
		}
	}
	return to
}

// up counts the references from a file to an earlier one.
func (r refs) up(order []string) (n int) {
	for i, file := range order {
		n += len(r.from(file, order[:i]))
	}
	return n
}

// sort puts first, again and again, a file to which no remaining file refers, or the one
// that refers to most more files than refer to it. Then it moves single files to better
// places as long as that helps.
func (r refs) sort(files []string) []string {
	var order []string
	for left := slices.Clone(files); len(left) > 0; {
		best, bestScore := 0, -len(files)
		for i, file := range left {
			users := 0
			for _, other := range left {
				users += len(r.from(other, []string{file}))
			}
			score := len(r.from(file, left)) - users
			if users == 0 {
				score = len(files)
			}
			if score > bestScore {
				best, bestScore = i, score
			}
		}
		order = append(order, left[best])
		left = slices.Delete(left, best, best+1)
	}
	for fewest, moved := r.up(order), true; moved; {
		moved = false
		for _, file := range order {
			rest := slices.DeleteFunc(slices.Clone(order), func(f string) bool { return f == file })
			for place := range order {
				candidate := slices.Insert(slices.Clone(rest), place, file)
				if up := r.up(candidate); up < fewest {
					order, fewest, moved = candidate, up, true
				}
			}
		}
	}
	return order
}

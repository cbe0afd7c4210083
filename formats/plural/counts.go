package plural

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// Largest returns the names of counts, that of the highest first.
func Largest[N cmp.Ordered](counts map[string]N) []string {
	return slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
}

// Counts lists counts, the highest first, each as write has it.
func Counts[N cmp.Ordered](counts map[string]N, write func(name string, n N) string) string {
	names := Largest(counts)
	for i, name := range names {
		names[i] = write(name, counts[name])
	}
	return strings.Join(names, ", ")
}

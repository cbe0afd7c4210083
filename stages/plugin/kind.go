package plugin

import (
	"fmt"
	"strings"

	"github.com/xrash/smetrics"

	"github.com/rollmill/rollmill/storage/fault"
)

// Kind is one plug-in. S is the interface of its sort's settings: they declare
// themselves and make the object that the stage uses.
type Kind[S Settings] struct {
	Name    string
	Help    string   // a lower-case phrase that begins with a verb or a noun
	About   string   // more of its help, as text for people; "" for none
	Purpose string   // what it is for, such as "trainers": the heading under which a long list has it; "" for none
	New     func() S // settings at their defaults
}

// Entry is an element of a registry: a Kind, or a struct that embeds one and adds to it.
type Entry[S Settings] interface{ Plugin() Kind[S] }

// Plugin returns the kind itself.
func (k Kind[S]) Plugin() Kind[S] { return k }

// Registry lists the plug-ins of one sort, in the order of help. It is immutable.
type Registry[S Settings, E Entry[S]] struct {
	Sort    string // "backend", "rule", ...: the sort's name in help and errors
	entries []E
	moved   map[string]string // see Moved
}

// NewRegistry lists plug-ins. It panics if a name is used twice.
func NewRegistry[S Settings, E Entry[S]](sort string, entries ...E) Registry[S, E] {
	seen := map[string]bool{}
	for _, e := range entries {
		name := e.Plugin().Name
		if seen[name] {
			panic(fmt.Sprintf("plugin: two of sort %s are named %q", sort, name))
		}
		seen[name] = true
	}
	return Registry[S, E]{Sort: sort, entries: entries}
}

// Moved returns the registry with hints, by name, for what something else does now.
func (r Registry[S, E]) Moved(hints map[string]string) Registry[S, E] {
	r.moved = hints
	return r
}

// All returns the entries, in order.
func (r Registry[S, E]) All() []E { return append([]E(nil), r.entries...) }

// Names returns the names, in order.
func (r Registry[S, E]) Names() []string {
	names := make([]string, len(r.entries))
	for i, e := range r.entries {
		names[i] = e.Plugin().Name
	}
	return names
}

// Find returns the entry with a name. The error is of kind usage, and suggests
// the name that was probably meant, or lists those that begin with it.
func (r Registry[S, E]) Find(name string) (entry E, err error) {
	for _, e := range r.entries {
		if e.Plugin().Name == name {
			return e, nil
		}
	}
	return entry, fault.Errorf(fault.Usage, r.hint(name), "there is no %s %q", r.Sort, name)
}

// hint says what to write instead of an unknown name: one of the names that
// continue it (trl-sft for trl), each with its help, or else the nearest.
func (r Registry[S, E]) hint(name string) string {
	if hint := r.moved[name]; hint != "" {
		return hint
	}
	var variants []string
	for _, e := range r.entries {
		if k := e.Plugin(); strings.HasPrefix(k.Name, name+"-") {
			variants = append(variants, fmt.Sprintf("\n  %s: %s", k.Name, k.Help))
		}
	}
	if len(variants) > 1 {
		return fmt.Sprintf("choose one of these %d %ss:%s", len(variants), r.Sort, strings.Join(variants, ""))
	}
	return Nearest(name, r.Names(), r.Sort+"s: "+strings.Join(r.Names(), ", "))
}

// Nearest returns a hint with the known word that was probably meant, or otherwise.
func Nearest(word string, known []string, otherwise string) string {
	best, score := "", 0.78
	for _, k := range known {
		if s := smetrics.JaroWinkler(strings.ToLower(word), k, 0.7, 4); s > score {
			best, score = k, s
		}
	}
	if best == "" {
		return otherwise
	}
	return fmt.Sprintf("did you mean %q?", best)
}

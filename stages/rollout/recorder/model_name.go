package recorder

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var snapshot = regexp.MustCompile(`^-\d{4}-?\d{2}-?\d{2}$|^-\d{4}$`)

// matchModel reports whether the model name got in an answer matches the requested name: the same name, a checkpoint of
// it ("name@7" for "name"), or a dated snapshot ("name-2026-01-31"). A pinned checkpoint must match exactly. version is
// the checkpoint's number, if there is one.
func matchModel(asked, got string, accept []string) (version *int64, ok bool) {
	name, v := checkpoint(got)
	switch {
	case got == "":
		_, v = checkpoint(asked)
		return v, true
	case got == asked, name == asked && v != nil:
		return v, true
	case strings.HasPrefix(got, asked) && snapshot.MatchString(got[len(asked):]):
		return nil, true
	}
	return v, slices.Contains(accept, got) || slices.Contains(accept, "*")
}

// checkpoint splits "name@7".
func checkpoint(model string) (name string, version *int64) {
	i := strings.LastIndexByte(model, '@')
	if i < 0 {
		return model, nil
	}
	n, err := strconv.ParseInt(model[i+1:], 10, 64)
	if err != nil {
		return model, nil
	}
	return model[:i], &n
}

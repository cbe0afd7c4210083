package hfhub

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/rollmill/rollmill/stages/internal/remote"
)

var name = regexp.MustCompile(`^[A-Za-z0-9_.-]+$`)

// CheckID refuses a repository id that no store accepts.
func CheckID(id string) error {
	bad := func(why string) error {
		return &remote.Error{What: fmt.Sprintf("repository %q: %s", id, why), Help: "write OWNER/NAME", Usage: true}
	}
	parts := strings.Split(id, "/")
	switch {
	case id == "":
		return bad("it has no name")
	case len(parts) > 2:
		return bad("it has more than one slash")
	case len(id) > 96:
		return bad(fmt.Sprintf("it has %d characters; at most 96 are allowed", len(id)))
	case strings.Contains(id, "--") || strings.Contains(id, ".."):
		return bad(`it has "--" or ".."`)
	case strings.HasSuffix(id, ".git"):
		return bad("it ends in .git")
	}
	for _, p := range parts {
		if !name.MatchString(p) {
			return bad("only letters, digits, and _ . - are allowed")
		}
		if strings.Trim(p, "-.") != p {
			return bad("a part begins or ends with - or .")
		}
	}
	return nil
}

package hubtest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
)

// change is a commit's body as it is read.
type change struct {
	hub     *Hub
	files   map[string]*file
	summary string
	stale   bool
}

func (c *change) read(body []byte, head string) (wrong string) {
	text, ended := strings.CutSuffix(string(body), "\n")
	if !ended {
		return "the last line does not end"
	}
	for n, line := range strings.Split(text, "\n") {
		var l struct {
			Key   string
			Value struct {
				Summary, ParentCommit, Content, Path, Encoding, Algo, OID string
				Size                                                      int
			}
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			return fmt.Sprintf("line %d: %v", n+1, err)
		}
		if (n == 0) != (l.Key == "header") {
			return fmt.Sprintf("line %d is of key %q: the header comes first, and once", n+1, l.Key)
		}
		switch v := l.Value; l.Key {
		case "header":
			if v.Summary == "" {
				return "the summary is empty"
			}
			if v.ParentCommit != "" && v.ParentCommit != head {
				c.stale = true
				return "A commit has happened since. Please refresh and try again."
			}
			c.summary = v.Summary
		case "file":
			data, err := base64.StdEncoding.DecodeString(v.Content)
			if err != nil || v.Encoding != "base64" {
				return fmt.Sprintf("%q: %v", v.Path, err)
			}
			if c.hub.mode(v.Path) == "lfs" && len(data) > 0 {
				return fmt.Sprintf("%q belongs into LFS", v.Path)
			}
			c.files[v.Path] = &file{data: data}
		case "lfsFile":
			data, ok := c.hub.objects[v.OID]
			if !ok || len(data) != v.Size || v.Algo != "sha256" {
				return fmt.Sprintf("%q points at an object that was not uploaded", v.Path)
			}
			c.files[v.Path] = &file{data: data, lfs: true}
		case "deletedFile":
			if c.files[v.Path] == nil {
				return fmt.Sprintf("%q is not there to be deleted", v.Path)
			}
			delete(c.files, v.Path)
		case "deletedFolder":
			maps.DeleteFunc(c.files, func(p string, _ *file) bool {
				return strings.HasPrefix(p, strings.TrimSuffix(v.Path, "/")+"/")
			})
		default:
			return fmt.Sprintf("line %d: unknown key %q", n+1, l.Key)
		}
	}
	return ""
}

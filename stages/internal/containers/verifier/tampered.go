package verifier

import (
	"context"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats/foreign/harbor"
	"github.com/rollmill/rollmill/storage/regular"
)

// tampered counts the programs on the tests' path that are not the image's, as far as the
// names of changed files tell: the guide says what they do not.
type tampered struct {
	words  map[string]bool // of the tests
	starts map[string]bool // names of files that the image starts
	found  map[string]bool // by path; true if it may be a folder that changed because of what is in it
}

// starters are programs that tests start without naming them, and libraries that start
// with each interpreter or with pytest.
var (
	starters = regexp.MustCompile(`^(sh|[bd]?ash|zsh|busybox|env|sleep|chmod|rm|pypy|(python|perl|ruby|node|php|lua)[\d.]*)$`)
	hooks    = regexp.MustCompile(`(^|/)((site|user)customize|conftest)(\.[^/]*)?(/|$)|\.pth$|(^|/)pytest\.ini$` +
		`|(^|/)\.(bashrc|bash_profile|bash_login|profile|zshenv)$` +
		`|^/etc/(ld\.so\.(preload|conf(\.d/.*)?)|profile(\.d/.*)?|environment|bash\.bashrc|zsh/.*|cron(\.d/.*|tab|tabs/.*))$` +
		`|^/var/spool/cron/.`)
	library = regexp.MustCompile(`^(/usr(/local)?)?/lib[^/]*/|^/etc/alternatives/|/(s?bin|(site|dist)-packages)/`)
	added   = regexp.MustCompile(`^.*?/(?:s?bin|(?:site|dist)-packages)/([^/]+)`)
	folder  = regexp.MustCompile(`/(s?bin|lib[^/]*|usr|local|(site|dist)-packages)$`)
	word    = regexp.MustCompile(`[\w./+-]+`)
)

const readTest = 1 << 20 // bytes of one file of the tests that may name programs

// newTampered reads the names that the tests have.
func newTampered(t harbor.Task) (*tampered, error) {
	c := &tampered{words: map[string]bool{}, starts: map[string]bool{}, found: map[string]bool{}}
	files, err := t.Tests()
	for _, f := range files {
		if f.Size > readTest || !slices.Contains([]string{"", ".sh", ".bash", ".py"}, path.Ext(f.Name)) {
			continue
		}
		text, err := regular.ReadFile(filepath.Join(t.TestsDir(), f.Name), readTest)
		if err != nil {
			return c, err
		}
		for _, w := range word.FindAll(text, -1) {
			c.words[path.Base(string(w))] = true
		}
	}
	return c, err
}

// Start takes what the image starts: the names of files, among other words.
func (c *tampered) Start(words string) {
	for _, w := range word.FindAllString(words, -1) {
		if strings.Contains(w, "/") { // it may be below the working folder
			c.starts[path.Base(w)] = true
		}
	}
}

// Add counts a path that was added (A), changed (C) or deleted (D). A folder comes before
// what is in it, and has changed because of that.
func (c *tampered) Add(kind byte, file string) {
	if c.found[path.Dir(file)] {
		delete(c.found, path.Dir(file))
	}
	if strings.Contains(file, "/__pycache__") {
		return
	}
	if m := added.FindStringSubmatch(file); m != nil && kind == 'A' {
		stem, _, _ := strings.Cut(m[1], ".")
		if c.words[m[1]] || c.words[stem] || starters.MatchString(m[1]) {
			c.found[m[0]] = false
			return
		}
	}
	hook := hooks.MatchString(file) || c.starts[path.Base(file)]
	if hook || kind != 'A' && library.MatchString(file) || kind == 'D' && folder.MatchString(file) {
		c.found[file] = kind == 'C'
	}
}

// tampered returns their number. An error says that the runtime cannot tell.
func (b *Box) tampered(ctx context.Context) (float64, error) {
	c, err := newTampered(b.Task)
	if err == nil {
		err = b.Changed(ctx, b.Name, c)
	}
	return float64(len(c.found)), err
}
